// needs: Newtonsoft.Json
using System.IO;
using System.Text;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Tare.Codecs {
    /// <summary>
    /// JSON text to trees of JToken and back. With reader=1 the tokens are read, each with its value, and no tree is made:
    /// nothing comes back. By the library's own default every text that looks like a date comes back as one: that is
    /// dates=parse.
    /// </summary>
    public sealed class NewtonsoftJson : OfTokens {
        private static readonly Encoding Utf8 = new UTF8Encoding(false);
        private const int Buffer = 1 << 14;

        public NewtonsoftJson() : base("json:mono-newtonsoft") {
            Option("reader", "0", "1");
            Option("dates", "text", "parse");
            Option("floats", "double", "decimal");
        }

        public override bool Parts { get { return true; } }

        public override byte[] Encode(object own) {
            var made = new MemoryStream();
            Write(own, made);
            return made.ToArray();
        }

        public override object Decode(byte[] bytes) {
            return Read(new MemoryStream(bytes, false));
        }

        public override void Write(object own, Stream to) {
            var writer = new JsonTextWriter(new StreamWriter(to, Utf8, Buffer)) { Formatting = Formatting.None };
            ((JToken) own).WriteTo(writer);
            writer.Flush();
        }

        public override object Read(Stream from) {
            var reader = new JsonTextReader(new StreamReader(from, Utf8, true, Buffer)) {
                DateParseHandling = Chosen("dates", "parse") ? DateParseHandling.DateTime : DateParseHandling.None,
                FloatParseHandling = Chosen("floats", "decimal") ? FloatParseHandling.Decimal : FloatParseHandling.Double,
            };
            JToken found = null;
            if (Chosen("reader", "0")) found = JToken.ReadFrom(reader);
            else if (!reader.Read()) throw new JsonReaderException("the text holds no value");
            // To the end, as JToken.Parse does: what follows the value is an error.
            while (reader.Read()) {
                if (found != null && reader.TokenType != JsonToken.Comment) throw new JsonReaderException("something after the value");
            }
            return found;
        }
    }
}
