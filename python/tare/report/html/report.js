"use strict";
(() => {
// Data and specs come from one block of the page; nothing is fetched, nothing is evaluated.
const D = JSON.parse(document.getElementById("tare-data").textContent);
// Parts that the specs repeat are kept once; {"$": n} stands for them.
const whole = (x) => {
  if (Array.isArray(x)) return x.map(whole);
  if (!x || typeof x !== "object") return x;
  if (x.$ !== undefined) return whole(D.shared[x.$]);
  const out = {};
  for (const k of Object.keys(x)) out[k] = whole(x[k]);
  return out;
};
const $ = (q, at) => (at || document).querySelector(q);
const all = (q, at) => Array.from((at || document).querySelectorAll(q));
const make = (tag, css, said) => {
  const e = document.createElement(tag);
  if (css) e.className = css;
  if (said !== undefined) e.textContent = said;
  return e;
};
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

const column = (c) => {
  if (Array.isArray(c)) return c;
  const flat = c.i || c.r.flatMap((x, k) => new Array(c.t[k]).fill(x));
  return c.w ? flat.map((x) => D.words[x]) : c.d ? flat.map((x) => x / c.d) : flat;
};
const unpack = (p) => {
  const names = Object.keys(p.c), columns = names.map((k) => column(p.c[k])), out = new Array(p.n);
  for (let i = 0; i < p.n; i++) {
    const row = {};
    names.forEach((k, j) => { row[k] = columns[j][i]; });
    out[i] = row;
  }
  return out;
};
const data = {};
for (const k of Object.keys(D.data)) data[k] = unpack(D.data[k]);
const labels = {}, slots = {};
for (const c of data.codecs) { labels[c.codec] = c.label; slots[c.codec] = c.slot; }

// Numbers, written as on the rest of the page.
const sig = (x, n) => {
  if (!isFinite(x) || x === 0) return String(x);
  const d = Math.max(0, (n || 3) - 1 - Math.floor(Math.log10(Math.abs(x))));
  return x.toLocaleString("en-US", { minimumFractionDigits: d, maximumFractionDigits: d });
};
const time = (s) => {
  const ns = s * 1e9;
  return ns >= 999.5e6 ? sig(s) + " s" : ns >= 999.5e3 ? sig(ns / 1e6) + " ms" : ns >= 999.5 ? sig(ns / 1e3) + " \u00b5s" : sig(ns) + " ns";
};
const rate = (v) => v >= 999.5e6 ? sig(v / 1e9) + " GB/s" : sig(v / 1e6) + " MB/s";

const root = document.documentElement;
const dark = () => {
  const t = root.dataset.theme;
  return t === "dark" || (t === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
};
const state = { grid: 0, profile: "", v: 125e6, linked: true, reads: 1, moved: false };
const views = {};

// Heights follow the number of rows and the width, as the specs lay them out.
const rowsOf = (pick) => Math.max(1, data.rows.filter((r) => r.grid === state.grid && (!pick || pick(r))).length);
const heightOf = (name, w) => {
  const small = w < 620;
  if (name === "bandwidth") return small ? 430 : 520;
  if (name === "pareto") return small ? 720 : 400;
  if (name === "growth") {
    const n = new Set(data.growth.map((g) => g.panel)).size;
    const cols = Math.max(1, Math.min(n, w < 840 ? 1 : 2)), curves = {};
    data.ends.forEach((e) => { curves[e.panel] = (curves[e.panel] || 0) + 1; });
    return Math.ceil(n / cols) * Math.max(270, 82 + 17 * Math.max(0, ...Object.values(curves))) + 10;
  }
  if (name === "times") return 44 + rowsOf() * (small ? 40 : 28);
  if (name === "memory") return 54 + rowsOf((r) => r.mw !== null || r.mr !== null) * (small ? 40 : 28);
  if (name === "samples") {
    const has = new Set(data.samples.filter((s) => s.grid === state.grid).map((s) => s.codec));
    return 50 + Math.max(1, has.size) * (small ? 52 : 36);
  }
  return 60 + Math.max(42, data.aa.length * (data.aa.length > 24 ? 7 : 14));
};
const signalsOf = (name) => {
  const w = D.weights[state.profile] || { w: 1, r: 1, s: 0 }, ops = (D.grids[state.grid] || {}).ops;
  const out = { grid: state.grid, profile: state.profile, ops: ops };
  if (name === "bandwidth") {
    Object.assign(out, { 
      w: w.w, r: state.reads, n: w.n, s: w.s, v: state.v, rtt: state.linked ? w.rtt : 0, linked: state.linked,
      basis: w.basis, standard: !state.moved,
    });
  }
  return out;
};
const setAll = (view, given) => {
  for (const k of Object.keys(given)) {
    if (given[k] === undefined) continue;
    try { view.signal(k, given[k]); } catch (e) { /* not every chart has every signal */ }
  }
  return view;
};

const tip = make("div");
tip.id = "tip";
tip.hidden = true;
tip.setAttribute("role", "tooltip");
document.body.appendChild(tip);
const tooltip = (_handler, event, _item, value) => {
  if (!value || typeof value !== "object") { tip.hidden = true; return; }
  tip.replaceChildren();
  if (value.title) tip.appendChild(make("b", "", value.title));
  for (const k of Object.keys(value)) {
    if (k === "title" || value[k] === "" || value[k] === null) continue;
    const line = make("div");
    line.append(make("span", "", k), make("span", "", String(value[k])));
    tip.appendChild(line);
  }
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(6, Math.min(innerWidth - box.width - 6, event.clientX + 14)) + "px";
  tip.style.top = (event.clientY + box.height + 24 > innerHeight ? event.clientY - box.height - 12 : event.clientY + 16) + "px";
};

const draw = (name) => {
  const at = document.getElementById("c-" + name);
  if (!at) return Promise.resolve();
  if (views[name]) views[name].finalize();
  const width = Math.max(280, Math.floor(at.clientWidth));
  const spec = whole(D.charts[name]);
  spec.width = width;
  spec.height = heightOf(name, width);
  for (const d of spec.data) if (data[d.name] && !d.source) d.values = data[d.name];
  const given = signalsOf(name);
  for (const s of spec.signals) if (s.name in given && given[s.name] !== undefined && !s.update) s.value = given[s.name];
  const runtime = vega.parse(spec, D.themes[dark() ? "dark" : "light"], { ast: true });
  const view = new vega.View(runtime, {
    expr: vega.expressionInterpreter, renderer: "svg", container: at, hover: true, tooltip: tooltip,
    logLevel: vega.Warn, loader: { load: () => Promise.reject(new Error("offline")) },
  });
  views[name] = view;
  return view.runAsync().then(() => {
    const svg = $("svg", at);
    if (svg) svg.setAttribute("aria-hidden", "false");
    if (name === "bandwidth") rank();
  });
};
const names = Object.keys(D.charts);
const drawAll = () => Promise.all(names.map(draw));
const update = (some) => Promise.all((some || names).filter((n) => views[n]).map((n) => setAll(views[n], signalsOf(n)).runAsync())).then(rank);

// The ranking at the chosen bandwidth is the chart's own dataset `now`, laid out as a list.
const list = $("#rank");
const rank = () => {
  if (!list || !views.bandwidth) return;
  const now = views.bandwidth.data("now");
  const use = D.weights[state.profile] || {};
  const shown = now.filter((d) => d.fits).concat(now.filter((d) => !d.fits)).slice(0, 12);
  const most = Math.max(...shown.filter((d) => d.fits).map((d) => d.c), 0) || Math.max(...shown.map((d) => d.c), 1e-12);
  const before = {};
  all("li", list).forEach((li) => { before[li.dataset.codec] = li.offsetTop; });
  const kept = {};
  all("li", list).forEach((li) => { kept[li.dataset.codec] = li; });
  const order = shown.map((d) => {
    const li = kept[d.codec] || rankItem(d.codec);
    const parts = all(".bars i", li);
    [d.cw, d.cv, d.cr, d.cp, d.cs].forEach((c, i) => { parts[i].style.width = (100 * Math.min(1, d.c / most) * c / d.c) + "%"; });
    li.className = d.fits ? "" : "off";
    $(".cost", li).textContent = time(d.c) + (d.fits ? "" : d.ok ? "" : " lossy");
    $(".pick", li).hidden = d.codec !== use.codec;
    li.title = d.fits ? "" : d.ok ? "left out for " + state.profile : "loses data";
    return li;
  });
  list.replaceChildren(...order);
  if (!calm) {
    order.forEach((li) => {
      const was = before[li.dataset.codec];
      if (was === undefined || was === li.offsetTop) return;
      li.style.transition = "none";
      li.style.transform = "translateY(" + (was - li.offsetTop) + "px)";
      requestAnimationFrame(() => { li.style.transition = ""; li.style.transform = ""; });
    });
  }
  const fit = now.filter((d) => d.fits), say = $("#rank-say");
  const usual = !state.moved && (state.linked ? state.v === use.v : use.v === null);
  if (fit.length > 1) {
    const n = use.messages, each = n > 1 ? " for " + n.toLocaleString("en-US") + " messages, " + time(fit[0].c / n) + " each" : "";
    say.textContent = (state.linked ? "At " + rate(state.v) : "With no link") + ", " + labels[fit[0].codec] + " costs least: " + time(fit[0].c) + each +
      "; next " + labels[fit[1].codec] + ", " + time(fit[1].c) + "." + (usual && use.why && fit[0].codec !== use.codec ? " " + use.why + "." : "");
  } else {
    say.textContent = fit.length ? "Only " + labels[fit[0].codec] + " may be used for " + state.profile + "." : "No codec may be used for " + state.profile + ".";
  }
};
// An id may be broken between its parts and nowhere else.
const spelled = (e, id) => {
  id.split(/(?<=[:,])|(?=[+@])/).forEach((part, i) => {
    if (i) e.appendChild(make("wbr"));
    e.append(part);
  });
  return e;
};
const rankItem = (codec) => {
  const li = make("li");
  li.dataset.codec = codec;
  const name = spelled(make("span", "c title k" + slots[codec]), labels[codec]);
  name.append(" ", make("small", "pick", "recommended"));
  const bars = make("span", "bars");
  bars.setAttribute("aria-hidden", "true");
  ["p-w", "p-v", "p-r", "p-n", "p-s"].forEach((p) => bars.appendChild(make("i", p)));
  li.append(name, bars, make("span", "cost"));
  return li;
};

// Sliders: bandwidth over four decades and, at its end, no link; reads from 1 to 1,000. Both logarithmic.
const v = $("#v"), r = $("#r");
const NO_LINK = 401;
const vOf = (x) => Math.pow(10, 6 + x / 100), rOf = (x) => Math.max(1, Math.round(Math.pow(10, x / 100)));
const showSliders = () => {
  if (!v) return;
  const link = state.linked ? rate(state.v) : "no link", w = D.weights[state.profile] || {};
  $("#v-out").textContent = link;
  $("#r-out").textContent = String(state.reads);
  v.setAttribute("aria-valuetext", link);
  r.setAttribute("aria-valuetext", state.reads + " reads per write");
  all(".of-v").forEach((e) => { e.hidden = !state.linked; });
  all(".of-n").forEach((e) => { e.hidden = !w.n; });
  all(".of-s").forEach((e) => { e.hidden = !w.s; });
};
const useProfile = (name) => {
  const w = D.weights[name] || { r: 1, v: 125e6 };
  state.profile = name;
  state.reads = w.r;
  state.moved = false;
  state.linked = w.v !== null;
  if (state.linked) state.v = w.v;
  if (v) {
    v.value = state.linked ? Math.round((Math.log10(state.v) - 6) * 100) : NO_LINK;
    r.value = Math.round(Math.log10(state.reads) * 100);
  }
  showSliders();
  sortTables();
};
if (v) {
  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; update(["bandwidth"]); });
  };
  v.addEventListener("input", () => {
    state.linked = +v.value < NO_LINK;
    if (state.linked) state.v = vOf(+v.value);
    showSliders();
    soon();
  });
  r.addEventListener("input", () => { state.reads = rOf(+r.value); state.moved = true; showSliders(); soon(); });
  all(".sliders,.rank,.rank-legend").forEach((e) => { e.hidden = false; });
}

