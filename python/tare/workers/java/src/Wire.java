package tare.worker;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/** Messages over an end: whole, in frames, in a bin of msgpack, or in the codec's own parts; with their stamps. */
final class Wire {
    static final List<String> DELIVERIES = List.of("whole", "buffered", "streaming", "framed", "wrapped");
    private static final int SMALL = 1 << 16; // below, header and message go in one call

    private Wire() {}

    static boolean again(String delivery) {
        return delivery.equals("framed") || delivery.equals("wrapped");
    }

    private static byte[] head(String delivery, int length) {
        ByteBuffer made = ByteBuffer.allocate(5);
        if (delivery.equals("framed")) {
            made.order(ByteOrder.LITTLE_ENDIAN).put((byte) 0xe0).putInt(length);
        } else if (delivery.equals("wrapped")) {
            if (length < 1 << 8) made.put((byte) 0xc4).put((byte) length);
            else if (length < 1 << 16) made.put((byte) 0xc5).putShort((short) length);
            else made.put((byte) 0xc6).putInt(length);
        }
        byte[] all = new byte[made.position()];
        made.flip().get(all);
        return all;
    }

    /** Sends one value; stamps are start, first byte, last byte, closed. Returns the bytes sent. */
    static long send(Codec codec, Object value, End end, String delivery, boolean ack, long[] stamps) throws Exception {
        keep(stamps, 0);
        long sent;
        if (delivery.equals("streaming")) {
            Counted out = new Counted(end.out, stamps);
            codec.write(value, out);
            out.flush();
            sent = out.count;
        } else {
            byte[] bytes = codec.encode(value);
            byte[] head = head(delivery, bytes.length);
            keep(stamps, 1);
            if (head.length > 0 && bytes.length < SMALL) {
                byte[] both = java.util.Arrays.copyOf(head, head.length + bytes.length);
                System.arraycopy(bytes, 0, both, head.length, bytes.length);
                end.out.write(both);
            } else {
                if (head.length > 0) end.out.write(head);
                end.out.write(bytes);
            }
            end.out.flush();
            sent = head.length + bytes.length;
        }
        stamps[2] = System.nanoTime();
        if (!again(delivery)) end.finish(ack);
        if (ack && (end.in == null || end.in.read() < 0)) throw new EOFException("the reader closed without an answer");
        stamps[3] = System.nanoTime();
        return sent;
    }

    /** Receives one value; stamps are first byte, first value, last byte, last value. count[0] gets the bytes. */
    static Object receive(Codec codec, End end, String delivery, boolean ack, long[] stamps, long[] count) throws Exception {
        Object value;
        if (delivery.equals("streaming")) {
            Arriving in = new Arriving(end.in, stamps);
            value = codec.read(in);
            while (in.read() >= 0) continue;
            stamps[2] = System.nanoTime();
            count[0] += in.count;
        } else {
            Arriving in = new Arriving(end.in, stamps);
            byte[] bytes = delivery.equals("framed") ? frames(in) : delivery.equals("wrapped") ? bin(in) : in.readAllBytes();
            stamps[2] = System.nanoTime();
            count[0] += in.count;
            value = codec.decode(bytes);
        }
        keep(stamps, 1);
        stamps[3] = System.nanoTime();
        if (ack) {
            end.out.write(1);
            end.out.flush();
        }
        return value;
    }

    private static void keep(long[] stamps, int which) {
        if (stamps[which] == 0) stamps[which] = System.nanoTime();
    }

    private static byte[] exactly(InputStream in, long length) throws IOException {
        byte[] found = in.readNBytes((int) length);
        if (found.length < length) throw new EOFException("the writer closed after " + found.length + " of " + length + " bytes");
        return found;
    }

    private static byte[] frames(InputStream in) throws IOException {
        ByteArrayOutputStream parts = null;
        while (true) {
            byte[] head = exactly(in, 5);
            int tag = head[0] & 0xff;
            int length = ByteBuffer.wrap(head, 1, 4).order(ByteOrder.LITTLE_ENDIAN).getInt();
            if (tag >> 4 != 14 || length < 0) throw new IOException(String.format("no frame begins with the byte %02x", tag));
            if ((tag & 2) != 0) throw OpError.unsupported("a compressed frame: this worker reads plain ones", "io");
            byte[] payload = exactly(in, length);
            if ((tag & 4) != 0) exactly(in, 4);
            if ((tag & 8) != 0) continue; // a control frame is no part of a message
            boolean last = (tag & 1) == 0;
            if (last && parts == null) return payload;
            if (parts == null) parts = new ByteArrayOutputStream();
            parts.write(payload);
            if (last) return parts.toByteArray();
        }
    }

    private static byte[] bin(InputStream in) throws IOException {
        int tag = exactly(in, 1)[0] & 0xff;
        if (tag < 0xc4 || tag > 0xc6) throw new IOException(String.format("no bin begins with the byte %02x", tag));
        long length = 0;
        for (byte one : exactly(in, 1 << (tag - 0xc4))) length = length << 8 | one & 0xff;
        if (length > Integer.MAX_VALUE - 8) throw new IOException("a bin of " + length + " bytes is longer than an array of Java");
        return exactly(in, length);
    }

    private static final class Counted extends FilterOutputStream {
        private final long[] stamps;
        long count;

        Counted(OutputStream out, long[] stamps) {
            super(out);
            this.stamps = stamps;
        }

        @Override public void write(byte[] bytes, int from, int length) throws IOException {
            if (length > 0) keep(stamps, 1);
            out.write(bytes, from, length);
            count += length;
        }

        @Override public void write(int one) throws IOException {
            keep(stamps, 1);
            out.write(one);
            count++;
        }
    }

    private static final class Arriving extends FilterInputStream {
        private final long[] stamps;
        long count;

        Arriving(InputStream in, long[] stamps) {
            super(in);
            this.stamps = stamps;
        }

        @Override public int read(byte[] bytes, int from, int length) throws IOException {
            int got = in.read(bytes, from, length);
            if (got > 0) {
                keep(stamps, 0);
                count += got;
            }
            return got;
        }

        @Override public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }
    }
}
