// Fifos, Unix sockets and TCP connections: one end each. A fifo's other end is awaited in another thread, so
// that opening one blocks nobody.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";

import { fail } from "./failure.mjs";

const ENDS = new Map();
let last = 0;

const TOKEN_FAILED = "whoever wrote did not send the token of this run";
const PIECE = 1 << 16;
const openFile = promisify(fs.open);
const readSome = promisify(fs.read);

export function endOf(handle) {
  const end = ENDS.get(handle);
  if (!end) fail("usage", `no open end has the handle ${handle}`, "open");
  return end;
}

const within = async (promise, seconds, message) => {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(Object.assign(new Error(message), { late: true })), seconds * 1000); });
  try {
    return await Promise.race([promise, late]);
  } catch (error) {
    return error.late ? fail("TimeoutError", message, "open") : Promise.reject(error);
  } finally {
    clearTimeout(timer);
  }
};

// A writer's first frame, a control frame of kind 3; nothing if there is no token.
const tokenFrame = (hex) => (hex ? Buffer.concat([Buffer.from([0xe8, 17, 0, 0, 0, 3]), Buffer.from(hex, "hex")]) : Buffer.alloc(0));

class FifoLine {
  constructor(fd) { this.fd = fd; }
  async more() {
    const piece = Buffer.allocUnsafe(PIECE);
    const got = fs.readSync(this.fd, piece);
    return got ? piece.subarray(0, got) : null;
  }
  async write(data) { for (let at = 0; at < data.length;) at += fs.writeSync(this.fd, data, at); }
  async finish() { this.close(); }
  close() {
    if (this.fd >= 0) fs.closeSync(this.fd);
    this.fd = -1;
  }
}

class SocketLine {
  constructor(socket) {
    this.socket = socket;
    this.ended = false;
    this.error = null;
    const wake = () => this.wake?.();
    socket.setNoDelay?.(true);
    socket.on("readable", wake);
    socket.on("end", () => { this.ended = true; wake(); });
    socket.on("close", () => { this.ended = true; wake(); });
    socket.on("error", (error) => { this.error = error; wake(); });
  }
  async more() {
    for (;;) {
      const data = this.socket.read();
      if (data !== null) return data;
      if (this.error) throw this.error;
      if (this.ended) return null;
      await new Promise((resolve) => { this.wake = resolve; });
    }
  }
  write(data) { return new Promise((resolve, reject) => { this.socket.write(data, (error) => (error ? reject(error) : resolve())); }); }
  finish() { return new Promise((resolve) => { this.socket.end(resolve); }); }
  close() { this.socket.destroy(); }
}

// What arrives, asked for by its length; what came too early is kept.
export class Inbox {
  constructor(line) { this.line = line; this.held = Buffer.alloc(0); }
  async some() {
    if (!this.held.length) return this.line.more();
    const data = this.held;
    this.held = Buffer.alloc(0);
    return data;
  }
  async exactly(n) {
    const parts = [];
    let got = 0;
    while (got < n) {
      const data = await this.some();
      if (data === null) fail("Truncated", `the writer closed after ${got} of ${n} bytes`, "io");
      parts.push(data);
      got += data.length;
    }
    const all = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    this.held = all.subarray(n);
    return all.subarray(0, n);
  }
}

function split(address) {
  const at = address.lastIndexOf(":");
  return at < 0 ? { host: "127.0.0.1", port: 0 } : { host: address.slice(0, at) || "127.0.0.1", port: Number(address.slice(at + 1)) };
}

export async function openEnd(medium) {
  const end = { kind: medium.kind, token: tokenFrame(medium.token), address: String(medium.address ?? medium.path ?? "") };
  if (!["fifo", "unix", "tcp"].includes(end.kind)) fail("Unsupported", `Node has the media fifo, unix and tcp, not '${String(end.kind).slice(0, 40)}'`, "open");
  if (medium.role === "reader") await (end.kind === "fifo" ? listenFifo(end) : listenSocket(end));
  else if (medium.role === "writer") await connect(end, medium.timeout_s ?? 60);
  else fail("usage", "role is reader or writer", "open");
  last += 1;
  ENDS.set(last, end);
  return { handle: last, address: end.address };
}

