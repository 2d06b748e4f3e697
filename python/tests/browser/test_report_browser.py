"""The HTML report in a real headless Chromium, from disk, under its own policy."""

from __future__ import annotations

import re

import pytest
from support.chromium import resize
from support.synthetic_records import synthetic_record

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("reports in one browser")]


def slide(chrome, name, value):
    """Move a slider as a keyboard or a pointer would, and wait for the charts."""
    chrome.execute_async_script(
        """const [id, value, done] = arguments, e = document.getElementById(id);
        e.value = value; e.dispatchEvent(new Event("input", {bubbles: true}));
        requestAnimationFrame(() => requestAnimationFrame(() =>
          tareReport.views.bandwidth.runAsync().then(() => requestAnimationFrame(() => done()))));""",
        name,
        value,
    )


def ranking(chrome):
    """The codecs of the ranked list, best first."""
    return chrome.execute_script(
        "return [...document.querySelectorAll('#rank li')].map(e => e.dataset.codec)"
    )


def test_the_policy_is_in_force(visit):
    """Evaluating text and loading from elsewhere are refused by the browser itself."""
    chrome = visit("table")
    chrome.execute_async_script(
        "const s = document.createElement('script'); s.textContent = 'window.injected = 1'; document.body.append(s);"
        " setTimeout('window.evaluated = 1', 0); setTimeout(arguments[0], 50)"
    )
    assert [None, None] == chrome.execute_script("return [window.injected, window.evaluated]")
    assert "blocked" == chrome.execute_async_script(
        "const done = arguments[0]; fetch('https://example.org/').then(() => done('loaded'), () => done('blocked'))"
    )


def test_every_chart_is_drawn_as_svg(visit):
    """Each figure holds a picture with marks and described parts, in the text direction of the page."""
    chrome = visit("table")
    drawn = chrome.execute_script(
        "return Object.fromEntries([...document.querySelectorAll('.chart')].map(e => [e.dataset.chart,"
        " [e.querySelectorAll('svg path').length, e.querySelectorAll('svg text').length]]))"
    )
    assert {"bandwidth", "pareto", "growth", "times", "memory", "samples", "noise"} == set(drawn) | {"noise"}
    for paths, texts in drawn.values():
        assert paths >= 3
        assert texts >= 2


def test_the_bandwidth_slider_ranks_again(visit):
    """At 1 MB/s small wins, at 10 GB/s fast wins; list, sentence and chart follow the slider."""
    chrome = visit("table")
    slide(chrome, "v", 0)
    slow, said = ranking(chrome), chrome.find_element("id", "rank-say").text
    slide(chrome, "v", 400)
    fast = ranking(chrome)
    assert "parquet:pyarrow,compression=zstd,level=9" == slow[0]
    assert "arrow:pyarrow" == fast[0]
    assert said.startswith("At 1.00 MB/s, Parquet (zstd 9) costs least")
    assert 1e10 == pytest.approx(chrome.execute_script("return tareReport.views.bandwidth.signal('v')"))


def choose(chrome, profile):
    """Switch the profile as a user does, and wait for the charts."""
    chrome.find_element("css selector", f"label[for=p-{profile}]").click()
    chrome.execute_async_script("tareReport.views.bandwidth.runAsync().then(() => arguments[0]())")


def test_the_slider_stands_at_the_profiles_bandwidth(visit):
    """It starts there and follows the switch; the sentence, the strip's cursor and the cost are of it."""
    chrome = visit("table")
    assert "no link" == chrome.find_element("id", "v-out").text
    choose(chrome, "exchange")
    for profile, shown, place in (
        ("cache", "no link", "401"),
        ("archive", "200 MB/s", "230"),
        ("message", "125 MB/s", "210"),
    ):
        choose(chrome, profile)
        assert (shown, place) == (
            chrome.find_element("id", "v-out").text,
            chrome.find_element("id", "v").get_attribute("value"),
        )
        start = "With no link, " if shown == "no link" else f"At {shown}, "
        assert chrome.find_element("id", "rank-say").text.startswith(start)
        linked, here, pw = chrome.execute_script(
            "const view = tareReport.views.bandwidth;"
            " return ['linked', 'here', 'pw'].map(k => view.signal(k))"
        )
        assert linked == (shown != "no link")
        assert (here > pw) == (not linked)


