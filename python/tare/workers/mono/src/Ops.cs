using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;

namespace Tare {
    /// <summary>What the worker can be asked.</summary>
    sealed class Ops {
        private const string Known = "close, decode_from, encode_to, hello, load, mem, open, prepare, probe, quit, run, verify";
        private static readonly string[] Media = { "memory", "file", "fifo", "unix", "tcp" };
        private static readonly string[] Kinds = { "document" };
        private readonly State state = new State();
        private readonly Timing timing = new Timing();
        private readonly Streams streams;

        internal Ops() {
            streams = new Streams(state, timing);
        }

        internal Map Answer(Request request) {
            string op = request.Get("op") as string ?? "";
            switch (op) {
                case "hello": return Hello(request);
                case "load": return Load(request);
                case "prepare": return Prepare(request);
                case "verify": return Verify(request);
                case "run": return Run(request);
                case "mem": return Memory(request);
                case "probe": return Probes.Run(request, state);
                case "encode_to": return EncodeTo(request);
                case "decode_from": return DecodeFrom(request);
                case "open": return streams.Open(request);
                case "close": return streams.Close(request);
                case "quit": return new Map();
                default: throw new OpError("unknown_op", "no operation '" + OpError.Short(op) + "' (there are " + Known + ")", "protocol");
            }
        }

        private static Map Hello(Request request) {
            if (request.Has("proto") && request.Number("proto", 2) != 2) throw OpError.Usage("this worker speaks protocol 2, not " + request.Get("proto"));
            var codecs = new List<Map>();
            var missing = new List<Map>();
            if (!request.Is("list", false)) {
                foreach (string id in Codec.Ids) {
                    Codec one = Codec.Of(id);
                    if (one != null) codecs.Add(Described(one));
                    else missing.Add(new Map().Put("id", id).Put("kinds", Kinds).Put("install", Codec.InstallLine));
                }
            }
            return new Map().Put("proto", 2).Put("worker", "mono").Put("runtime", "Mono").Put("version", RuntimeVersion())
                .Put("pid", System.Diagnostics.Process.GetCurrentProcess().Id).Put("codecs", codecs).Put("missing", missing)
                .Put("clocks", Clocks.Columns).Put("cpu_source", Clocks.Source).Put("gc", new[] { "on" });
        }

        private static string RuntimeVersion() {
            var told = typeof(object).Assembly.GetType("Mono.Runtime")?.GetMethod("GetDisplayName", System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Static);
            return told == null ? Environment.Version.ToString() : ((string) told.Invoke(null, null)).Split(' ')[0];
        }

        private static Map Described(Codec one) {
            Map options = new Map(), choices = new Map();
            foreach (string name in one.Options.Keys) {
                options.Put(name, one.Options[name]);
                choices.Put(name, one.Choices[name]);
            }
            return new Map().Put("id", one.Id).Put("library", one.Library).Put("version", one.Version).Put("options", options)
                .Put("choices", choices).Put("kinds", Kinds).Put("media", Media)
                .Put("delivery", Wire.Deliveries.Where(name => one.Parts || name != "streaming"))
                .Put("subset", new string[0]).Put("threads", new[] { 1 }).Put("executes_code", false);
        }

        private Map Load(Request request) {
            string path = request.Text("path"), form = request.Text("as");
            state.Forget();
            long before = GC.GetTotalMemory(true);
            state.Value = OpError.In("load", () => {
                if (request.Is("kind", "table")) throw OpError.Unsupported("this worker measures documents, not tables", "load");
                byte[] bytes = File.ReadAllBytes(path);
                switch (form) {
                    case "json": return JsonReading.Read(bytes);
                    case "values": return TaggedReading.Read(JsonReading.Read(bytes));
                    case "bytes": return bytes;
                    default: throw OpError.Unsupported("this worker loads json, values and bytes, not '" + OpError.Short(form) + "'", "load");
                }
            });
            state.Loaded = true;
            var list = state.Value as List<object>;
            state.Items = list == null ? 1 : list.Count;
            state.Resident = Math.Max(1, GC.GetTotalMemory(true) - before);
            return new Map().Put("kind", "document").Put("items", state.Items).Put("rows", null).Put("resident_bytes", state.Resident);
        }

