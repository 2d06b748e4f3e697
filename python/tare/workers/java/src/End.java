package tare.worker;

import java.io.Closeable;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** One end of a fifo, a Unix or a TCP connection. A reader waits for its writer, and the token, at its first receive. */
final class End implements Closeable {
    private static final double WAIT_S = 60;
    final String kind;
    String address;
    InputStream in;
    OutputStream out;
    private final byte[] token;
    private RandomAccessFile own;
    private FileInputStream waiting;
    private ServerSocketChannel server;
    private SocketChannel channel;
    private Path folder;

    End(Request medium) throws IOException, InterruptedException {
        kind = medium.text("kind", "");
        token = tokenFrame(medium.text("token", ""));
        address = medium.text("address", medium.text("path", ""));
        if (!kind.equals("fifo") && !kind.equals("unix") && !kind.equals("tcp")) {
            throw OpError.unsupported("Java has the media fifo, unix and tcp, not '" + kind.substring(0, Math.min(40, kind.length())) + "'", "open");
        }
        if (medium.is("role", "reader")) listen();
        else if (medium.is("role", "writer")) connect(medium.number("timeout_s", WAIT_S));
        else throw new OpError("usage", "role is reader or writer", "open");
    }

    /** A writer's first frame, a control frame of kind 3; nothing if there is no token. */
    private static byte[] tokenFrame(String hex) {
        if (hex.isEmpty()) return new byte[0];
        int size = hex.length() / 2;
        byte[] made = new byte[6 + size];
        made[0] = (byte) 0xe8;
        made[1] = (byte) (size + 1);
        made[5] = 3;
        for (int n = 0; n < size; n++) made[6 + n] = (byte) Integer.parseInt(hex.substring(2 * n, 2 * n + 2), 16);
        return made;
    }

    private SocketAddress socketAddress() {
        if (kind.equals("unix")) return UnixDomainSocketAddress.of(address);
        int colon = address.lastIndexOf(':');
        String host = colon < 0 ? "127.0.0.1" : address.substring(0, colon).replaceAll("[\\[\\]]", "");
        return new InetSocketAddress(host.isEmpty() ? "127.0.0.1" : host, Integer.parseInt(address.substring(colon + 1)));
    }

    private ProtocolFamily family() {
        return kind.equals("unix") ? StandardProtocolFamily.UNIX : ((InetSocketAddress) socketAddress()).getAddress() instanceof java.net.Inet6Address
            ? StandardProtocolFamily.INET6 : StandardProtocolFamily.INET;
    }

    private void listen() throws IOException, InterruptedException {
        if (address.isEmpty() && !kind.equals("tcp")) {
            folder = Files.createTempDirectory("end");
            address = folder.resolve("s").toString();
        }
        if (kind.equals("fifo")) {
            Process made = new ProcessBuilder("mkfifo", "-m", "600", address).redirectErrorStream(true).start();
            if (!made.waitFor(10, TimeUnit.SECONDS) || made.exitValue() != 0) throw new IOException("the fifo cannot be made");
            // Opened for both, a fifo does not block; our own end goes when the token has come.
            own = new RandomAccessFile(new File(address), "rw");
            waiting = new FileInputStream(address);
            return;
        }
        if (address.isEmpty()) address = "127.0.0.1:0";
        server = ServerSocketChannel.open(family());
        server.bind(socketAddress());
        if (kind.equals("tcp")) {
            InetSocketAddress bound = (InetSocketAddress) server.getLocalAddress();
            address = address.substring(0, address.lastIndexOf(':') + 1) + bound.getPort();
        }
        server.configureBlocking(false);
    }

    private void connect(double seconds) throws IOException {
        if (kind.equals("fifo")) {
            if (!Files.exists(Path.of(address))) throw new IOException("there is no fifo there");
            out = new FileOutputStream(address);
        } else {
            channel = SocketChannel.open(family());
            if (channel.supportedOptions().contains(StandardSocketOptions.TCP_NODELAY)) channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            if (kind.equals("tcp")) channel.socket().connect(socketAddress(), (int) Math.max(1, seconds * 1000));
            else channel.connect(socketAddress());
            streams();
        }
        out.write(token);
        out.flush();
    }

    private void streams() throws IOException {
        channel.configureBlocking(true);
        in = Channels.newInputStream(channel);
        out = Channels.newOutputStream(channel);
    }

    /** Waits for the writer, `seconds` in all. Whoever does not know the token is turned away. */
    void accept(double seconds) throws IOException, InterruptedException {
        if (in != null) return;
        long until = System.nanoTime() + (long) (Math.min(seconds, 1e6) * 1e9);
        if (kind.equals("fifo")) {
            while (waiting.available() < token.length) {
                if (System.nanoTime() > until) throw new OpError("TimeoutError", "nobody wrote to the fifo in time", "open");
                Thread.sleep(0, 300_000);
            }
            byte[] got = new byte[token.length];
            for (int n = 0; n < got.length; ) n += waiting.read(got, n, got.length - n); // readNBytes would seek
            if (!Arrays.equals(got, token)) {
                throw new OpError("ConnectionError", "whoever wrote did not send the token of this run", "open");
            }
            own.close();
            in = waiting;
            return;
        }
        try (Selector selector = Selector.open()) {
            SelectionKey key = server.register(selector, SelectionKey.OP_ACCEPT);
            while (in == null) {
                wait(selector, until);
                SocketChannel found = server.accept();
                if (found != null && shown(found, until)) {
                    channel = found;
                    streams();
                } else if (found != null) {
                    found.close();
                }
            }
            key.cancel();
        }
    }

    private static void wait(Selector selector, long until) throws IOException {
        long left = (until - System.nanoTime()) / 1_000_000L;
        if (left <= 0 || selector.select(left) == 0) throw new OpError("TimeoutError", "nobody connected in time", "open");
        selector.selectedKeys().clear();
    }

    private boolean shown(SocketChannel stranger, long until) throws IOException {
        stranger.configureBlocking(false);
        ByteBuffer got = ByteBuffer.allocate(token.length);
        try (Selector selector = Selector.open()) {
            stranger.register(selector, SelectionKey.OP_READ);
            while (got.hasRemaining()) {
                wait(selector, until);
                if (stranger.read(got) < 0) return false;
            }
        } catch (OpError late) {
            return false;
        }
        return Arrays.equals(got.array(), token);
    }

    /** No more is written: a fifo is closed; of a connection the way back stays, for an answer. */
    void finish(boolean answered) throws IOException {
        if (channel != null && answered) channel.shutdownOutput();
        else if (out != null) out.close();
    }

    @Override public void close() throws IOException {
        for (Closeable one : new Closeable[] {out, in, own, waiting, channel, server}) {
            try {
                if (one != null) one.close();
            } catch (IOException error) {
                // it is closed all the same
            }
        }
        if (!kind.equals("tcp") && (server != null || own != null)) Files.deleteIfExists(Path.of(address));
        if (folder != null) Files.deleteIfExists(folder);
    }
}