def test_the_list_agrees_with_the_verdict(visit):
    """At a profile's own weights the listed costs are those of the record's verdict."""
    verdicts = synthetic_record("table", media=("memory", "file", "tcp"))["derived"]["profiles"]
    chrome = visit("table")
    for profile in ("cache", "archive", "message", "exchange"):
        choose(chrome, profile)
        agrees(chrome, verdicts[profile])


def agrees(chrome, verdict):
    """Check the listed costs of the chosen profile against its verdict."""
    now = chrome.execute_script(
        "return tareReport.views.bandwidth.data('now').filter(d => d.fits).map(d => [d.codec, d.c])"
    )
    listed = dict(now)
    assert set(verdict["cost_s"]) == set(listed)
    for codec, cost in listed.items():
        assert cost == pytest.approx(verdict["cost_s"][codec][0], rel=0.005)
    best = chrome.execute_script(
        "const view = tareReport.views.bandwidth, v = view.signal('v'); return view.signal('linked')"
        " ? view.data('parts').find(p => p.at <= v && v <= p.until).codec : view.data('local')[0].codec"
    )
    assert now[0][0] == best


def test_the_ranking_agrees_with_the_cost_model(visit):
    """The list is the order of w E + r (B / v + D) + s B, computed again here."""
    chrome = visit("table")
    for place in (60, 200, 330):
        slide(chrome, "v", place)
        now = chrome.execute_script(
            "const d = tareReport.views.bandwidth; return [d.data('now').map(x => ({...x})), d.signal('w'), d.signal('r'),"
            " d.signal('s'), d.signal('v'), d.signal('rtt')]"
        )
        rows, w, r, s, v, rtt = now
        expected = sorted(
            (row for row in rows if row["fits"]),
            key=lambda row: w * row["E"] + r * (row["B"] / v + rtt + row["D"]) + s * row["B"],
        )
        assert [row["codec"] for row in expected][:9] == ranking(chrome)[: len(expected)][:9]


def test_more_reads_move_the_strip(visit):
    """The strip of the cheapest codecs changes when reads per write do."""
    chrome = visit("table")
    parts = "return tareReport.views.bandwidth.data('parts').map(p => [p.codec, p.at])"
    few = chrome.execute_script(parts)
    slide(chrome, "r", 300)
    assert few != chrome.execute_script(parts)
    assert "1000" == chrome.find_element("id", "r-out").text


def test_sliders_and_switches_work_from_the_keyboard(visit):
    """Arrow keys move the bandwidth and choose the profile."""
    from selenium.webdriver.common.keys import Keys

    chrome = visit("table")
    before = chrome.find_element("id", "v-out").text
    chrome.find_element("id", "v").send_keys(Keys.ARROW_LEFT * 30)
    assert before != chrome.find_element("id", "v-out").text
    chosen = chrome.find_element("css selector", "input[name=profile]:checked")
    chosen.send_keys(Keys.ARROW_RIGHT)
    assert "archive" == chrome.find_element("css selector", "input[name=profile]:checked").get_attribute(
        "value"
    )


def test_the_profile_switch_changes_verdict_weights_and_order(visit):
    """Another use: its sentence is shown, its weights drive the chart, its order the table."""
    chrome = visit("table")
    chrome.find_element("css selector", "label[for=p-exchange]").click()
    chrome.execute_async_script("tareReport.views.bandwidth.runAsync().then(() => arguments[0]())")
    shown = [
        e.get_attribute("data-profile")
        for e in chrome.find_elements("class name", "verdict")
        if e.is_displayed()
    ]
    assert ["exchange"] == shown
    assert 3 == chrome.execute_script("return tareReport.views.bandwidth.signal('r')")
    places = chrome.execute_script(
        "return [...document.querySelectorAll('.u-exchange .rank-table tbody tr[data-of]')].map("
        "e => +e.dataset.of.split(',').find(x => x.startsWith('exchange:')).split(':')[1])"
    )
    assert 5 < len(places)
    assert sorted(places) == places
    (shown,) = [e for e in chrome.find_elements("class name", "ranked") if e.is_displayed()]
    assert "u-exchange" in shown.get_attribute("class")