function ownFolder(end) {
  if (end.address) return;
  end.folder = fs.mkdtempSync(path.join(os.tmpdir(), "end-"));
  end.address = path.join(end.folder, end.kind);
}

function listenFifo(end) {
  ownFolder(end);
  execFileSync("mkfifo", ["-m", "600", end.address], { stdio: "ignore" });
  // With a writing end of our own, which goes when the token has come, opening to read waits for nobody.
  end.own = fs.openSync(end.address, "r+");
  end.fd = fs.openSync(end.address, "r");
}

function listenSocket(end) {
  end.server = net.createServer({ allowHalfOpen: true });
  if (end.kind === "unix") ownFolder(end);
  const where = end.kind === "unix" ? { path: end.address } : split(end.address);
  return new Promise((resolve, reject) => {
    end.server.once("error", reject);
    end.server.listen(where, () => {
      if (end.kind === "tcp") end.address = `${where.host}:${end.server.address().port}`;
      resolve();
    });
  });
}

async function connect(end, seconds) {
  if (end.kind === "fifo") {
    if (!fs.statSync(end.address).isFIFO()) fail("open", "there is no fifo there", "open");
    end.opening = openFile(end.address, "w");
    end.line = new FifoLine(await within(end.opening, seconds, "nobody read from the fifo in time"));
  } else {
    const where = end.kind === "unix" ? { path: end.address } : split(end.address);
    const socket = net.connect({ ...where, allowHalfOpen: true });
    end.line = new SocketLine(socket);
    await within(new Promise((resolve, reject) => { socket.once("connect", resolve); socket.once("error", reject); }), seconds, "nobody listened in time");
  }
  end.inbox = new Inbox(end.line);
  await end.line.write(end.token);
}

// The reading end; waits for its writer and the token, `seconds` in all.
export async function accepted(end, seconds = 3600) {
  if (end.line) return;
  if (end.kind === "fifo") return acceptFifo(end, seconds);
  const proven = new Promise((resolve) => {
    const judge = async (socket) => {
      const line = new SocketLine(socket);
      const inbox = new Inbox(line);
      try {
        if ((await inbox.exactly(end.token.length)).equals(end.token)) return resolve({ line, inbox });
      } catch {
        // gone before the token
      }
      return line.close();
    };
    end.server.removeAllListeners("connection");
    end.server.on("connection", judge);
  });
  Object.assign(end, await within(proven, seconds, "nobody connected in time"));
}

async function acceptFifo(end, seconds) {
  const { fd } = end;
  const got = Buffer.alloc(end.token.length);
  for (let at = 0; at < got.length;) {
    const { bytesRead } = await within(readSome(fd, got, at, got.length - at, null), seconds, "nobody wrote to the fifo in time");
    if (!bytesRead) fail("ConnectionError", TOKEN_FAILED, "open");
    at += bytesRead;
  }
  if (!got.equals(end.token)) fail("ConnectionError", TOKEN_FAILED, "open");
  end.line = new FifoLine(fd);
  end.inbox = new Inbox(end.line);
  fs.closeSync(end.own);
  end.own = undefined;
}

// A fifo that nobody opened still has a thread waiting: opening its other end lets it go.
function release(end) {
  if (end.opening && !end.line) {
    end.opening.then((fd) => fs.closeSync(fd), () => {});
    fs.closeSync(fs.openSync(end.address, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK));
  }
  end.server?.close();
  if (end.own !== undefined) fs.closeSync(end.own); // whoever reads gets the end of the file
  if (end.fd !== undefined && !end.line) fs.closeSync(end.fd);
  end.line?.close();
  if (end.folder) fs.rmSync(end.folder, { recursive: true, force: true });
}

export function closeEnd(handle) {
  release(endOf(handle));
  ENDS.delete(handle);
}

export function releaseAll() {
  for (const end of ENDS.values()) {
    try {
      release(end);
    } catch {
      // the process ends anyway
    }
  }
}