const placeOf = (tr) => {
  const own = (tr.dataset.of || "").split(",").find((x) => x.startsWith(state.profile + ":"));
  return own ? +own.split(":")[1] : 999;
};
// Tables follow the profile's order; without scripts they keep the headline's.
const sortTables = () => {
  all(".grid table tbody").forEach((body) => {
    const rows = all("tr", body), which = Object.keys(D.weights).indexOf(state.profile);
    const at = (tr) => +((tr.dataset.o || "").split(",")[which] || 999);
    body.append(...rows.sort((a, b) => at(a) - at(b)));
  });
  all(".rank-table").forEach((table) => {
    if ($("[aria-sort]", table)) return;
    const body = $("tbody", table), rows = all("tr", body);
    body.append(...rows.sort((a, b) => placeOf(a) - placeOf(b)));
  });
};
// Ranked bars: a column's head sorts by it, up, then down, then as the use has them. What has no figure stays last.
all(".rank-table").forEach((table) => {
  const body = $("tbody", table), heads = all("thead th", table);
  const value = (tr, i) => {
    const cell = tr.children[i];
    if (!i) return $(".title", cell).textContent.toLowerCase();
    const d = $("data", cell);
    return d ? +d.value : null;
  };
  heads.slice(0, -1).forEach((th, i) => {
    const button = make("button", "sort", th.textContent);
    button.type = "button";
    button.addEventListener("click", () => {
      const way = { none: "ascending", ascending: "descending", descending: "none" }[th.getAttribute("aria-sort") || "none"];
      heads.forEach((other) => { other.removeAttribute("aria-sort"); });
      if (way === "none") { sortTables(); return; }
      th.setAttribute("aria-sort", way);
      const sign = way === "ascending" ? 1 : -1;
      body.append(...all("tr", body).sort((a, b) => {
        const x = value(a, i), y = value(b, i);
        if (x === null || y === null) return (x === null) - (y === null);
        return (x > y ? 1 : x < y ? -1 : 0) * sign;
      }));
    });
    th.replaceChildren(button);
  });
});
const useGrid = (i) => {
  state.grid = i;
  all(".grid").forEach((e) => { e.hidden = +e.dataset.grid !== i; });
  const redraw = ["times", "memory", "samples"];
  return Promise.all(names.filter((n) => redraw.includes(n)).map(draw)).then(() => update(["pareto"]));
};

