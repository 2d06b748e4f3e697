using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Tare {
    /// <summary>JSON of replies and of tagged values, in ASCII.</summary>
    static class JsonWriting {
        internal static string Write(object value) {
            var made = new StringBuilder();
            Write(value, made);
            return made.ToString();
        }

        private static void Write(object value, StringBuilder made) {
            var map = value as Map;
            var text = value as string;
            if (map != null) {
                string sign = "{";
                foreach (KeyValuePair<string, object> one in map.Entries) {
                    made.Append(sign);
                    Quote(one.Key, made);
                    made.Append(':');
                    Write(one.Value, made);
                    sign = ",";
                }
                made.Append(sign == "{" ? "{}" : "}");
            } else if (value == null) {
                made.Append("null");
            } else if (text != null) {
                Quote(text, made);
            } else if (value is bool) {
                made.Append((bool) value ? "true" : "false");
            } else if (value is IEnumerable) {
                string sign = "[";
                foreach (object one in (IEnumerable) value) {
                    made.Append(sign);
                    Write(one, made);
                    sign = ",";
                }
                made.Append(sign == "[" ? "[]" : "]");
            } else {
                made.AppendFormat(CultureInfo.InvariantCulture, "{0}", value); // int and long
            }
        }

        private static void Quote(string text, StringBuilder made) {
            made.Append('"');
            foreach (char c in text) {
                if (c == '"' || c == '\\') made.Append('\\').Append(c);
                else if (c < ' ' || c > '~') made.Append("\\u").Append(((int) c).ToString("x4"));
                else made.Append(c);
            }
            made.Append('"');
        }
    }
}
