// Packages of npm, looked for in the folders that the parent names, in their order; a copy of this worker that was
// started by a command of its own looks where the parent's install lines put them. Nothing is installed here, and
// nothing is loaded before a codec is prepared: what is there is read from package.json.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { fail } from "./failure.mjs";

const DATA = process.env.XDG_DATA_HOME || path.join(os.homedir(), ".local", "share");
const OWN = process.env.TARE_NODE_MODULES || path.join(DATA, "tare", "node", "node_modules");
const FOLDERS = process.argv.length > 2 ? process.argv.slice(2) : [OWN];
const CONDITIONS = new Set(["node", "import", "default"]);
const described = new Map();

// Folder and description of a package; undefined if it is not there.
function found(name) {
  if (!described.has(name)) {
    described.set(name, undefined);
    for (const folder of FOLDERS) {
      try {
        const about = JSON.parse(fs.readFileSync(path.join(folder, name, "package.json"), "utf8"));
        described.set(name, { folder: path.join(folder, name), about });
        break;
      } catch {
        // not in this folder
      }
    }
  }
  return described.get(name);
}

export const installed = (name, file = "package.json") => {
  const one = found(name);
  return one !== undefined && fs.existsSync(path.join(one.folder, file));
};

export const versionOf = (name) => String(found(name)?.about.version ?? "");

export const installLine = (names) => `npm install --prefix '${FOLDERS.at(-1).replace(/[/\\]node_modules$/, "")}' ${names.join(" ")}`;

function entry(exported) {
  if (typeof exported === "string") return exported;
  for (const [condition, inner] of Object.entries(exported ?? {})) {
    if (CONDITIONS.has(condition)) {
      const one = entry(inner);
      if (one) return one;
    }
  }
  return undefined;
}

// The package, loaded; of one in the old style, what it exports.
export async function load(name) {
  const one = found(name);
  if (!one) fail("MissingPackage", `Node has no package ${name}: ${installLine([name])}`, "load");
  const { exports: exported, main } = one.about;
  const wanted = exported?.["."] ?? (typeof exported === "object" && Object.keys(exported).some((key) => key.startsWith(".")) ? undefined : exported);
  let file = path.join(one.folder, entry(wanted) ?? main ?? "index.js");
  if (!fs.existsSync(file)) file = `${file}.js`;
  else if (fs.statSync(file).isDirectory()) file = path.join(file, "index.js");
  const made = await import(pathToFileURL(file).href);
  const old = one.about.type !== "module" && !file.endsWith(".mjs");
  return old && made.default !== undefined ? made.default : made;
}
