using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Numerics;

namespace Tare {
    /// <summary>Values in their tagged form, as a tree for JsonWriting. Trees that were decoded hold nothing twice.</summary>
    static class TaggedWriting {
        private const int NestFrom = 64;
        private static readonly BigInteger Safe = BigInteger.Pow(2, 53) - 1;

        internal static object Write(object value) {
            var map = value as Map;
            if (map != null) return OfMap(map);
            var list = value as List<object>;
            return list != null ? OfList(list) : Scalar(value);
        }

        private static Map Tagged(string tag, object value) {
            return new Map().Put(tag, value);
        }

        private static object OfMap(Map map) {
            if (map.Entries.All(one => Whole(one.Key) && !one.Key.StartsWith("$", StringComparison.Ordinal))) {
                var made = new Map();
                foreach (KeyValuePair<string, object> one in map.Entries) made.Put(one.Key, Write(one.Value));
                return made;
            }
            return Tagged("$map", map.Entries.ConvertAll(one => new[] { Write(one.Key), Write(one.Value) }));
        }

        private static object OfList(List<object> list) {
            int depth = 0;
            object inner = list;
            for (List<object> lone; (lone = inner as List<object>) != null && lone.Count == 1; depth++) inner = lone[0];
            if (depth <= NestFrom) return list.ConvertAll(Write);
            return Tagged("$nest", depth).Put("of", Write(inner)); // parsers of JSON have limits of their own
        }

        private static object Scalar(object value) {
            if (value == null || value is bool) return value;
            if (value is string) return Whole((string) value) ? value : Tagged("$text16", string.Concat(((string) value).Select(c => ((int) c).ToString("x4"))));
            if (value is long || value is BigInteger) {
                BigInteger found = value is long ? (long) value : (BigInteger) value;
                return BigInteger.Abs(found) <= Safe ? (object) (long) found : Tagged("$int", found.ToString(CultureInfo.InvariantCulture));
            }
            if (value is double) return Tagged("$f64", BitConverter.DoubleToInt64Bits((double) value).ToString("x16"));
            if (value is float) return Tagged("$f32", BitConverter.ToInt32(BitConverter.GetBytes((float) value), 0).ToString("x8"));
            if (value is decimal) return Tagged("$dec", ((decimal) value).ToString(CultureInfo.InvariantCulture));
            if (value is byte[]) return Tagged("$bytes", Convert.ToBase64String((byte[]) value));
            if (value is Guid) return Tagged("$uuid", ((Guid) value).ToString("D"));
            if (value is TimeSpan) return Span(((TimeSpan) value).Ticks);
            if (value is DateTimeOffset) return Moment(((DateTimeOffset) value).DateTime, Offset(((DateTimeOffset) value).Offset));
            if (value is DateTime) return OfDateTime((DateTime) value);
            throw new FormatException("no tag for " + value.GetType().FullName);
        }

        private static object OfDateTime(DateTime value) {
            return value.Kind == DateTimeKind.Unspecified ? Moment(value, null) : Moment(value.ToUniversalTime(), "+00:00");
        }

        private static object Span(long ticks) {
            return ticks % 10 == 0 ? Tagged("$dur", ticks / 10).Put("unit", "us") : Tagged("$dur", checked(ticks * 100)).Put("unit", "ns");
        }

        private static string Offset(TimeSpan offset) {
            return (offset < TimeSpan.Zero ? "-" : "+") + offset.ToString("hh\\:mm", CultureInfo.InvariantCulture);
        }

        private static object Moment(DateTime local, string zone) {
            bool fine = local.Ticks % 10 != 0;
            string text = local.ToString(fine ? "yyyy-MM-ddTHH:mm:ss.fffffff'00'" : "yyyy-MM-ddTHH:mm:ss.ffffff", CultureInfo.InvariantCulture);
            return Tagged("$ts", text + zone).Put("unit", fine ? "ns" : "us").Put("tz", zone);
        }

        private static bool Whole(string text) {
            for (int n = 0; n < text.Length; n++) {
                if (!char.IsSurrogate(text[n])) continue;
                if (n + 1 >= text.Length || !char.IsSurrogatePair(text[n], text[n + 1])) return false;
                n++;
            }
            return true;
        }
    }
}
