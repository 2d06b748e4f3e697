// Errors as the protocol has them: type, message, phase.

const MESSAGE_BYTES = 2000;

export class Failure extends Error {
  constructor(type, message, phase = "protocol") {
    super(message);
    this.type = type;
    this.phase = phase;
  }
}

export function fail(type, message, phase = "protocol") {
  throw new Failure(type, message, phase);
}

function named(error, phase) {
  if (error instanceof Failure) return error;
  const text = error instanceof Error ? error.message : String(error);
  const name = error?.constructor?.name ?? "Error";
  const memory = /Array buffer allocation failed|Invalid (string|array buffer) length|larger than .* bytes|ENOMEM/;
  const type = memory.test(text) || error?.code === "ERR_BUFFER_TOO_LARGE" ? "memory"
    : phase === "encode" ? "refused" : name;
  return new Failure(type, `${name}: ${text}`, phase);
}

// Whatever goes wrong inside is an error of that phase.
export function inPhase(phase, work) {
  try {
    const made = work();
    return made instanceof Promise ? made.catch((error) => { throw named(error, phase); }) : made;
  } catch (error) {
    throw named(error, phase);
  }
}

export function cut(text) {
  const bytes = Buffer.from(String(text));
  if (bytes.length <= MESSAGE_BYTES) return bytes.toString();
  return `${bytes.subarray(0, MESSAGE_BYTES).toString().replace(/\ufffd+$/u, "")}...`;
}

export function told(error) {
  const one = named(error, "protocol");
  return { type: one.type, message: cut(one.message), phase: one.phase };
}
