using System;
using System.Collections.Generic;
using System.IO;

namespace Tare {
    /// <summary>
    /// A codec of documents. Values are trees of Map, List of objects, text, bool, long, BigInteger, double, float,
    /// decimal, byte[], DateTime, DateTimeOffset, TimeSpan, Guid and null; what the library itself works on is its own,
    /// and made of them, and into them, outside every clock.
    /// </summary>
    public abstract class Codec {
        /// <summary>The id without options, as the parent names it.</summary>
        public readonly string Id;
        internal readonly Dictionary<string, string[]> Choices = new Dictionary<string, string[]>();
        internal readonly Dictionary<string, string> Options = new Dictionary<string, string>();

        protected Codec(string id) {
            Id = id;
        }

        /// <summary>An option and its choices, the default first.</summary>
        protected void Option(string name, params string[] values) {
            Choices[name] = values;
            Options[name] = values[0];
        }

        protected bool Chosen(string name, string value) {
            return Options[name] == value;
        }

        internal string Library { get { return Id.Substring(Id.IndexOf(':') + 1); } }

        /// <summary>Version of the library.</summary>
        public abstract string Version { get; }

        /// <summary>Whether the library itself writes and reads parts.</summary>
        public virtual bool Parts { get { return false; } }

        /// <summary>The library's own form of a value.</summary>
        public virtual object Own(object value) {
            return value;
        }

        /// <summary>The value that the library's own form holds.</summary>
        public virtual object Plain(object own) {
            return own;
        }

        /// <summary>Entries of a list, or 1; 0 if nothing came back.</summary>
        public virtual long Items(object own) {
            return own == null ? 0 : 1;
        }

        public abstract byte[] Encode(object own);

        public abstract object Decode(byte[] bytes);

        public virtual void Write(object own, Stream to) {
            byte[] bytes = Encode(own);
            to.Write(bytes, 0, bytes.Length);
        }

        public virtual object Read(Stream from) {
            throw OpError.Unsupported(Id + " cannot be read in parts", "decode");
        }

        // --- which there are -----------------------------------------------------------------

        internal const string InstallLine = "apt-get install libnewtonsoft-json5.0-cil";
        private static readonly Dictionary<string, string> Known = new Dictionary<string, string> {
            { "json:mono-newtonsoft", "NewtonsoftJson" }, { "bson:mono-newtonsoft", "NewtonsoftBson" }, { "none:mono", "Nothing" },
        };

        internal static IEnumerable<string> Ids { get { return Known.Keys; } }

        /// <summary>A new codec of that id; null if its library is not there.</summary>
        internal static Codec Of(string id) {
            string name;
            if (!Known.TryGetValue(id, out name)) {
                throw new OpError("usage", "this worker has no codec '" + OpError.Short(id) + "'; it has " + string.Join(" ", Ids), "encode");
            }
            try {
                Type found = Type.GetType("Tare.Codecs." + name);
                return found == null ? null : (Codec) Activator.CreateInstance(found);
            } catch (System.Reflection.TargetInvocationException) {
                return null; // compiled with the library, which has gone since
            } catch (TypeLoadException) {
                return null;
            } catch (FileNotFoundException) {
                return null;
            }
        }

        /// <summary>An id with its options: json:mono-newtonsoft,reader=1.</summary>
        internal static Codec Parse(string text) {
            string[] parts = text.Split(',');
            Codec one = Of(parts[0]);
            if (one == null) throw new OpError("MissingLibrary", "Mono finds no library for " + parts[0] + ": " + InstallLine, "encode");
            for (int n = 1; n < parts.Length; n++) {
                string[] pair = parts[n].Split(new[] { '=' }, 2);
                string[] some;
                if (!one.Choices.TryGetValue(pair[0], out some)) {
                    throw new OpError("usage", one.Id + " has no option '" + OpError.Short(pair[0]) + "'; it has " + string.Join(", ", one.Choices.Keys), "encode");
                }
                if (pair.Length < 2 || Array.IndexOf(some, pair[1]) < 0) {
                    throw new OpError("usage", one.Id + ": " + pair[0] + " is one of " + string.Join(", ", some), "encode");
                }
                one.Options[pair[0]] = pair[1];
            }
            return one;
        }
    }
}
