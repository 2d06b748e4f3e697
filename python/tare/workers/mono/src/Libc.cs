using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Tare {
    /// <summary>What Mono's own classes lack: descriptors that it did not open, fifos, and the kernel's clocks.</summary>
    static class Libc {
        internal const int ReadOnly = 0, WriteOnly = 1, ReadWrite = 2;
        private const int CloseOnExec = 0x80000, Interrupted = 4;

        [DllImport("libc", EntryPoint = "read", SetLastError = true)] private static extern unsafe IntPtr ReadInto(int fd, byte* data, IntPtr count);
        [DllImport("libc", EntryPoint = "write", SetLastError = true)] private static extern unsafe IntPtr WriteFrom(int fd, byte* data, IntPtr count);
        [DllImport("libc", EntryPoint = "open", SetLastError = true)] private static extern int OpenAt(string path, int flags, int mode);
        [DllImport("libc", EntryPoint = "close")] internal static extern int Close(int fd);
        [DllImport("libc", EntryPoint = "mkfifo", SetLastError = true)] private static extern int MakeFifo(string path, uint mode);
        [DllImport("libc", EntryPoint = "mkdtemp", SetLastError = true)] private static extern IntPtr MakeFolder(byte[] template);
        [DllImport("libc", EntryPoint = "poll", SetLastError = true)] private static extern int PollOne(ref Polled one, UIntPtr count, int milliseconds);
        [DllImport("libc", EntryPoint = "clock_gettime")] internal static extern int ClockGetTime(int clock, out TimeSpec time);
        [DllImport("libc", EntryPoint = "getrusage")] internal static extern int GetUsage(int who, [Out] long[] usage);

        internal struct TimeSpec {
            internal long Seconds, Nanoseconds;
        }

        private struct Polled {
            internal int Fd;
            internal short Events, Found;
        }

        private static IOException Failed(string what) {
            return new IOException(what + ": " + new System.ComponentModel.Win32Exception(Marshal.GetLastWin32Error()).Message);
        }

        internal static int Open(string path, int how) {
            while (true) {
                int fd = OpenAt(path, how | CloseOnExec, 0);
                if (fd >= 0) return fd;
                if (Marshal.GetLastWin32Error() != Interrupted) throw Failed(path);
            }
        }

        internal static void Fifo(string path) {
            if (MakeFifo(path, 0x180) != 0) throw Failed("the fifo cannot be made"); // mode 0600
        }

        /// <summary>A new folder that only this user can enter.</summary>
        internal static string PrivateFolder() {
            byte[] template = System.Text.Encoding.UTF8.GetBytes(Path.Combine(Path.GetTempPath(), "end-XXXXXX") + "\0");
            if (MakeFolder(template) == IntPtr.Zero) throw Failed("no temporary folder can be made");
            return System.Text.Encoding.UTF8.GetString(template, 0, template.Length - 1);
        }

        internal static unsafe int Read(int fd, byte[] data, int from, int count) {
            if (count == 0) return 0;
            fixed (byte* start = &data[from]) {
                while (true) {
                    int got = (int) ReadInto(fd, start, (IntPtr) count);
                    if (got >= 0) return got;
                    if (Marshal.GetLastWin32Error() != Interrupted) throw Failed("reading");
                }
            }
        }

        internal static unsafe void Write(int fd, byte[] data, int from, int count) {
            if (count == 0) return;
            fixed (byte* start = &data[from]) {
                for (int done = 0; done < count;) {
                    int put = (int) WriteFrom(fd, start + done, (IntPtr) (count - done));
                    if (put >= 0) done += put;
                    else if (Marshal.GetLastWin32Error() != Interrupted) throw Failed("writing");
                }
            }
        }

        /// <summary>Whether something can be read, or the other end is gone, before the time is over.</summary>
        internal static bool Readable(int fd, long milliseconds) {
            long until = Clocks.Now() + milliseconds * 1000000;
            while (true) {
                var one = new Polled { Fd = fd, Events = 1 };
                long left = Math.Max(0, (until - Clocks.Now()) / 1000000);
                int found = PollOne(ref one, (UIntPtr) 1, (int) Math.Min(left, int.MaxValue));
                if (found > 0) return true;
                if (found == 0 && left == 0) return false;
                if (found < 0 && Marshal.GetLastWin32Error() != Interrupted) throw Failed("waiting");
            }
        }
    }

    /// <summary>A descriptor as a stream; Mono's FileStream refuses those that it did not open itself.</summary>
    sealed class Descriptor : Stream {
        internal readonly int Fd;
        private bool closed;

        internal Descriptor(int fd) {
            Fd = fd;
        }

        public override bool CanRead { get { return true; } }
        public override bool CanWrite { get { return true; } }
        public override bool CanSeek { get { return false; } }
        public override long Length { get { throw new NotSupportedException(); } }
        public override long Position { get { throw new NotSupportedException(); } set { throw new NotSupportedException(); } }
        public override void Flush() {}
        public override long Seek(long offset, SeekOrigin origin) { throw new NotSupportedException(); }
        public override void SetLength(long value) { throw new NotSupportedException(); }
        public override int Read(byte[] data, int from, int count) { return Libc.Read(Fd, data, from, count); }
        public override void Write(byte[] data, int from, int count) { Libc.Write(Fd, data, from, count); }

        protected override void Dispose(bool disposing) {
            if (!closed) Libc.Close(Fd);
            closed = true;
            base.Dispose(disposing);
        }
    }
}
