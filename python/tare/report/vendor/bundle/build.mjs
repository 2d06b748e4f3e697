// Bundles Vega without the parts that no spec in ../../vega uses. A spec that needs one of them must remove it
// from the lists below; the browser tests draw every chart.
import { readFile } from "node:fs/promises";
import { build } from "esbuild";

// Whole packages: colour spaces and schemes, delimited files, maps, dates, selections, distributions.
const ABSENT = [
  "d3-color", "d3-dsv", "d3-geo", "d3-scale-chromatic", "d3-time", "d3-time-format", "topojson-client",
  "vega-selections", "vega-statistics", "vega-time",
];
// Package -> transforms that are left out.
const TRANSFORMS = {
  "vega-transforms":
    "Bin CountPattern Cross Density DotBin Fold Generate Impute KDE Load Pivot Project Quantile Sample Sequence TimeUnit",
  "vega-encode": "LegendEntries LinkPath Pie Stack",
  "vega-view-transforms": "Identifier",
};
// Curves of d3-shape that no line follows.
const CURVES = [
  "Basis", "BasisClosed", "BasisOpen", "Bundle", "Cardinal", "CardinalClosed", "CardinalOpen", "CatmullRom",
  "CatmullRomClosed", "CatmullRomOpen", "LinearClosed", "Natural",
];

// Both fail where there is nothing to change: a new version of Vega may be written otherwise.
const replaced = (source, pattern, now) => {
  if (source.search(pattern) < 0) throw new Error(`not found: ${pattern}`);
  return source.replace(pattern, now);
};
const without = (source, ...patterns) => patterns.reduce((rest, pattern) => replaced(rest, pattern, ""), source);
const prototype = (name) => new RegExp(`^${name}\\.prototype = \\{.*?^\\};$`, "ms");

const EDITS = {
  "d3-shape": (source) => {
    source = without(source, ...["Radial", ...CURVES].map(prototype));
    source = replaced(source, /= \(function custom/g, "= /* @__PURE__ */ (function custom");
    return replaced(source, /= (?=curveRadial\(curveLinear\))/, "= /* @__PURE__ */ ");
  },
  "vega-expression": (source) =>
    replaced(source, /(RegexNonAsciiIdentifier\w+ = )new RegExp\('[^']*'\)/g, "$1/[^\\x00-\\x7f]/"),
  "vega-scale": (source) =>
    without(source, /(?<=^const discrete = \{).*?(?=^\};$)/ms, /(?<=^const continuous = \{).*?(?=^\};$)/ms),
  // Charts are SVG; the canvas only measures text.
  "vega-scenegraph": (source) => {
    source = without(source, /^modules\[Canvas\] = .*?^\};$/ms, /^modules\[Hybrid\] = .*?^\};$/ms);
    return replaced(source, new RegExp(`(?<=curve: )curve(${CURVES.join("|")})(?=,?$)`, "gm"), "curveLinear");
  },
  "vega-view": (source) => replaced(source, /CanvasHandler/g, "SVGHandler"),
};

const trimmed = (name, source) => {
  let rest = EDITS[name] ? EDITS[name](source) : source;
  for (const one of TRANSFORMS[name]?.split(" ") ?? []) {
    rest = rest.replace(new RegExp(`^${one}\\.Definition = \\{.*?^\\};$`, "ms"), "");
    rest = without(rest, new RegExp(`^inherits\\(${one}, .*?^\\}\\);$`, "ms"), new RegExp(`\\b${one} as \\w+,? ?(?=.*\\};$)`, "m"));
  }
  return rest;
};

// Stands for every export of an absent package: it can be called, constructed and read from, and is no number.
const NOTHING = `export const absent = /* @__PURE__ */ new Proxy(function () {}, {
  get: (_, name) => name === Symbol.toPrimitive ? () => "" : absent,
  apply: () => absent,
  construct: () => absent,
});`;

const trim = {
  name: "trim",
  setup(run) {
    run.onResolve({ filter: new RegExp(`^(${ABSENT.join("|")})$`) }, ({ path }) => ({ path, namespace: "absent" }));
    run.onResolve({ filter: /^nothing$/, namespace: "absent" }, ({ path }) => ({ path, namespace: "nothing" }));
    run.onLoad({ filter: /./, namespace: "nothing" }, () => ({ contents: NOTHING }));
    run.onLoad({ filter: /./, namespace: "absent" }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter((name) => name !== "default");
      return { contents: `import { absent } from "nothing";\n${names.map((name) => `export const ${name} = absent;`).join("\n")}` };
    });
    run.onLoad({ filter: /node_modules[/\\](vega-|d3-).*\.m?js$/ }, async ({ path }) => {
      const name = path.match(/.*node_modules[/\\]([^/\\]+)/)[1];
      return { contents: trimmed(name, await readFile(path, "utf8")) };
    });
  },
};

await build({
  entryPoints: ["entry.js"],
  bundle: true,
  format: "iife",
  globalName: "vega",
  charset: "ascii",
  legalComments: "none",
  logLevel: "warning",
  outfile: "bundle.js",
  plugins: [trim],
});
