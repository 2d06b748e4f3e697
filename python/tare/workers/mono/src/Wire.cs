using System;
using System.IO;

namespace Tare {
    /// <summary>Messages over an end: whole, in frames, in a bin of msgpack, or in the codec's own parts; with their stamps.</summary>
    static class Wire {
        internal static readonly string[] Deliveries = { "whole", "buffered", "streaming", "framed", "wrapped" };
        private const int Small = 1 << 16; // below, header and message go in one call

        internal static bool Again(string delivery) {
            return delivery == "framed" || delivery == "wrapped";
        }

        private static byte[] Head(string delivery, int length) {
            var low = new[] { (byte) length, (byte) (length >> 8), (byte) (length >> 16), (byte) (length >> 24) };
            if (delivery == "framed") return new byte[] { 0xe0, low[0], low[1], low[2], low[3] };
            if (delivery != "wrapped") return new byte[0];
            if (length < 1 << 8) return new byte[] { 0xc4, low[0] };
            return length < 1 << 16 ? new byte[] { 0xc5, low[1], low[0] } : new byte[] { 0xc6, low[3], low[2], low[1], low[0] };
        }

        /// <summary>Sends one value; stamps are start, first byte, last byte, closed. Returns the bytes sent.</summary>
        internal static long Send(Codec codec, object value, End end, string delivery, bool ack, long[] stamps) {
            Keep(stamps, 0);
            long sent;
            if (delivery == "streaming") {
                var counted = new Counted(end.Out, stamps);
                codec.Write(value, counted);
                sent = counted.Count;
            } else {
                byte[] bytes = codec.Encode(value);
                byte[] head = Head(delivery, bytes.Length);
                sent = head.Length + bytes.Length;
                Keep(stamps, 1);
                if (head.Length > 0 && bytes.Length < Small) {
                    var both = new byte[sent];
                    head.CopyTo(both, 0);
                    bytes.CopyTo(both, head.Length);
                    bytes = both;
                } else {
                    end.Out.Write(head, 0, head.Length);
                }
                end.Out.Write(bytes, 0, bytes.Length);
            }
            stamps[2] = Clocks.Now();
            if (!Again(delivery)) end.Finish();
            if (ack && end.In.ReadByte() < 0) throw new EndOfStreamException("the reader closed without an answer");
            stamps[3] = Clocks.Now();
            return sent;
        }

        /// <summary>Receives one value; stamps are first byte, first value, last byte, last value. Adds the bytes to count.</summary>
        internal static object Receive(Codec codec, End end, string delivery, bool ack, long[] stamps, ref long count) {
            var arriving = new Arriving(end.In, stamps);
            object value;
            if (delivery == "streaming") {
                value = codec.Read(arriving);
                All(arriving);
                stamps[2] = Clocks.Now();
            } else {
                byte[] bytes = delivery == "framed" ? Frames(arriving) : delivery == "wrapped" ? Bin(arriving) : All(arriving);
                stamps[2] = Clocks.Now();
                value = codec.Decode(bytes);
            }
            count += arriving.Count;
            Keep(stamps, 1);
            stamps[3] = Clocks.Now();
            if (ack) end.Out.WriteByte(1);
            return value;
        }

        private static void Keep(long[] stamps, int which) {
            if (stamps[which] == 0) stamps[which] = Clocks.Now();
        }

        private static byte[] All(Stream from) {
            var made = new MemoryStream();
            from.CopyTo(made, Small);
            return made.ToArray();
        }

        private static byte[] Exactly(Stream from, long length) {
            var found = new byte[length];
            for (int at = 0; at < length;) {
                int got = from.Read(found, at, (int) length - at);
                if (got == 0) throw new EndOfStreamException("the writer closed after " + at + " of " + length + " bytes");
                at += got;
            }
            return found;
        }

        private static byte[] Frames(Stream from) {
            MemoryStream parts = null;
            while (true) {
                byte[] head = Exactly(from, 5);
                int length = head[1] | head[2] << 8 | head[3] << 16 | head[4] << 24;
                if (head[0] >> 4 != 14 || length < 0) throw new IOException("no frame begins with the byte " + head[0].ToString("x2"));
                if ((head[0] & 2) != 0) throw OpError.Unsupported("a compressed frame: this worker reads plain ones", "io");
                byte[] payload = Exactly(from, length);
                if ((head[0] & 4) != 0) Exactly(from, 4);
                if ((head[0] & 8) != 0) continue; // a control frame is no part of a message
                bool last = (head[0] & 1) == 0;
                if (last && parts == null) return payload;
                parts = parts ?? new MemoryStream();
                parts.Write(payload, 0, payload.Length);
                if (last) return parts.ToArray();
            }
        }

        private static byte[] Bin(Stream from) {
            int tag = Exactly(from, 1)[0];
            if (tag < 0xc4 || tag > 0xc6) throw new IOException("no bin begins with the byte " + tag.ToString("x2"));
            long length = 0;
            foreach (byte one in Exactly(from, 1 << (tag - 0xc4))) length = length << 8 | one;
            if (length > int.MaxValue) throw new IOException("a bin of " + length + " bytes is longer than an array of Mono");
            return Exactly(from, length);
        }

        /// <summary>A stream of one direction whose bytes are counted and stamped.</summary>
        private abstract class Watched : Stream {
            protected readonly Stream Inner;
            protected readonly long[] Stamps;
            internal long Count;

            protected Watched(Stream inner, long[] stamps) {
                Inner = inner;
                Stamps = stamps;
            }

            public override bool CanRead { get { return true; } }
            public override bool CanWrite { get { return true; } }
            public override bool CanSeek { get { return false; } }
            public override long Length { get { throw new NotSupportedException(); } }
            public override long Position { get { throw new NotSupportedException(); } set { throw new NotSupportedException(); } }
            public override void Flush() { Inner.Flush(); }
            public override long Seek(long offset, SeekOrigin origin) { throw new NotSupportedException(); }
            public override void SetLength(long value) { throw new NotSupportedException(); }
            public override int Read(byte[] data, int from, int count) { throw new NotSupportedException(); }
            public override void Write(byte[] data, int from, int count) { throw new NotSupportedException(); }
        }

        private sealed class Counted : Watched {
            internal Counted(Stream to, long[] stamps) : base(to, stamps) {}

            public override void Write(byte[] data, int from, int count) {
                if (count > 0) Keep(Stamps, 1);
                Inner.Write(data, from, count);
                Count += count;
            }
        }

        private sealed class Arriving : Watched {
            internal Arriving(Stream from, long[] stamps) : base(from, stamps) {}

            public override int Read(byte[] data, int from, int count) {
                int got = Inner.Read(data, from, count);
                if (got > 0) Keep(Stamps, 0);
                Count += got;
                return got;
            }
        }
    }
}