def test_the_medium_switch_shows_that_medium(visit):
    """One table is shown, and the charts draw its rows."""
    chrome = visit("table")
    chrome.execute_script("document.querySelector('#m-2').click()")
    chrome.execute_async_script("setTimeout(arguments[0], 300)")
    shown = [
        e.get_attribute("data-grid") for e in chrome.find_elements("class name", "grid") if e.is_displayed()
    ]
    assert ["2"] == shown
    assert 2 == chrome.execute_script("return tareReport.views.times.signal('grid')")


def test_a_probe_opens_to_input_bytes_output_and_repro(visit):
    """A cell of the matrix shows what went in, the bytes, what came out, and the line that repeats it."""
    from selenium.webdriver.common.keys import Keys

    chrome = visit("table")
    cell = chrome.find_element("css selector", ".probes td.lossy")
    assert cell.get_attribute("aria-label").endswith(": lossy")
    chrome.execute_script("arguments[0].focus()", cell)
    cell.send_keys(Keys.ENTER)
    opened = chrome.find_element("id", "cell").text
    for part in (
        "verdict",
        "input",
        "9007199254740993",
        "encoded bytes",
        "cb 43 40",
        "output",
        "9007199254740992",
        "repeat it",
        "python -c",
    ):
        assert part in opened


def test_the_csv_button_saves_the_table(visit, tmp_path):
    """The button makes a file of the numbers under the chart."""
    chrome = visit("table")
    chrome.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    chrome.execute_script(
        "document.querySelector('#times details').open = true;"
        "document.querySelector('[data-csv=times] .csv').click()"
    )
    saved = tmp_path / "tare-times.csv"
    for _ in range(100):
        if saved.exists() and saved.stat().st_size:
            break
        chrome.execute_async_script("setTimeout(arguments[0], 50)")
    lines = saved.read_text("utf-8").splitlines()
    assert lines[0].startswith("codec,on,write")
    assert any(line.startswith("Parquet (snappy),") for line in lines)


@pytest.mark.parametrize("name", ["hostile", "bare"])
def test_without_scripts_verdict_and_tables_can_be_read(visit, name):
    """With scripts off the sentence, all tables and the fidelity matrix are there; dead controls are not."""
    chrome = visit(name, scripts=False)
    assert [True] == [
        e.is_displayed() for e in chrome.find_elements("css selector", ".hero h1") if e.is_displayed()
    ]
    for dead in ("sliders", "media-switch", "theme", "csv"):
        assert not [e for e in chrome.find_elements("class name", dead) if e.is_displayed()]
    if name == "bare":
        return
    tables = [
        e for e in chrome.find_elements("css selector", ".grid table, #fidelity table") if e.is_displayed()
    ]
    assert len(tables) >= 3
    assert "Use" in chrome.find_element("class name", "hero").text
    chrome.find_element("css selector", "label[for=p-archive]").click()
    shown = [
        e.get_attribute("data-profile")
        for e in chrome.find_elements("class name", "verdict")
        if e.is_displayed()
    ]
    assert ["archive"] == shown


def test_a_phone_without_scripts_never_scrolls_sideways(visit):
    """At 360 pixels the page is as wide as the screen; wide tables scroll in their own boxes."""
    sizes = visit("hostile", width=360, scripts=False).execute_cdp_cmd("Page.getLayoutMetrics", {})
    assert sizes["cssContentSize"]["width"] <= 360


BROKEN = """
const bad = [];
document.querySelectorAll(".c:not(.title), .id").forEach(e => {
  if (!e.getClientRects().length || e.closest(".tilt")) return;
  const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
  for (let t = walk.nextNode(); t; t = walk.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(t);
    if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1) bad.push(t.data);
  }
});
return bad;
"""


