using System;
using System.Collections.Generic;
using System.Linq;

namespace Tare {
    /// <summary>The open ends, and sampling over them.</summary>
    sealed class Streams {
        private static readonly string[] Sent = { "start_ns", "first_byte_ns", "last_byte_ns", "closed_ns" };
        private static readonly string[] Received = { "first_byte_ns", "first_value_ns", "last_byte_ns", "last_value_ns" };
        private readonly Dictionary<int, End> ends = new Dictionary<int, End>();
        private readonly State state;
        private readonly Timing timing;
        private int handles;

        internal Streams(State state, Timing timing) {
            this.state = state;
            this.timing = timing;
        }

        internal Map Open(Request request) {
            var medium = request.Get("medium") as Map;
            if (medium == null) throw OpError.Usage("open needs medium: {kind, role, address, token}");
            End end = OpError.In("open", () => new End(new Request(medium)));
            ends[++handles] = end;
            return new Map().Put("handle", handles).Put("address", end.Address);
        }

        internal Map Close(Request request) {
            End end = Found(request);
            ends.Remove((int) request.Number("handle", 0));
            OpError.In<object>("io", () => {
                end.Dispose();
                return null;
            });
            return new Map();
        }

        private End Found(Request request) {
            End found;
            if (!ends.TryGetValue((int) request.Number("handle", -1), out found)) throw new OpError("usage", "no open end has the handle " + request.Get("handle"), "open");
            return found;
        }

        internal Map Run(string what, Request request) {
            Ready ready = state.Ready(request);
            End end = Found(request);
            string delivery = request.Text("delivery", ready.Delivery);
            if (!Wire.Deliveries.Contains(delivery)) throw new OpError("usage", "delivery is one of " + string.Join(", ", Wire.Deliveries), "open");
            if (delivery == "streaming" && !ready.Codec.Parts) throw OpError.Unsupported(ready.Codec.Id + " cannot be written and read in parts", "open");
            bool sending = what == "send";
            bool ack = request.Is("ack", true);
            if (ack && end.Kind == "fifo") throw OpError.Unsupported("a fifo has no way back for an answer", "open");
            if (sending && end.Out == null) throw new OpError("usage", "this end reads", "open");
            object value = sending ? state.NeedValue(ready) : null;
            bool again = Wire.Again(delivery);
            int batch = again ? (int) Math.Max(1, request.Number("batch", 1)) : 1;
            int samples = again ? (int) Math.Max(1, request.Number("samples", 1)) : 1;
            ready.Forget();
            if (!sending) {
                OpError.In<object>("open", () => {
                    end.Accept(request.Number("timeout_s", 3600));
                    return null;
                });
            }
            var reply = new Map();
            var rows = new List<long[]>();
            string phase = sending ? "encode" : "decode";
            for (int n = 0; n < samples; n++) {
                rows.Add(OpError.In(phase, () => sending ? SentRow(ready.Codec, value, end, delivery, ack, batch, reply) : ReceivedRow(ready, end, delivery, ack, batch, reply)));
            }
            return reply.Put("cols", Clocks.Columns.Concat(sending ? Sent : Received)).Put("samples", rows).Put("batch", batch);
        }

        private long[] SentRow(Codec codec, object value, End end, string delivery, bool ack, int batch, Map reply) {
            var stamps = new long[4];
            long count = 0;
            var job = new Job("encode", () => {
                count += Wire.Send(codec, value, end, delivery, ack, stamps);
                return null;
            });
            long[] cells = timing.Sample(job, batch, reply);
            reply.Put("bytes", count / batch);
            return cells.Concat(stamps).ToArray();
        }

        private long[] ReceivedRow(Ready ready, End end, string delivery, bool ack, int batch, Map reply) {
            var stamps = new long[4];
            long count = 0;
            var job = new Job("decode", () => {
                ready.Forget();
                ready.Keep(Wire.Receive(ready.Codec, end, delivery, ack, stamps, ref count));
                return null;
            });
            long[] cells = timing.Sample(job, batch, reply);
            reply.Put("bytes", count / batch).Put("items", ready.Codec.Items(ready.Last));
            return cells.Concat(stamps).ToArray();
        }
    }
}
