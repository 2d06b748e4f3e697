using System;
using System.Collections.Generic;
using System.Globalization;
using System.Numerics;
using System.Text;
using System.Text.RegularExpressions;

namespace Tare {
    /// <summary>
    /// JSON of the protocol and of what is loaded, strictly: what is measured is no judge of itself. Integers are long or
    /// BigInteger, everything else with a point or an exponent is a double, maps keep their order.
    /// </summary>
    sealed class JsonReading {
        /// <summary>Trees are walked by recursion: none is deeper.</summary>
        internal const int MostDeep = 5000;
        private static readonly Encoding Strict = new UTF8Encoding(false, true);
        private static readonly Regex Form = new Regex("^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$", RegexOptions.CultureInvariant);
        private readonly string text;
        private int at, depth;

        private JsonReading(string text) {
            this.text = text;
        }

        internal static object Read(byte[] bytes, int count = -1) {
            string text;
            try {
                text = Strict.GetString(bytes, 0, count < 0 ? bytes.Length : count);
            } catch (DecoderFallbackException) {
                throw new FormatException("not UTF-8");
            }
            var json = new JsonReading(text);
            object value = json.Value();
            json.Blank();
            if (json.at < text.Length) throw json.Bad("something after the value");
            return value;
        }

        private FormatException Bad(string what) {
            return new FormatException(what + " at character " + at);
        }

        private void Blank() {
            while (at < text.Length && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) at++;
        }

        private char Peek() {
            Blank();
            if (at >= text.Length) throw Bad("the text ends too early");
            return text[at];
        }

        private object Value() {
            switch (Peek()) {
                case '{': return Object();
                case '[': return Array();
                case '"': return String();
                case 't': return Word("true", true);
                case 'f': return Word("false", false);
                case 'n': return Word("null", null);
                default: return Number();
            }
        }

        private object Word(string word, object value) {
            if (string.CompareOrdinal(text, at, word, 0, word.Length) != 0) throw Bad("no value");
            at += word.Length;
            return value;
        }

        private void Deeper() {
            if (++depth > MostDeep) throw Bad("deeper than " + MostDeep);
            at++;
        }

        private Map Object() {
            Deeper();
            var made = new Map();
            if (Peek() != '}') {
                while (true) {
                    if (Peek() != '"') throw Bad("no name");
                    string name = String();
                    if (Peek() != ':') throw Bad("no colon");
                    at++;
                    made.Put(name, Value());
                    if (Peek() == '}') break;
                    if (Peek() != ',') throw Bad("no comma");
                    at++;
                }
            }
            at++;
            depth--;
            return made;
        }

        private List<object> Array() {
            Deeper();
            var made = new List<object>();
            if (Peek() != ']') {
                while (true) {
                    made.Add(Value());
                    if (Peek() == ']') break;
                    if (Peek() != ',') throw Bad("no comma");
                    at++;
                }
            }
            at++;
            depth--;
            return made;
        }

        private string String() {
            int from = ++at;
            for (; at < text.Length && text[at] != '"' && text[at] != '\\'; at++) if (text[at] < ' ') throw Bad("a control character in a text");
            if (at < text.Length && text[at] == '"') return text.Substring(from, at++ - from);
            var made = new StringBuilder(text, from, at - from, Math.Max(16, 2 * (at - from)));
            while (true) {
                if (at >= text.Length) throw Bad("a text without end");
                char c = text[at++];
                if (c == '"') return made.ToString();
                if (c < ' ') throw Bad("a control character in a text");
                made.Append(c == '\\' ? Escape() : c);
            }
        }

        private char Escape() {
            if (at >= text.Length) throw Bad("a text without end");
            char c = text[at++];
            if (c == 'u') {
                int unit = 0;
                for (int n = 0; n < 4; n++) {
                    int digit = at < text.Length ? "0123456789abcdef".IndexOf(char.ToLowerInvariant(text[at++])) : -1;
                    if (digit < 0) throw Bad("no hex digit");
                    unit = unit * 16 + digit;
                }
                return (char) unit;
            }
            int known = "\"\\/bfnrt".IndexOf(c);
            if (known < 0) throw Bad("no such escape");
            return "\"\\/\b\f\n\r\t"[known];
        }

        private object Number() {
            int from = at;
            bool whole = true;
            for (; at < text.Length; at++) {
                char c = text[at];
                if (c >= '0' && c <= '9' || c == '-' && at == from) continue;
                if ("+-.eE".IndexOf(c) < 0) break;
                whole = false;
            }
            string found = text.Substring(from, at - from);
            if (!Form.IsMatch(found)) throw Bad("no value");
            if (!whole) return Double(found);
            return found.Length < 19 ? long.Parse(found, CultureInfo.InvariantCulture) : Narrow(BigInteger.Parse(found, CultureInfo.InvariantCulture));
        }

        /// <summary>Mono's own reading drops the sign of zero, and refuses what is too large to be finite.</summary>
        private static double Double(string found) {
            double value;
            try {
                value = double.Parse(found, NumberStyles.Float, CultureInfo.InvariantCulture);
            } catch (OverflowException) {
                value = double.PositiveInfinity;
            }
            return found[0] == '-' && value >= 0 ? -value : value;
        }

        /// <summary>An integer as long, or as BigInteger where that cannot hold it.</summary>
        internal static object Narrow(BigInteger value) {
            return value >= long.MinValue && value <= long.MaxValue ? (object) (long) value : value;
        }
    }
}
