using System;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Sockets;

namespace Tare {
    /// <summary>One end of a fifo, a Unix or a TCP connection. A reader waits for its writer, and the token, at its first receive.</summary>
    sealed class End : IDisposable {
        private const double WaitS = 60;
        internal readonly string Kind;
        internal string Address;
        internal Stream In, Out;
        private readonly byte[] token;
        private Descriptor own, waiting;
        private Socket server, connection;
        private string folder;

        internal End(Request medium) {
            Kind = medium.Text("kind", "");
            token = TokenFrame(medium.Text("token", ""));
            Address = medium.Text("address", medium.Text("path", ""));
            if (Kind != "fifo" && Kind != "unix" && Kind != "tcp") throw OpError.Unsupported("Mono has the media fifo, unix and tcp, not '" + OpError.Short(Kind) + "'", "open");
            if (medium.Is("role", "reader")) Listen();
            else if (medium.Is("role", "writer")) Connect(medium.Number("timeout_s", WaitS));
            else throw new OpError("usage", "role is reader or writer", "open");
        }

        /// <summary>A writer's first frame, a control frame of kind 3; nothing if there is no token.</summary>
        private static byte[] TokenFrame(string hex) {
            if (hex == "") return new byte[0];
            int size = hex.Length / 2;
            return new byte[] { 0xe8, (byte) (size + 1), 0, 0, 0, 3 }.Concat(Enumerable.Range(0, size).Select(n => Convert.ToByte(hex.Substring(2 * n, 2), 16))).ToArray();
        }

        private EndPoint Place() {
            if (Kind == "unix") return new UnixDomainSocketEndPoint(Address);
            int colon = Address.LastIndexOf(':');
            string host = colon < 0 ? "" : Address.Substring(0, colon).Trim('[', ']');
            IPAddress found;
            if (host == "") found = IPAddress.Loopback;
            else if (!IPAddress.TryParse(host, out found)) found = Dns.GetHostAddresses(host)[0];
            return new IPEndPoint(found, int.Parse(Address.Substring(colon + 1)));
        }

        private Socket NewSocket(EndPoint place) {
            return new Socket(place.AddressFamily, SocketType.Stream, Kind == "unix" ? ProtocolType.Unspecified : ProtocolType.Tcp);
        }

        private void Listen() {
            if (Address == "" && Kind != "tcp") {
                folder = Libc.PrivateFolder();
                Address = Path.Combine(folder, "s");
            }
            if (Kind == "fifo") {
                Libc.Fifo(Address);
                // Opened for both, a fifo does not block; our own end goes when the token has come.
                own = new Descriptor(Libc.Open(Address, Libc.ReadWrite));
                waiting = new Descriptor(Libc.Open(Address, Libc.ReadOnly));
                return;
            }
            if (Address == "") Address = "127.0.0.1:0";
            EndPoint place = Place();
            server = NewSocket(place);
            server.Bind(place);
            server.Listen(16);
            if (Kind == "tcp") Address = Address.Substring(0, Address.LastIndexOf(':') + 1) + ((IPEndPoint) server.LocalEndPoint).Port;
        }

        private void Connect(double seconds) {
            if (Kind == "fifo") {
                if (!File.Exists(Address)) throw new IOException("there is no fifo there");
                Out = new Descriptor(Libc.Open(Address, Libc.WriteOnly));
            } else {
                EndPoint place = Place();
                connection = NewSocket(place);
                if (!connection.ConnectAsync(place).Wait(TimeSpan.FromSeconds(Math.Min(seconds, 1e6)))) throw new OpError("TimeoutError", "nobody listened in time", "open");
                Connected();
            }
            Out.Write(token, 0, token.Length);
        }

        private void Connected() {
            if (Kind == "tcp") connection.NoDelay = true;
            connection.ReceiveTimeout = 0;
            In = Out = new NetworkStream(connection, false);
        }

        /// <summary>Waits for the writer, `seconds` in all. Whoever does not know the token is turned away.</summary>
        internal void Accept(double seconds) {
            if (In != null) return;
            long until = Clocks.Now() + (long) (Math.Min(seconds, 1e6) * 1e9);
            if (Kind == "fifo") {
                if (!Shown((data, from, count) => Libc.Readable(waiting.Fd, Left(until)) ? waiting.Read(data, from, count) : throw Late("nobody wrote to the fifo in time"))) {
                    throw new OpError("ConnectionError", "whoever wrote did not send the token of this run", "open");
                }
                own.Dispose();
                In = waiting;
                return;
            }
            while (In == null) {
                if (!Ready(server, until)) throw Late("nobody connected in time");
                connection = server.Accept();
                if (Believed(until)) Connected();
                else connection.Close();
            }
        }

        private static OpError Late(string said) {
            return new OpError("TimeoutError", said, "open");
        }

        private static long Left(long until) {
            return Math.Max(0, (until - Clocks.Now()) / 1000000);
        }

        private static bool Ready(Socket socket, long until) {
            // Poll counts microseconds in 32 bits.
            for (long left = Left(until);; left = Left(until)) {
                if (socket.Poll((int) Math.Min(left, 1000000) * 1000, SelectMode.SelectRead)) return true;
                if (left == 0) return false;
            }
        }

        private bool Believed(long until) {
            try {
                return Shown((data, from, count) => Ready(connection, until) ? connection.Receive(data, from, count, SocketFlags.None) : 0);
            } catch (SocketException) {
                return false;
            }
        }

        private bool Shown(Func<byte[], int, int, int> read) {
            var got = new byte[token.Length];
            for (int at = 0; at < got.Length;) {
                int more = read(got, at, got.Length - at);
                if (more == 0) return false;
                at += more;
            }
            return got.SequenceEqual(token);
        }

        /// <summary>No more is written: a fifo is closed; of a connection the way back stays, for an answer.</summary>
        internal void Finish() {
            if (connection != null) connection.Shutdown(SocketShutdown.Send);
            else Out.Dispose();
        }

        public void Dispose() {
            foreach (IDisposable one in new IDisposable[] { Out, In, own, waiting, connection, server }) {
                try {
                    if (one != null) one.Dispose();
                } catch (Exception) {
                    // it is closed all the same
                }
            }
            if (Kind != "tcp" && (server != null || own != null)) File.Delete(Address);
            if (folder != null) Directory.Delete(folder);
        }
    }
}
