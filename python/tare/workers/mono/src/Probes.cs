using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;

namespace Tare {
    /// <summary>Probes: single values, each put through a codec; the parent judges what came back.</summary>
    static class Probes {
        private const int ShownBytes = 256;

        internal static Map Run(Request request, State state) {
            Codec codec = Codec.Parse(request.Text("codec", state.Current));
            if (request.Text("set", "values/1") != "values/1") throw OpError.Unsupported("this worker has the probes values/1, not " + request.Get("set"), "load");
            string path = Path.Combine(Environment.GetEnvironmentVariable("TARE_MONO_FOLDER") ?? ".", "..", "probes-values-1.json");
            object all = OpError.In("load", () => JsonReading.Read(File.ReadAllBytes(path)));
            var only = request.Get("only") as List<object>;
            var cells = new List<Map>();
            foreach (Map probe in (List<object>) all) {
                if (only == null || only.Contains(probe.Get("probe"))) cells.Add(Cell(codec, probe));
            }
            return new Map().Put("cells", cells);
        }

        private static Map Cell(Codec codec, Map probe) {
            Map cell = new Map().Put("probe", probe.Get("probe"));
            string failing = "n/a";
            try {
                object own = codec.Own(TaggedReading.Read(probe.Get("tagged")));
                failing = "refused";
                byte[] bytes = codec.Encode(own);
                cell.Put("bytes_hex", string.Concat(bytes.Take(ShownBytes).Select(one => one.ToString("x2"))));
                failing = "error";
                cell.Put("out", TaggedWriting.Write(codec.Plain(codec.Decode(bytes))));
                return cell.Put("status", "decoded");
            } catch (Exception error) {
                return cell.Put("status", failing).Put("error", OpError.Of(error, "verify").Cut());
            }
        }
    }
}
