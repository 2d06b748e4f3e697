using System;
using System.IO;

namespace Tare {
    /// <summary>What one `run` times: its call, and what is made of its last result.</summary>
    sealed class Job {
        internal readonly string Phase;
        internal readonly Func<object> Call;
        /// <summary>What the reply says of the last result.</summary>
        internal readonly Action<object, Map> Look;
        /// <summary>Before (true) and after a sample: files of a batch.</summary>
        internal readonly Action<bool> Clear;

        internal Job(string phase, Func<object> call, Action<object, Map> look = null, Action<bool> clear = null) {
            Phase = phase;
            Call = call;
            Look = look ?? ((result, reply) => {});
            Clear = clear ?? (first => {});
        }
    }

    /// <summary>What each `run` calls.</summary>
    static class Jobs {
        private const int Buffer = 1 << 16;

        internal static Job Of(string what, Request request, Ready ready, State state) {
            if (what == "null") return new Job("decode", () => null);
            request.Only("materialise", "full");
            request.Only("subset", "all");
            if (request.Has("medium")) throw OpError.Unsupported("this worker has no medium " + request.Get("medium") + " of one end", "io");
            switch (what) {
                case "encode": return Encode(ready, state);
                case "decode": return Decode(ready, state);
                case "copy": return Copy(ready, state);
                case "write": return Write(request, ready, state);
                case "read": return Read(request, ready, state);
                case "subset":
                case "open": throw OpError.Unsupported("this worker measures whole values, not " + what, "decode");
                default: throw OpError.Usage("run cannot do '" + OpError.Short(what) + "'");
            }
        }

        private static void Size(object result, Map reply) {
            reply.Put("bytes", ((byte[]) result).Length);
        }

        private static Job Encode(Ready ready, State state) {
            object value = state.NeedValue(ready);
            Codec codec = ready.Codec;
            return new Job("encode", () => codec.Encode(value), Size);
        }

        private static Job Decode(Ready ready, State state) {
            byte[] bytes = state.NeedEncoded(ready);
            Codec codec = ready.Codec;
            return new Job("decode", () => codec.Decode(bytes), (result, reply) => reply.Put("items", codec.Items(result)));
        }

        private static Job Copy(Ready ready, State state) {
            byte[] bytes = state.NeedEncoded(ready);
            return new Job("decode", () => bytes.Clone(), Size);
        }

        private static Job Write(Request request, Ready ready, State state) {
            object value = state.NeedValue(ready);
            Codec codec = ready.Codec;
            string path = request.Text("path");
            bool sync = request.Is("sync", "fsync");
            int made = 0;
            Func<object> call = () => {
                string here = made++ == 0 ? path : path + "." + (made - 1);
                using (var file = new FileStream(here, FileMode.Create, FileAccess.Write, FileShare.Read, Buffer)) {
                    codec.Write(value, file);
                    file.Flush(sync);
                }
                return null;
            };
            return new Job("encode", call, (result, reply) => reply.Put("bytes", new FileInfo(path).Length), first => {
                for (int n = 1; n < made; n++) File.Delete(path + "." + n);
                if (first) File.Delete(path);
                made = 0;
            });
        }

        private static Job Read(Request request, Ready ready, State state) {
            if (request.Is("cache", "cold")) throw OpError.Unsupported("cold not possible in Mono: this worker drops no file's pages", "io");
            string path = request.Text("path");
            Codec codec = ready.Codec;
            if (!File.Exists(path)) {
                byte[] bytes = state.NeedEncoded(ready);
                OpError.In<object>("io", () => {
                    File.WriteAllBytes(path, bytes);
                    return null;
                });
            }
            Func<object> call = () => {
                if (!codec.Parts) return codec.Decode(File.ReadAllBytes(path));
                using (var file = new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite, Buffer)) return codec.Read(file);
            };
            return new Job("decode", call, (result, reply) => reply.Put("items", codec.Items(result)));
        }
    }
}