const chosen = $("input[name=profile]:checked");
all("input[name=profile]").forEach((e) => e.addEventListener("change", () => { useProfile(e.value); update(); }));
all("input[name=medium]").forEach((e) => e.addEventListener("change", () => useGrid(+e.value)));
const select = $("#medium");
if (select) select.addEventListener("change", () => useGrid(+select.value));
all(".media-switch,.theme").forEach((e) => { e.hidden = false; });
if (D.grids.length > 1) all(".grid").forEach((e) => { e.hidden = +e.dataset.grid !== 0; });

// Theme: the charts are drawn again with the other colours.
const theme = $("#theme");
theme.addEventListener("change", () => { root.dataset.theme = theme.value; drawAll(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (root.dataset.theme === "auto") drawAll(); });

// A row of a table lights up its codec in the charts.
all("tr[data-codec]").forEach((tr) => {
  const say = (codec) => names.filter((n) => views[n]).forEach((n) => {
    try { views[n].signal("hover", codec).runAsync(); } catch (e) { /* the chart has no codecs */ }
  });
  tr.addEventListener("pointerenter", () => say(tr.dataset.codec));
  tr.addEventListener("pointerleave", () => say(""));
});

// CSV of a chart's numbers, from the table on the page.
all(".numbers").forEach((box) => {
  const button = make("button", "csv", "Save as CSV");
  button.type = "button";
  button.addEventListener("click", () => {
    const quote = (s) => {
      // A leading sign would be run as a formula by spreadsheets.
      const safe = /^[=+\-@\t]/.test(s) && isNaN(+s.replace(/[ ,]/g, "")) ? "'" + s : s;
      return /[",\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
    };
    const lines = all("tr", box).map((tr) => all("th,td", tr).map((c) => quote(c.textContent.trim())).join(","));
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
    link.download = "tare-" + box.dataset.csv + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  box.appendChild(button);
});

// A probe's cell opens to input, bytes, output and a line that repeats it.
const panel = $("#cell");
const open = (set, p, c, verdict) => {
  const cell = set.cells[p][c], name = set.codecs[c], word = (i) => i === undefined || i < 0 ? "" : set.words[i];
  const [hex, out, error, hook, own] = cell.map(word), lines = [["verdict", verdict], ["input", word(set.in[p])]];
  if (hex) lines.push(["encoded bytes, hex", hex.replace(/([0-9a-f]{2})/g, "$1 ").trim()]);
  lines.push(error ? ["error", error] : ["output", out || word(set.in[p])]);
  if (hook) lines.push(["with the option", hook]);
  const again = (own || word(set.repro[p])).split("{codec}").join(name);
  if (again) lines.push(["repeat it", again]);
  panel.replaceChildren(make("h4", "", (labels[name] || name) + ": " + set.probes[p].replace(/_/g, " ")));
  const dl = make("dl");
  lines.forEach(([k, t]) => {
    const dd = make("dd");
    dd.appendChild(make("bdi", "", t));
    dl.append(make("dt", "", k), dd);
  });
  panel.appendChild(dl);
  panel.hidden = false;
  panel.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
};
const verdictOf = (td) => td.className === "na" ? "n/a" : td.className || "same";
D.cells.forEach((set, s) => {
  const table = document.getElementById("probes-" + s);
  if (!table) return;
  all("tbody tr", table).forEach((tr, p) => all("td", tr).forEach((td, c) => {
    if (!Array.isArray(set.cells[p][c])) return;
    const verdict = verdictOf(td), go = () => open(set, p, c, verdict);
    td.setAttribute("aria-label", (labels[set.codecs[c]] || set.codecs[c]) + ", " + set.probes[p].replace(/_/g, " ") + ": " + verdict);
    td.title = td.getAttribute("aria-label");
    td.setAttribute("role", "button");
    // One tab stop per table; arrows move inside it.
    td.tabIndex = p === 0 && c === 0 ? 0 : -1;
    td.addEventListener("click", go);
    td.addEventListener("keydown", (e) => {
      if (e.key === "Enter" || e.key === " ") { e.preventDefault(); go(); return; }
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[e.key];
      if (!step) return;
      const row = all("tbody tr", table)[p + step[0]], next = row && all("td", row)[c + step[1]];
      if (next) { e.preventDefault(); td.tabIndex = -1; next.tabIndex = 0; next.focus(); }
    });
  }));
});

let last = innerWidth;
let later = 0;
addEventListener("resize", () => {
  if (innerWidth === last) return;
  last = innerWidth;
  clearTimeout(later);
  later = setTimeout(drawAll, 150);
});

useProfile(chosen ? chosen.value : Object.keys(D.weights)[0]);
drawAll().then(() => { root.dataset.ready = "1"; });
window.tareReport = { views: views, state: state };
})();
