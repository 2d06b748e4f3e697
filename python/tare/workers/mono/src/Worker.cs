using System;
using System.Collections.Generic;
using System.IO;
using System.Text;
using System.Threading;

namespace Tare {
    /// <summary>
    /// The Mono worker: speaks tare-worker/2 (docs/specs/worker-protocol.md) over descriptors 3 and 4, where
    /// tare-worker-mono.sh puts it, so that nothing that a library prints gets into a reply.
    /// </summary>
    sealed class Worker {
        internal const int LineBytes = 16 << 20;
        private const int StackBytes = 64 << 20; // trees are walked by recursion
        private static readonly byte[] TooLong = new byte[0];

        private readonly Stream source;
        private readonly Queue<byte[]> lines = new Queue<byte[]>();
        private MemoryStream pending = new MemoryStream();
        private bool skipping;

        private Worker(Stream source) {
            this.source = source;
        }

        private static int Main() {
            Console.SetOut(Console.Error);
            string unkept = Environment.GetEnvironmentVariable("TARE_MONO_REMOVE");
            if (!string.IsNullOrEmpty(unkept)) Directory.Delete(unkept, true);
            if (!Directory.Exists("/proc/self")) {
                Console.Error.WriteLine("the Mono worker measures on Linux only: its clocks are the kernel's there");
                return 1;
            }
            int code = 1;
            var serving = new Thread(() => {
                try {
                    new Worker(new Descriptor(3)).Serve(new Descriptor(4));
                    code = 0;
                } catch (IOException error) {
                    Console.Error.WriteLine(error.Message);
                }
            }, StackBytes);
            serving.Start();
            serving.Join();
            return code;
        }

        private void Serve(Stream sink) {
            var ops = new Ops();
            while (true) {
                byte[] line = Next();
                if (line == null) return;
                Map reply = new Map().Put("id", null);
                bool quit = Answer(ops, line, reply);
                string text = JsonWriting.Write(reply);
                if (text.Length > LineBytes) {
                    text = JsonWriting.Write(Fail(new Map().Put("id", reply.Get("id")), new OpError("protocol", "the reply would be too long", "protocol")));
                }
                byte[] bytes = Encoding.ASCII.GetBytes(text + "\n");
                sink.Write(bytes, 0, bytes.Length);
                if (quit) return;
            }
        }

        private static bool Answer(Ops ops, byte[] line, Map reply) {
            try {
                Request request = Parse(line);
                reply.Put("id", request.Get("id"));
                reply.Put("ok", ops.Answer(request));
                return request.Is("op", "quit");
            } catch (Exception error) {
                Fail(reply, OpError.Of(error, "protocol"));
                return false;
            }
        }

        private static Request Parse(byte[] line) {
            if (line == TooLong) throw new OpError("protocol", "a line is longer than " + LineBytes + " bytes", "protocol");
            Map found;
            try {
                found = JsonReading.Read(line) as Map;
            } catch (FormatException error) {
                throw new OpError("protocol", "not JSON: " + error.Message, "protocol");
            }
            if (found == null) throw new OpError("protocol", "a request is an object", "protocol");
            return new Request(found);
        }

        private static Map Fail(Map reply, OpError error) {
            return reply.Put("error", new Map().Put("type", error.Type).Put("message", error.Cut()).Put("phase", error.Phase));
        }

        /// <summary>A line without its end, TooLong, or null at the end of the input; half a line there is nothing.</summary>
        private byte[] Next() {
            var data = new byte[1 << 16];
            while (lines.Count == 0) {
                int got = source.Read(data, 0, data.Length);
                if (got == 0) return null;
                int from = 0;
                for (int at = 0; at < got; at++) {
                    if (data[at] != '\n') continue;
                    pending.Write(data, from, at - from);
                    from = at + 1;
                    Finish();
                }
                pending.Write(data, from, got - from);
                if (pending.Length > LineBytes) {
                    skipping = true;
                    pending = new MemoryStream();
                }
            }
            return lines.Dequeue();
        }

        private void Finish() {
            byte[] line = pending.ToArray();
            if (pending.Length > 1 << 20) pending = new MemoryStream();
            pending.SetLength(0);
            if (skipping || line.Length > LineBytes) lines.Enqueue(TooLong);
            else if (Array.Exists(line, one => " \t\r\f\v".IndexOf((char) one) < 0)) lines.Enqueue(line);
            skipping = false;
        }
    }
}
