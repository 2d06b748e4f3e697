// needs: Newtonsoft.Json
using System;
using System.IO;
using Newtonsoft.Json.Bson;
using Newtonsoft.Json.Linq;

namespace Tare.Codecs {
    /// <summary>
    /// BSON to trees of JToken and back. Its top is a mapping; a list of mappings is one document after the other, and one
    /// document reads as a mapping unless layout=sequence, as with Tare's bson:pymongo.
    /// </summary>
    public sealed class NewtonsoftBson : OfTokens {
        public NewtonsoftBson() : base("bson:mono-newtonsoft") {
            Option("layout", "auto", "sequence");
        }

        public override byte[] Encode(object own) {
            var made = new MemoryStream();
            var list = own as JArray;
            if (own is JObject && Chosen("layout", "auto")) {
                One((JObject) own, made);
            } else if (list != null && list.Count > 0) {
                foreach (JToken one in list) One(one as JObject, made);
            } else {
                One(null, made);
            }
            return made.ToArray();
        }

        private static void One(JObject document, Stream to) {
            if (document == null) throw new InvalidOperationException("the top of BSON is a mapping or, in a sequence, a list of mappings that is not empty");
            var writer = new BsonWriter(to);
            document.WriteTo(writer);
            writer.Flush();
        }

        public override object Decode(byte[] bytes) {
            var from = new MemoryStream(bytes, false);
            JToken first = null;
            JArray all = Chosen("layout", "sequence") ? new JArray() : null;
            do {
                JToken one = JToken.ReadFrom(new BsonReader(from));
                if (all == null && first != null) all = new JArray(first);
                if (all != null) all.Add(one);
                else first = one;
            } while (from.Position < from.Length);
            return all ?? first;
        }
    }
}
