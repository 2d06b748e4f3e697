using System;
using System.Collections.Generic;
using System.IO;

namespace Tare {
    /// <summary>A codec that was prepared, and what is kept of it between requests.</summary>
    sealed class Ready {
        internal readonly Codec Codec;
        internal readonly string Delivery;
        internal readonly Dictionary<string, int> Batches = new Dictionary<string, int>();
        internal object Value; // in the library's own form
        internal byte[] Bytes;
        internal object Last;
        internal bool Came;
        internal Func<object> LastCall;

        internal Ready(Codec codec, string delivery) {
            Codec = codec;
            Delivery = delivery;
        }

        internal void Keep(object value) {
            Last = value;
            Came = true;
        }

        internal void Forget() {
            Last = null;
            Came = false;
        }
    }

    /// <summary>What was loaded and prepared.</summary>
    sealed class State {
        internal readonly Dictionary<string, Ready> Prepared = new Dictionary<string, Ready>();
        internal bool Loaded;
        internal object Value;
        internal long Items, Resident = 1;
        internal string Current = "";

        internal void Forget() {
            Prepared.Clear();
            Loaded = false;
            Value = null;
            Items = 0;
            Resident = 1;
            Current = "";
        }

        /// <summary>The loaded value in the form that a codec encodes.</summary>
        internal object NeedValue(Ready ready) {
            if (!Loaded) throw new OpError("usage", "nothing to encode: load first, or give 'encoded'", "load");
            if (ready.Value == null) ready.Value = OpError.In("encode", () => ready.Codec.Own(Value));
            return ready.Value;
        }

        internal byte[] NeedEncoded(Ready ready) {
            if (ready.Bytes == null) {
                object from = NeedValue(ready);
                ready.Bytes = OpError.In("encode", () => ready.Codec.Encode(from));
            }
            return ready.Bytes;
        }

        internal Ready Ready(Request request) {
            string name = request.Text("codec", Current);
            Ready found;
            if (!Prepared.TryGetValue(name, out found)) throw OpError.Usage((name == "" ? "no codec" : OpError.Short(name)) + " is not prepared");
            return found;
        }
    }
}
