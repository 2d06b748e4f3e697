using System.Collections.Generic;

namespace Tare {
    /// <summary>Names and values in their order, each name once: what .NET has not.</summary>
    public sealed class Map {
        private readonly List<KeyValuePair<string, object>> entries = new List<KeyValuePair<string, object>>();
        private Dictionary<string, int> places;
        private const int Few = 8;

        public int Count { get { return entries.Count; } }
        public List<KeyValuePair<string, object>> Entries { get { return entries; } }

        /// <summary>Where a name stands; -1 if it is not there.</summary>
        public int Place(string name) {
            if (places == null) {
                if (entries.Count > Few) {
                    places = new Dictionary<string, int>(System.StringComparer.Ordinal);
                    for (int n = 0; n < entries.Count; n++) places[entries[n].Key] = n;
                } else {
                    for (int n = 0; n < entries.Count; n++) if (string.Equals(entries[n].Key, name)) return n;
                    return -1;
                }
            }
            int found;
            return places.TryGetValue(name, out found) ? found : -1;
        }

        /// <summary>The value of a name, or null.</summary>
        public object Get(string name) {
            int place = Place(name);
            return place < 0 ? null : entries[place].Value;
        }

        /// <summary>Sets a name; one that is there keeps its place.</summary>
        public Map Put(string name, object value) {
            int place = Place(name);
            var entry = new KeyValuePair<string, object>(name, value);
            if (place >= 0) {
                entries[place] = entry;
                return this;
            }
            if (places != null) places[name] = entries.Count;
            entries.Add(entry);
            return this;
        }
    }
}
