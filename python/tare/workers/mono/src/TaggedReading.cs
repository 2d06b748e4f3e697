using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Numerics;
using System.Text.RegularExpressions;

namespace Tare {
    /// <summary>Tagged values, dialect values/1, as values that trees of this worker hold; any other is an error of type NotHere.</summary>
    sealed class TaggedReading {
        private const int DecimalDigits = 28;
        private static readonly Regex Offset = new Regex("^([+-][0-9][0-9]:[0-9][0-9]|Z)$");
        private readonly Dictionary<object, List<object>> defined = new Dictionary<object, List<object>>();

        internal static object Read(object node) {
            return new TaggedReading().From(node);
        }

        private static OpError NotHere(string what) {
            return new OpError("NotHere", "a tree of JToken holds no " + what, "load");
        }

        private object From(object node) {
            var list = node as List<object>;
            if (list != null) return list.ConvertAll(From);
            var map = node as Map;
            if (map == null) return node;
            foreach (KeyValuePair<string, object> one in map.Entries) if (one.Key.StartsWith("$", StringComparison.Ordinal)) return Tag(one.Key, one.Value, map);
            var made = new Map();
            foreach (KeyValuePair<string, object> one in map.Entries) made.Put(one.Key, From(one.Value));
            return made;
        }

        private object Tag(string tag, object value, Map node) {
            switch (tag) {
                case "$int": return JsonReading.Narrow(BigInteger.Parse((string) value, CultureInfo.InvariantCulture));
                case "$f64": return BitConverter.Int64BitsToDouble(long.Parse((string) value, NumberStyles.HexNumber));
                case "$f32": return BitConverter.ToSingle(BitConverter.GetBytes(int.Parse((string) value, NumberStyles.HexNumber)), 0);
                case "$dec": return Decimal((string) value);
                case "$bytes": return Convert.FromBase64String((string) value);
                case "$text16": return Units((string) value);
                case "$ts": return Stamp((string) value, (string) node.Get("tz"));
                case "$dur": return Duration((long) value, (string) node.Get("unit"));
                case "$uuid": return Guid.ParseExact((string) value, "D");
                case "$map": return Pairs((List<object>) value);
                case "$nest": return Nested((long) value, From(node.Get("of")));
                case "$def": return Defined(value, node.Get("of") as List<object>);
                case "$ref": return defined[value];
                case "$tuple": throw NotHere("tuples");
                case "$set": throw NotHere("sets");
                case "$date": throw NotHere("dates without a time");
                case "$time": throw NotHere("times without a date");
                default: throw NotHere("type for " + OpError.Short(tag));
            }
        }

        private static object Decimal(string text) {
            decimal made;
            bool fits = text.Count(char.IsDigit) <= DecimalDigits;
            if (!fits || !decimal.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out made)) throw NotHere("decimals above 28 digits, or without a value");
            return made;
        }

        private static string Units(string hex) {
            var made = new char[hex.Length / 4];
            for (int n = 0; n < made.Length; n++) made[n] = (char) int.Parse(hex.Substring(4 * n, 4), NumberStyles.HexNumber);
            return new string(made);
        }

        /// <summary>A DateTime, or with an offset a DateTimeOffset; both step by 100 ns.</summary>
        private static object Stamp(string text, string zone) {
            if (text.Contains(":60")) throw NotHere("leap seconds");
            if (zone != null && !Offset.IsMatch(zone)) throw NotHere("zones with a name");
            Match finer = Regex.Match(text, "(\\.[0-9]{7})([0-9]+)");
            if (finer.Success) {
                if (finer.Groups[2].Value.Trim('0') != "") throw NotHere("times to the nanosecond");
                text = text.Replace(finer.Value, finer.Groups[1].Value);
            }
            if (zone == null) return DateTime.Parse(text, CultureInfo.InvariantCulture, DateTimeStyles.None);
            return DateTimeOffset.Parse(text, CultureInfo.InvariantCulture, DateTimeStyles.None);
        }

        private static object Duration(long value, string unit) {
            if (unit == "ns" && value % 100 != 0) throw NotHere("durations to the nanosecond");
            return new TimeSpan(unit == "s" ? checked(value * 10000000) : unit == "ms" ? checked(value * 10000) : unit == "us" ? checked(value * 10) : value / 100);
        }

        private Map Pairs(List<object> pairs) {
            var made = new Map();
            foreach (List<object> pair in pairs) {
                var name = From(pair[0]) as string;
                if (name == null) throw NotHere("names but texts");
                if (made.Place(name) >= 0) throw NotHere("name twice");
                made.Put(name, From(pair[1]));
            }
            return made;
        }

        private static object Nested(long depth, object made) {
            if (depth > JsonReading.MostDeep) throw NotHere("lists deeper than " + JsonReading.MostDeep + " in this worker");
            for (; depth > 0; depth--) made = new List<object> { made };
            return made;
        }

        private object Defined(object number, List<object> of) {
            if (of == null) throw NotHere("shared value but a list in this worker");
            var made = new List<object>();
            defined[number] = made;
            foreach (object one in of) made.Add(From(one));
            return made;
        }
    }
}
