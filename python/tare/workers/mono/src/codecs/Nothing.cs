using System;

namespace Tare.Codecs {
    /// <summary>Does nothing: what its calls cost is what the worker adds to every other codec. Nothing comes back.</summary>
    public sealed class Nothing : Codec {
        private static readonly byte[] One = { 0 };

        public Nothing() : base("none:mono") {}

        public override string Version { get { return Environment.Version.ToString(); } }

        public override byte[] Encode(object own) {
            return One;
        }

        public override object Decode(byte[] bytes) {
            return null;
        }
    }
}
