using System;
using System.Globalization;

namespace Tare {
    /// <summary>The fields of a request, or of an object in one.</summary>
    sealed class Request {
        private readonly Map fields;

        internal Request(Map fields) {
            this.fields = fields;
        }

        internal object Get(string name) {
            return fields.Get(name);
        }

        internal bool Has(string name) {
            return fields.Get(name) != null;
        }

        internal bool Is(string name, object value) {
            return value.Equals(fields.Get(name));
        }

        internal string Text(string name) {
            var found = fields.Get(name) as string;
            if (found == null) throw OpError.Usage(fields.Get("op") + " needs '" + name + "', a text");
            return found;
        }

        internal string Text(string name, string otherwise) {
            return Has(name) ? Text(name) : otherwise;
        }

        internal double Number(string name, double otherwise) {
            object found = fields.Get(name);
            if (found == null) return otherwise;
            if (found is long) return (long) found;
            if (found is double) return (double) found;
            throw OpError.Usage("'" + name + "' is a number");
        }

        /// <summary>Refuses a field that has another value than the only one that is measured here.</summary>
        internal void Only(string name, string value) {
            if (Has(name) && !Is(name, value)) throw OpError.Unsupported("this worker measures " + name + "=" + value, "io");
        }
    }
}
