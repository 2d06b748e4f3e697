// The levels of a column of Arrow (its dictionary), and which of them are lost.

const keyOf = (level) => `${typeof level} ${typeof level === "object" ? JSON.stringify(level, plain) : level}`;
const plain = (_, value) => (typeof value === "bigint" ? String(value) : value);

// Levels in their order, over all chunks; those that a cell has; and whether the order means something.
export function levelsOf(vector) {
  const all = new Map();
  const used = new Set();
  for (const data of vector.data) {
    const levels = [...data.dictionary];
    const keys = levels.map(keyOf);
    for (const [at, key] of keys.entries()) if (levels[at] !== null && !all.has(key)) all.set(key, levels[at]);
    for (let n = 0; n < data.length; n++) if (data.getValid(n)) used.add(keys[Number(data.values[n])]);
  }
  return { all, used, ordered: vector.type.isOrdered };
}

const shown = ({ all, ordered }) => [...all.values()].map(String).join(ordered ? " < " : ", ").slice(0, 120);

// What became of the levels; nothing if they are as they were. Where cells alone came back, `back` is null: then those are
// lost that no cell has, and the order of ordered ones. That of others is in their type.
export function changedLevels(name, levels, back) {
  const [own, others] = [[...levels.all.keys()], back === null ? [] : [...back.all.keys()]];
  const gone = own.filter((key) => !(back === null ? levels.used : back.all).has(key)).length;
  const moved = own.length !== others.length || own.some((key, n) => key !== others[n]);
  const lost = gone > 0 || (levels.ordered && (moved || !back?.ordered));
  if (!lost && (back === null || (!moved && levels.ordered === back.ordered))) return [];
  const out = back === null ? "no levels" : shown(back);
  return [{ path: `${name} (levels)`, verdict: lost ? "lossy" : "type", count: Math.max(1, gone), in: shown(levels), out }];
}
