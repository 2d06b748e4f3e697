// needs: Newtonsoft.Json
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Numerics;
using Newtonsoft.Json.Linq;

namespace Tare.Codecs {
    /// <summary>Values as trees of JToken, what Newtonsoft calls LINQ to JSON, and back.</summary>
    static class Tokens {
        internal static string Version {
            get { return FileVersionInfo.GetVersionInfo(typeof(JToken).Assembly.Location).FileVersion; }
        }

        internal static JToken Of(object value, int depth = 0) {
            if (depth > JsonReading.MostDeep) throw new OpError("NotHere", "a tree of JToken has no cycle, and none here is deeper than " + JsonReading.MostDeep, "encode");
            var map = value as Map;
            if (map != null) {
                var made = new JObject();
                foreach (KeyValuePair<string, object> one in map.Entries) made.Add(one.Key, Of(one.Value, depth + 1));
                return made;
            }
            var list = value as List<object>;
            if (list == null) return new JValue(value);
            var items = new JArray();
            foreach (object one in list) items.Add(Of(one, depth + 1));
            return items;
        }

        internal static object Plain(JToken token, int depth = 0) {
            if (depth > JsonReading.MostDeep) throw new FormatException("deeper than " + JsonReading.MostDeep);
            var names = token as JObject;
            if (names != null) {
                var made = new Map();
                foreach (JProperty one in names.Properties()) made.Put(one.Name, Plain(one.Value, depth + 1));
                return made;
            }
            var list = token as JArray;
            if (list != null) {
                var items = new List<object>(list.Count);
                foreach (JToken one in list) items.Add(Plain(one, depth + 1));
                return items;
            }
            var single = token as JValue;
            if (single == null) throw new FormatException("no value has the form of a " + token.Type);
            return Scalar(single.Value);
        }

        private static object Scalar(object value) {
            if (value is int) return (long) (int) value;
            if (value is ulong) return JsonReading.Narrow((ulong) value);
            if (value is BigInteger) return JsonReading.Narrow((BigInteger) value);
            return value is Uri ? value.ToString() : value;
        }
    }

    /// <summary>A codec of Newtonsoft's trees.</summary>
    public abstract class OfTokens : Codec {
        protected OfTokens(string id) : base(id) {}

        public override string Version { get { return Tokens.Version; } }

        public override object Own(object value) {
            return Tokens.Of(value);
        }

        public override object Plain(object own) {
            return own == null ? null : Tokens.Plain((JToken) own);
        }

        public override long Items(object own) {
            var list = own as JArray;
            return list != null ? list.Count : own == null ? 0 : 1;
        }
    }
}
