using System;

namespace Tare {
    /// <summary>What a request is answered with instead of a result: type, message and phase of the protocol.</summary>
    public sealed class OpError : Exception {
        private const int MessageBytes = 2000;
        internal readonly string Type, Phase;

        public OpError(string type, string message, string phase) : base(message) {
            Type = type;
            Phase = phase;
        }

        internal static OpError Usage(string message) {
            return new OpError("usage", message, "protocol");
        }

        internal static OpError Unsupported(string message, string phase) {
            return new OpError("Unsupported", message, phase);
        }

        /// <summary>A piece of work whose failures belong to one phase.</summary>
        internal static T In<T>(string phase, Func<T> work) {
            try {
                return work();
            } catch (OpError) {
                throw;
            } catch (Exception error) {
                throw Of(error, phase);
            }
        }

        internal static OpError Of(Exception error, string phase) {
            var known = error as OpError;
            if (known != null) return known;
            string name = error.GetType().Name;
            string type = error is OutOfMemoryException ? "memory" : phase == "encode" ? "refused" : name;
            return new OpError(type, type == name ? error.Message : name + ": " + error.Message, phase);
        }

        /// <summary>The message, at most 2 KiB of UTF-8.</summary>
        internal string Cut() {
            int bytes = 0;
            for (int at = 0; at < Message.Length; at++) {
                char c = Message[at];
                bytes += c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
                if (bytes <= MessageBytes) continue;
                return Message.Substring(0, char.IsHighSurrogate(Message[at - 1]) ? at - 1 : at) + "...";
            }
            return Message;
        }

        /// <summary>The beginning of what somebody sent, to be told back.</summary>
        internal static string Short(string text) {
            return text.Length > 80 ? text.Substring(0, 80) : text;
        }
    }
}