        private Map Prepare(Request request) {
            string kind = request.Text("kind", "own");
            if (kind != "" && kind != "own" && kind != "document") throw OpError.Unsupported("in Mono the data are the library's own trees, not " + kind, "load");
            if (request.Is("grain", "each")) throw OpError.Unsupported("this worker makes one call for all documents", "load");
            if (request.Is("order", "lexical")) throw OpError.Unsupported("this worker writes names in the order they come", "load");
            string name = request.Text("codec");
            long began = Clocks.Now();
            var ready = new Ready(Codec.Parse(name), request.Text("delivery", "whole"));
            Codec codec = ready.Codec;
            Map reply = new Map().Put("import_ns", Clocks.Now() - began);
            if (request.Has("encoded")) ready.Bytes = OpError.In("io", () => File.ReadAllBytes(request.Text("encoded")));
            else state.NeedValue(ready);
            if (!request.Is("cold", false)) {
                long from = Clocks.Now();
                if (ready.Bytes == null) {
                    state.NeedEncoded(ready);
                    reply.Put("cold_encode_ns", Math.Max(1, Clocks.Now() - from));
                    from = Clocks.Now();
                }
                ready.Keep(OpError.In("decode", () => codec.Decode(ready.Bytes)));
                reply.Put("cold_decode_ns", Math.Max(1, Clocks.Now() - from));
                reply.Put("items", codec.Items(ready.Last));
            }
            ready.LastCall = () => codec.Decode(state.NeedEncoded(ready));
            if (ready.Bytes != null) reply.Put("bytes", ready.Bytes.Length).Put("sha256", Sha256(ready.Bytes));
            state.Prepared[name] = ready;
            state.Current = name;
            return reply;
        }

        private Map Verify(Request request) {
            Ready ready = state.Ready(request);
            if (!state.Loaded) throw new OpError("usage", "nothing to compare with: load first", "load");
            if (!ready.Came) ready.Keep(OpError.In("decode", ready.LastCall));
            int limit = request.Is("full", false) ? 1 : (int) Math.Max(1, request.Number("limit", 20));
            object found = ready.Last;
            ready.Forget();
            Map reply = OpError.In("verify", () => Compare.Of(state.Value, ready.Codec.Plain(found), limit));
            return reply.Put("items_in", state.Items).Put("items_out", ready.Codec.Items(found));
        }

        private Map Run(Request request) {
            string what = request.Text("what");
            if (what == "send" || what == "receive") return streams.Run(what, request);
            Ready ready = what == "null" ? null : state.Ready(request);
            Job job = Jobs.Of(what, request, ready, state);
            if (ready != null) {
                ready.Forget();
                if (what == "decode" || what == "read") ready.LastCall = job.Call;
            }
            return OpError.In(job.Phase, () => timing.Take(job, request, ready == null ? new Dictionary<string, int>() : ready.Batches,
                what + " " + request.Get("path") + " " + request.Get("sync")));
        }

        /// <summary>Peak of one call above what was resident: the kernel's high-water mark, put down before it.</summary>
        private Map Memory(Request request) {
            Ready ready = state.Ready(request);
            Job job = Jobs.Of(request.Text("what"), request, ready, state);
            foreach (Ready one in state.Prepared.Values) one.Forget();
            GC.Collect();
            OpError.In<object>("io", () => {
                File.WriteAllText("/proc/self/clear_refs", "5");
                return null;
            });
            long before = Clocks.Status("VmRSS");
            OpError.In(job.Phase, job.Call);
            long peak = Clocks.Status("VmHWM");
            job.Clear(false);
            return new Map().Put("before_bytes", before).Put("peak_bytes", Math.Max(0, peak - before)).Put("method", "hwm");
        }

        private Map EncodeTo(Request request) {
            byte[] bytes = state.NeedEncoded(state.Ready(request));
            OpError.In<object>("io", () => {
                File.WriteAllBytes(request.Text("path"), bytes);
                return null;
            });
            return new Map().Put("bytes", bytes.Length);
        }

        private Map DecodeFrom(Request request) {
            Ready ready = state.Ready(request);
            byte[] bytes = OpError.In("io", () => File.ReadAllBytes(request.Text("path")));
            ready.Keep(OpError.In("decode", () => ready.Codec.Decode(bytes)));
            if (request.Has("out")) {
                string text = OpError.In("decode", () => JsonWriting.Write(TaggedWriting.Write(ready.Codec.Plain(ready.Last))));
                OpError.In<object>("io", () => {
                    File.WriteAllText(request.Text("out"), text, Encoding.ASCII);
                    return null;
                });
            }
            return new Map().Put("items", ready.Codec.Items(ready.Last));
        }

        private static string Sha256(byte[] bytes) {
            using (SHA256 made = SHA256.Create()) return string.Concat(made.ComputeHash(bytes).Select(one => one.ToString("x2")));
        }
    }
}