def test_reasons_are_read_on_a_phone_without_scrolling(visit):
    """The table of codecs without a figure is as wide as its box; no part of a codec's id stands on two lines."""
    chrome = visit("document", width=390)
    chrome.execute_script("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    assert [] == chrome.execute_script(BROKEN)
    boxes = chrome.execute_script(
        "return [...document.querySelectorAll('table.others')].filter(e => e.getClientRects().length)"
        ".map(e => [e.parentElement.scrollWidth, e.parentElement.clientWidth])"
    )
    assert boxes
    assert all(inside <= outside for inside, outside in boxes)


def test_hostile_text_is_inert(visit):
    """Nothing in a record is run, nothing becomes an element, and no direction mark reaches the page."""
    chrome = visit("hostile")
    chrome.execute_script(
        "document.querySelectorAll('details').forEach(e => { e.open = true; });"
        "document.querySelectorAll('.probes td[role=button]').forEach(e => e.click())"
    )
    assert chrome.execute_script("return window.hacked === undefined")
    assert 0 == chrome.execute_script("return document.images.length")
    assert [] == chrome.get_log("browser")
    body = chrome.execute_script("return document.body.textContent")
    assert not set("\x1b\u202e\u2028") & set(body.split("window.tareReport")[0])


CONTRAST = """
const lum = (c) => { const f = c.map(x => { x /= 255; return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
const rgb = (s) => { const m = s.match(/[\\d.]+/g).map(Number); return m.length === 3 ? [...m, 1] : m; };
const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3]));
const ground = (e) => { const stack = []; for (; e; e = e.parentElement) stack.push(rgb(getComputedStyle(e).backgroundColor));
  return stack.reverse().reduce((b, a) => over(a, b), [255, 255, 255]); };
const bad = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let t = walk.nextNode(); t; t = walk.nextNode()) {
  const e = t.parentElement, s = getComputedStyle(e);
  if (!t.data.trim() || e.closest("script,style,[hidden],.unseen,.skip") || !e.getClientRects().length) continue;
  if (s.visibility !== "visible") continue;
  const svg = e.closest("svg"), back = ground(svg ? svg.parentElement : e);
  let ink = svg ? s.fill : s.color;
  if (svg && (+s.opacity < 0.99 || +s.fillOpacity < 0.99 || e.closest("[opacity='0']"))) continue;
  if (!/^rgb/.test(ink)) continue;
  const ratio = ((a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05))(lum(over(rgb(ink), back)), lum(back));
  // Text in a coloured strip, and its halo, are drawn in the paper's colour on purpose.
  if (svg && ratio < 1.2) continue;
  if (ratio < 4.5) bad.push([t.data.trim().slice(0, 40), ink, back.join(), ratio.toFixed(2), e.className && String(e.className.baseVal ?? e.className)]);
}
return bad;
"""


def test_the_theme_follows_the_system_and_the_switch(visit):
    """Dark by the system's wish, light by the switch; the charts change with the page."""
    chrome = visit("table", dark=True)
    colour = "return getComputedStyle(document.body).backgroundColor"
    axis = "return getComputedStyle(document.querySelector('#c-times svg text')).fill"
    dark, dark_axis = chrome.execute_script(colour), chrome.execute_script(axis)
    chrome.find_element("css selector", "#theme option[value=light]").click()
    chrome.execute_async_script("setTimeout(arguments[0], 500)")
    assert ("rgb(21, 23, 28)", "rgb(252, 252, 250)") == (dark, chrome.execute_script(colour))
    assert dark_axis != chrome.execute_script(axis)


NAMES = """
const out = [], name = (e) => (e.getAttribute("aria-label") || e.title || (e.labels && [...e.labels].map(l => l.textContent).join(" "))
  || e.textContent || "").trim();
document.querySelectorAll("a,button,input,select,summary,[role=button],[role=region],[role=img],[tabindex='0']").forEach(e => {
  if (!e.closest("[hidden]") && !name(e)) out.push(e.outerHTML.slice(0, 80)); });
document.querySelectorAll("[role=img]").forEach(e => {
  const by = e.getAttribute("aria-describedby"); if (!by || !document.getElementById(by)) out.push("no description: " + e.id); });
document.querySelectorAll("table").forEach(t => {
  if (!t.caption || !t.caption.textContent.trim()) out.push("no caption: " + t.id);
  t.querySelectorAll("tbody tr").forEach(r => { if (!r.querySelector("th[scope=row]")) out.push("no row header"); });
  t.querySelectorAll("thead th").forEach(h => { if (h.scope !== "col") out.push("no column scope"); }); });
const ids = [...document.querySelectorAll("[id]")].filter(e => !e.closest("svg")).map(e => e.id);
ids.filter((x, i) => ids.indexOf(x) !== i).forEach(x => out.push("id twice: " + x));
if (!document.documentElement.lang) out.push("no lang");
if (document.querySelectorAll("main").length !== 1) out.push("not one main");
let last = 0; document.querySelectorAll("h1,h2,h3,h4").forEach(h => {
  if (!h.getClientRects().length) return;
  const n = +h.tagName[1]; if (last && n > last + 1) out.push("heading skips: " + h.textContent); last = n; });
return out;
"""


@pytest.mark.parametrize(
    ("name", "width", "dark"),
    [
        ("table", 1280, False),
        ("table", 360, True),
        ("document", 1280, True),
        ("document", 360, False),
        ("hostile", 360, False),
        ("bare", 360, False),
    ],
)
def test_a_page_is_sound(visit, name, width, dark):
    """Under its policy, with no network, the console stays empty; all can be read, in both themes, on a phone too.

    Every visible text, in the page and in the charts, has a contrast of at least 4.5 to 1. Controls, pictures,
    regions and tables are named; headings follow each other; ids are unique. No part of a codec's id stands on
    two lines. A page is as wide as the screen: wide tables scroll in their own boxes.
    """
    chrome = visit(name, width=width, dark=dark)
    assert [] == chrome.get_log("browser")
    loaded = "return performance.getEntriesByType('resource').map(e => e.name)"
    assert [] == chrome.execute_script(loaded)
    assert chrome.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]["width"] <= width
    if name != "hostile":
        assert [] == chrome.execute_script(CONTRAST)
        assert [] == chrome.execute_script(NAMES)
    chrome.execute_script("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    if width < 600:
        assert chrome.execute_script("return document.documentElement.scrollWidth") <= width
        resize(chrome, 390)
    if name != "hostile":
        assert [] == chrome.execute_script(BROKEN)


def test_motion_is_left_out_when_not_wanted(visit):
    """With reduced motion no element has a transition."""
    chrome = visit("table", reduced=True)
    slide(chrome, "v", 0)
    durations = chrome.execute_script(
        "return [...document.querySelectorAll('*')].map(e => getComputedStyle(e).transitionDuration)"
    )
    assert {"0s"} == set(durations)


def test_the_page_holds_no_absolute_path(pages):
    """A report can be passed on: no home folder, no user name."""
    for page in pages.glob("*.html"):
        text = re.sub(r"<script>.*</script>", "", page.read_text("utf-8"), flags=re.DOTALL)
        assert not re.search(r"(?:/home/|/root/|/Users/|C:\\\\)", text)


def test_the_codecs_have_the_width_of_the_page(visit):
    """At 1280 pixels the table of all codecs scrolls neither way in its box, nor does the page sideways."""
    chrome = visit("table", width=1280)
    boxes = chrome.execute_script(
        "return [...document.querySelectorAll('.grid .scroll')].filter(e => e.getClientRects().length)"
        ".map(e => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight])"
    )
    assert boxes
    assert all(beyond <= 0 for box in boxes for beyond in box), boxes
    assert chrome.execute_script("return document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("width", [1000, 900, 700])
def test_the_ranked_table_fits_a_narrower_window(visit, width):
    """Its last column says what a codec changes, and scroll bars may be hidden."""
    chrome = visit("table", width=width)
    boxes = chrome.execute_script(
        "return [...document.querySelectorAll('.ranked .scroll')].filter(e => e.getClientRects().length)"
        ".map(e => e.scrollWidth - e.clientWidth)"
    )
    assert boxes
    assert max(boxes) <= 0


def test_the_heads_of_the_probes_stand_over_their_columns(visit):
    """A head that is turned upright has its middle where the middle of its column is, to a few pixels."""
    chrome = visit("few", width=1280)
    apart = chrome.execute_script(
        """const middle = e => { const b = e.getBoundingClientRect(); return (b.left + b.right) / 2; };
        return [...document.querySelectorAll("table.probes")].flatMap(table => {
          const cells = table.querySelector("tbody tr").children;
          return [...table.querySelectorAll("thead th")].map((head, place) => {
            const name = head.querySelector(".tilt .c");
            const range = document.createRange();
            if (!name) return 0;
            range.selectNodeContents(name);
            return Math.abs(middle(range) - middle(cells[place]));
          });
        });"""
    )
    assert 4 == len(apart)
    assert 6 > max(apart), apart
