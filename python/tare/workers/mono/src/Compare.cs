using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Numerics;

namespace Tare {
    /// <summary>
    /// Whether what came back is what was loaded. Verdicts: same; type, when the value can be rebuilt knowing only its
    /// type; lossy. Changes are counted under their path with [*] for every item.
    /// </summary>
    sealed class Compare {
        private readonly Dictionary<string, Map> changes = new Dictionary<string, Map>();

        internal static Map Of(object before, object after, int limit) {
            var compare = new Compare();
            compare.Walk(before, after, "");
            List<Map> found = compare.changes.Values.OrderBy(one => (string) one.Get("verdict"), StringComparer.Ordinal).ToList(); // lossy before type
            return new Map().Put("verdict", found.Count == 0 ? "same" : found[0].Get("verdict")).Put("changes", found.Take(limit).ToList());
        }

        private void Note(string path, string verdict, object before, object after) {
            string where = path == "" ? "(whole)" : path;
            Map known;
            if (changes.TryGetValue(where + "\n" + verdict, out known)) known.Put("count", (int) known.Get("count") + 1);
            else changes[where + "\n" + verdict] = new Map().Put("path", where).Put("verdict", verdict).Put("count", 1).Put("in", Shown(before)).Put("out", Shown(after));
        }

        private void Walk(object a, object b, string path) {
            if (a is Map && b is Map) Maps((Map) a, (Map) b, path);
            else if (a is List<object> && b is List<object>) Lists((List<object>) a, (List<object>) b, path);
            else if (!Same(a, b)) Note(path, Rebuilt(a, b) ? "type" : "lossy", a, b);
        }

        private void Lists(List<object> a, List<object> b, string path) {
            if (a.Count != b.Count) Note(path, "lossy", a, b);
            string inner = path + "[*]";
            for (int n = 0; n < Math.Min(a.Count, b.Count); n++) Walk(a[n], b[n], inner);
        }

        private void Maps(Map a, Map b, string path) {
            bool moved = false, gone = false;
            for (int n = 0; n < a.Count; n++) {
                string name = a.Entries[n].Key;
                int place = b.Place(name);
                string inner = path == "" ? name : path + "." + name;
                moved |= place != n;
                gone |= place < 0;
                if (place >= 0) Walk(a.Entries[n].Value, b.Entries[place].Value, inner);
                else Note(inner, "lossy", a.Entries[n].Value, null);
            }
            if (a.Count != b.Count) Note(path, "lossy", a, b);
            else if (moved && !gone) Note((path == "" ? "(whole)" : path) + " (key order)", "lossy", a, b);
        }

        private static bool Same(object a, object b) {
            if (a == null || b == null) return a == b;
            if (a.GetType() != b.GetType()) return false;
            if (a is double || a is float) return MinusZero(a) == MinusZero(b) && a.Equals(b); // any NaN is NaN
            if (a is byte[]) return ((byte[]) a).SequenceEqual((byte[]) b);
            if (a is DateTimeOffset) return ((DateTimeOffset) a).EqualsExact((DateTimeOffset) b);
            if (a is DateTime) return a.Equals(b) && ((DateTime) a).Kind == ((DateTime) b).Kind;
            if (a is decimal) return decimal.GetBits((decimal) a).SequenceEqual(decimal.GetBits((decimal) b));
            return a.Equals(b);
        }

        /// <summary>Whether b as the type of a is a.</summary>
        private static bool Rebuilt(object a, object b) {
            if (a is double && b is float) return Same(a, (double) (float) b);
            if (a is float && b is double) return Same(a, (float) (double) b);
            if (Number(a) && Number(b)) {
                if (!Finite(a) || !Finite(b) || MinusZero(a) != MinusZero(b)) return false;
                if (a is double) return Convert.ToDouble(Text(b), CultureInfo.InvariantCulture) == (double) a;
                if (a is float) return Convert.ToSingle(Text(b), CultureInfo.InvariantCulture) == (float) a;
                return a is decimal ? Text(a) == Text(b) : Whole(a) == Whole(b);
            }
            var text = b as string;
            if (a == null || text == null || a is Map || a is List<object>) return false;
            return a is byte[] ? Convert.ToBase64String((byte[]) a) == text : Text(a) == text;
        }

        /// <summary>The whole number that x is; null if it is none, or a double above 2^53, which stands for many.</summary>
        private static BigInteger? Whole(object x) {
            if (x is BigInteger) return (BigInteger) x;
            if (x is long) return (long) x;
            if (x is decimal) return decimal.Truncate((decimal) x) == (decimal) x ? new BigInteger((decimal) x) : (BigInteger?) null;
            double value = x is float ? (float) x : (double) x;
            return Math.Abs(value) <= 1L << 53 && Math.Truncate(value) == value ? new BigInteger(value) : (BigInteger?) null;
        }

        private static bool Number(object x) {
            return x is long || x is BigInteger || x is double || x is float || x is decimal;
        }

        private static bool Finite(object x) {
            double value = x is double ? (double) x : x is float ? (float) x : 0;
            return !double.IsNaN(value) && !double.IsInfinity(value);
        }

        private static bool MinusZero(object x) {
            double value = x is double ? (double) x : x is float ? (float) x : 1;
            return value == 0 && double.IsNegativeInfinity(1 / value);
        }

        /// <summary>The value in digits, all of them.</summary>
        private static string Text(object x) {
            return x is double || x is float ? ((IFormattable) x).ToString("R", CultureInfo.InvariantCulture) : Convert.ToString(x, CultureInfo.InvariantCulture);
        }

        private static string Shown(object x) {
            if (x == null) return "null";
            var map = x as Map;
            var list = x as ICollection;
            if (map != null) return "Map of " + map.Count;
            if (list != null) return x.GetType().Name.Split('`')[0] + " of " + list.Count;
            string text = Text(x);
            if (MinusZero(x)) text = "-0"; // Mono's own text has lost the sign
            return (text.Length > 100 ? text.Substring(0, 100) + "..." : text) + " (" + x.GetType().Name + ")";
        }
    }
}
