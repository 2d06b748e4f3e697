"""The page without a browser: policy, size, determinism, structure, charts' data and specs."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import html.parser
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.capabilities import need_module
from support.planted_codecs import Planted
from support.soak import scaled
from support.synthetic_records import DOCUMENT, TABLE, synthetic_record

from tare.codec.titles import title_of
from tare.measure.derive import derive
from tare.measure.verdict.text import sized
from tare.measure.verdict.units import duration
from tare.report import terminal
from tare.report.charts import CHARTS, chart_data, featured, link_of, spec, themes, verdict_of
from tare.report.digest import PROFILES, digest
from tare.report.html import render

VECTORS = Path(__file__).resolve().parents[3] / "vectors"


@pytest.fixture(scope="module")
def record():
    return synthetic_record("table", media=("memory", "file", "tcp"))


@pytest.fixture(scope="module")
def page(record):
    return render(record)


def text_of(part):
    """What a reader sees of a piece of HTML."""
    return re.sub(r"<[^>]+>", "", part)


def crowd(truths, n):
    """So many codecs, made from a few."""
    return tuple(truths) + tuple(
        replace(
            truths[i % 8],
            codec=f"{truths[i % 8].codec},variant={i}",
            encode_ms=truths[i % 8].encode_ms * (1 + i / 40),
        )
        for i in range(n - len(truths))
    )


def test_the_policy_allows_this_script_and_nothing_else(page):
    """The one hash of the policy is that of the one script; nothing may be loaded or evaluated."""
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1)
    script = re.search(r"<script>(.*)</script></body>", page, re.DOTALL).group(1)
    expected = "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert {
        "default-src": ["'none'"],
        "script-src": [f"'{expected}'"],
        "style-src": ["'unsafe-inline'"],
        "img-src": ["data:"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    } == {part.split()[0]: part.split()[1:] for part in policy.split("; ")}


def test_nothing_is_fetched(page):
    """No attribute of the page names another file."""
    head = page[: page.index("<script type")]
    assert [] == re.findall(r"""(?:src|href)=["']?(?!#)[^"'\s>]+""", head)
    assert "@import" not in head
    assert "url(" not in head


def test_the_same_record_gives_the_same_bytes(record, page):
    """No clock, no random number, no set order."""
    assert page == render(json.loads(json.dumps(record)))


@pytest.mark.parametrize(
    ("kind", "truths"), scaled([("document", DOCUMENT)], [("table", TABLE), ("document", DOCUMENT)])
)
def test_the_page_is_small(kind, truths):
    """A default run of 40 codecs: at most 0.68 MB, 170 kB compressed."""
    whole = render(synthetic_record(kind, planted=crowd(truths, 40))).encode()
    assert len(whole) <= 680_000
    assert len(gzip.compress(whole, 9)) <= 170_000


class Outline(html.parser.HTMLParser):
    """Ids, labels and tables of a page."""

    def __init__(self):
        super().__init__()
        self.ids, self.refs, self.tables, self.captions, self.inputs, self.labels = [], [], 0, 0, [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if "id" in given:
            self.ids.append(given["id"])
        for name in ("aria-labelledby", "aria-describedby", "for"):
            self.refs += (given.get(name) or "").split()
        self.refs += [given["href"][1:]] if (given.get("href") or "").startswith("#") else []
        self.tables += tag == "table"
        self.captions += tag == "caption"
        self.inputs += [given["id"]] if tag in ("input", "select") else []
        self.labels += [given["for"]] if tag == "label" else []


def test_ids_are_unique_and_every_reference_has_its_target(page):
    """Labels, descriptions and links point at something, once."""
    outline = Outline()
    outline.feed(page[: page.index('<script type="application/json"')])
    assert len(set(outline.ids)) == len(outline.ids)
    assert set() == set(outline.refs) - set(outline.ids)
    assert outline.tables == outline.captions
    assert set(outline.inputs) <= set(outline.labels)


def test_every_answer_is_in_the_html(record, page):
    """Without scripts the sentence of each use can be read, in human names."""
    heads = [html.unescape(head) for head in re.findall(r"<h1>(.*?)</h1>", page)]
    found = digest(record)
    answers = [verdict for verdict in (verdict_of(found, name) for name in PROFILES) if verdict.get("codec")]
    assert len(answers) == len(heads) >= 4
    for verdict, head in zip(answers, heads, strict=True):
        assert head.startswith((f"Use {title_of(verdict['codec'])}", "Keep the CSV you have"))


def test_only_uses_with_an_answer_have_a_button(record, page):
    """Reading parts was not measured, so it is not offered."""
    without = {name for name in PROFILES if not verdict_of(digest(record), name).get("codec")}
    assert "random" in without
    assert set(PROFILES) - without == set(re.findall(r'name="profile" id="p-(\w+)"', page))


def visible(page):
    """What is read of a page: no style, no script, no data."""
    body = page[page.index("<body") : page.index('<script type="application/json"')]
    return html.unescape(re.sub(r"<[^>]+>", " ", body))


PRIVATE = re.compile(
    r"P\(best\)|\btie\b|\btied\b|\bbase\b|\bk\b|\bk=|\bscreened\b|too noisy|time/base|0\.\d+x\b"
)


@pytest.mark.parametrize("kind", ["table", "document"])
@pytest.mark.parametrize("partial", [None, 0.2])
def test_no_private_word_is_on_the_page(kind, partial):
    """The page is for people who never heard of the statistics behind it."""
    shown = visible(render(synthetic_record(kind, media=("memory", "file", "tcp"), partial=partial)))
    assert [] == [shown[max(0, one.start() - 60) : one.end() + 20] for one in PRIVATE.finditer(shown)]


@pytest.mark.parametrize(
    "stored", sorted((VECTORS / "report").glob("*/record.tare.json")), ids=lambda path: path.parent.name
)
def test_no_private_word_is_on_the_page_of_a_stored_record(stored):
    """Also where a record's verdicts were written by an older version."""
    shown = visible(render(json.loads(stored.read_text("utf-8"))))
    assert [] == [shown[max(0, one.start() - 60) : one.end() + 20] for one in PRIVATE.finditer(shown)]


@pytest.mark.parametrize("partial", [None, 0.2])
def test_a_codec_has_one_figure_everywhere(partial):
    """The card, the bar and the terminal say the same size and times of the recommended codec."""
    record = synthetic_record("table", media=("file",), partial=partial)
    page = render(record)
    chosen = record["derived"]["headline"]["chosen"]
    size, write, read = sized(chosen), duration(chosen["write_s"]), duration(chosen["read_s"])
    own = page[page.index('class="verdict v-cache"') :]
    card = own[own.index('<article class="card first">') :].partition("</article>")[0]
    assert [size, write, read] == [
        one.replace(" \xb5s", " us") for one in re.findall(r"<dd>(.*?)</dd>", card)
    ]
    (row,) = re.findall(rf'<tr data-codec="{re.escape(chosen["codec"])}" data-of.*?(?=<tr|</tbody>)', page)[
        :1
    ]
    assert [size, read, write] == [
        text_of(one).replace(" \xb5s", " us") for one in re.findall(r"<data.*?</data>", row)
    ]
    line = next(line for line in terminal.render(record).splitlines() if line.startswith("  Use "))
    assert all(said in line for said in (size, f"write {write}", f"read {read}"))


def test_the_ranked_bars_hold_all_that_was_measured(record, page):
    """Each measured codec has a row with its human name, its id and what it changes; no other has one."""
    tables = re.findall(r"<table class=\"?rank-table\"?>.*?</table>", page)
    assert tables
    measured = {row.codec for grid in digest(record).grids for row in grid.rows if row.timed}
    named = set()
    for table in tables:
        rows = re.findall(r'<tr data-codec="(.*?)" data-of.*?(?=<tr|</tbody>)', table)
        assert len(rows) == len(set(rows))
        named |= set(map(html.unescape, rows))
    assert measured == named
    (lossy,) = re.findall(r'<tr data-codec="csv:pandas" data-of.*?(?=<tr|</tbody>)', tables[0])
    assert "changes &#x27;time_hour&#x27;" in text_of(lossy)
    assert ">CSV (pandas)<" in lossy


def once(record, codec, operation, *, rounds=(0,)):
    """The record with so few samples of one codec's operation, as a short run has them."""
    record = json.loads(json.dumps(record))
    for case in record["cases"]:
        if case["labels"]["codec"] != codec or not case.get("launches"):
            continue
        case["launches"] = case["launches"][:1]
        samples = case["launches"][0]["samples"]
        samples[operation] = {name: column[: len(rounds)] for name, column in samples[operation].items()}
        for columns in samples.values():
            columns["round"] = list(range(len(columns["round"])))
        samples[operation]["round"] = list(rounds)
    record["derived"] = derive(record)
    return record


def rows_of(page, use):
    """Codecs of the bars as a use has them, first to last, with their HTML."""
    found = re.findall(r'<tr data-codec="([^"]*)" data-of="([^"]*)"(.*?)(?=<tr|</tbody>)', page)
    placed = [(dict(one.split(":") for one in order.split(",")), name, row) for name, order, row in found]
    return [(name, row) for _, name, row in sorted((int(o[use]), n, r) for o, n, r in placed if use in o)]


def test_the_recommended_codec_leads_and_is_marked_in_words(record, page):
    """Of each use, also where another costs a little less."""
    found = digest(record)
    for use in re.findall(r'name="profile" id="p-(\w+)"', page):
        rows = rows_of(page, use)
        marked = [html.unescape(name) for name, row in rows if f'class="pick u-{use}">recommended<' in row]
        assert [verdict_of(found, use)["codec"]] == marked == [html.unescape(rows[0][0])]


def test_a_cheaper_codec_stands_below_the_recommended_one(record):
    """What costs a little less is named for less, and is not recommended."""
    record = json.loads(json.dumps(record))
    verdict = record["derived"]["profiles"]["keep"]
    other = next(name for name in verdict["cost_s"] if name != verdict["codec"])
    verdict["cost_s"][other] = [one / 2 for one in min(verdict["cost_s"].values())]
    assert [verdict["codec"], other] == [
        html.unescape(name) for name, _ in rows_of(render(record), "keep")[:2]
    ]


def test_what_was_timed_once_is_not_shown_as_precise():
    """No interval of a few samples: their number, and that they were first calls, which are slow."""
    record = synthetic_record("table", planted=TABLE[:4], growth=False, media=("memory",))
    codec = TABLE[1].codec
    page = render(once(record, codec, "encode"))
    figures = page.partition('<section id="figures"')[2].partition("</section>")[0]
    (row,) = re.findall(rf'<tr data-o=\S+ data-codec="{re.escape(codec)}".*?(?=<tr|</tbody>)', figures)
    assert "1 sample, first call" in text_of(row)
    assert "their number stands instead" in figures
    (bar,) = re.findall(rf'<tr data-codec="{re.escape(codec)}" data-of.*?(?=<tr|</tbody>)', page)[:1]
    assert ["first call"] == re.findall(r"<data class=write.*?<small>(.*?)</small></data>", bar)
    assert "first call" not in render(once(record, codec, "encode", rounds=(0, 1)))
    (drawn,) = [
        one
        for one in chart_data(digest(once(record, codec, "encode")))["rows"]
        if one["codec"] == codec and one["grid"] == 0
    ]
    assert (drawn["wl"], drawn["wh"]) == (None, None)


def test_signs_are_the_same_all_over_the_page(record, page):
    """Microseconds and multiplication have their signs, in the charts too."""
    assert [] == re.findall(r".{40}\d us\b", visible(page))
    assert [] == re.findall(r".{40}\d ?x (?:\d|smaller|faster)", visible(page))
    assert [] == [name for name in CHARTS if re.search(r"' (?:us|x)'", json.dumps(spec(name)))]


def test_codecs_that_gave_back_the_same_share_a_row(page):
    """One row for all that kept every column, one for each way to change them."""
    own = re.search(r"<table class=own>.*?</table>", page).group()
    rows = [row.partition("<td")[2] for row in own.split("<tr>")[2:]]
    assert len(set(rows)) == len(rows) < len(TABLE)
    assert all(html.escape(title_of(one.codec)) in own for one in TABLE if one.status == "ok")


def test_the_longest_bar_leaves_room_for_the_others():
    """A codec that is hundreds of times slower is cut, and marked as such."""
    slow = replace(TABLE[0], codec="yaml:x", encode_ms=50_000, decode_ms=50_000)
    page = render(synthetic_record("table", planted=(*TABLE[:4], slow), growth=False, media=("file",)))
    (row,) = re.findall(r'<tr data-codec="yaml:x" data-of.*?(?=<tr|</tbody>)', page)
    assert 2 == row.count('<i class=cut style="width:100%">')


def test_the_host_is_not_on_the_page(record):
    """A report is passed on; whose machine it was is nobody's business."""
    record = {**record, "machine": {**record["machine"], "host": "3ca30cbe896a5048"}}
    assert "3ca30cbe896a5048" not in render(record)


def over_a_connection(record):
    """A record whose answers are of routes over TCP."""
    record = json.loads(json.dumps(record))
    for found in record["derived"]["profiles"].values():
        if found.get("route"):
            found["route"] = f"{found['codec']}@tcp"
    return record


def test_the_commands_have_the_users_own_path(record):
    """As typed on the command line, and the name of the data in a report of a stored record."""
    record = over_a_connection(record)
    page = html.unescape(render(record, path="in/my orders.csv"))
    assert "tare convert 'in/my orders.csv' " in page
    assert 'data = read("in/my orders.csv")' in page
    assert 'data = read("flights.csv")' in html.unescape(render(record))
    assert "/home/somebody" not in render(record, path="/home/somebody/orders.csv")


def test_every_chart_has_its_numbers_and_a_description(page):
    """Each chart is described in words and has a table."""
    for chart in CHARTS:
        assert f'id="d-{chart}"' in page
        assert f'data-csv="{chart}"' in page


def test_a_codec_keeps_its_colour(record):
    """One slot per codec in all charts."""
    data = chart_data(digest(record))
    seen = {}
    for rows in data.values():
        for row in rows:
            if "codec" in row and "slot" in row:
                assert seen.setdefault(row["codec"], row["slot"]) == row["slot"]
    assert len(featured(digest(record))) <= len(themes()["light"]["range"]["codec"]) - 1


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("theme", "paper"), [("light", "#fcfcfa"), ("dark", "#15171c")])
def test_every_colour_of_the_charts_can_be_read(theme, paper):
    """Contrast of text and codec colours on the page is at least 4.5 to 1."""
    config = themes()[theme]
    ink = config["range"]["ink"]
    for colour in [*config["range"]["codec"], ink[0], ink[1], ink[4], config["axis"]["labelColor"]]:
        a, b = sorted((luminance(colour), luminance(paper)))
        assert (b + 0.05) / (a + 0.05) >= 4.5, colour


def test_specs_name_only_data_that_is_made(record):
    """Every dataset without a source is one of those that the page carries."""
    data = chart_data(digest(record))
    for chart in CHARTS:
        named = {entry["name"] for entry in spec(chart)["data"] if "source" not in entry}
        assert set() == named - set(data), chart


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_charts_are_exported(record, tmp_path, theme):
    """vl-convert draws every spec of the page; codecs are named in the pictures."""
    need_module("vl_convert")
    from tare.report.images import export

    written = export(record, tmp_path, kind="svg", theme=theme)
    assert [f"{name}.svg" for name in CHARTS] == [path.name for path in written]
    assert "Arrow / Feather, uncompressed" in (tmp_path / "bandwidth.svg").read_text()


def test_a_missing_exporter_says_what_to_install(record, tmp_path, monkeypatch):
    """Without vl-convert the error has the install line."""
    import sys

    from tare.errors import MissingLibrary
    from tare.report.images import export

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingLibrary, match="pip install vl-convert-python"):
        export(record, tmp_path)


TINY = (
    Planted("parquet:pyarrow", 0.30, 0.20, 2e-5),
    Planted("arrow:pyarrow", 0.10, 0.10, 1e-5),
    Planted("pickle", 0.05, 0.05, 5e-6, flags={"executes_code": True}),
)


def test_tiny_data_has_no_copies():
    """Beside a few hundred bytes a peak is no number of copies; the page says so instead."""
    page = render(synthetic_record("table", planted=TINY, growth=False))
    numbers = re.search(r'<div class="numbers" data-csv="memory">.*?</table>', page).group()
    assert 2 * len(TINY) * 2 == numbers.count("too small to tell")


def test_codecs_without_a_result_share_their_reason():
    """Codecs that failed for one reason share a row, folded; one that was tried briefly is among the bars, marked."""
    failed = [replace(TABLE[0], codec=f"yaml:{name}", status="timeout", reason="too slow") for name in "ab"]
    beaten = replace(TABLE[0], codec="csv:x", status="screened", reason="beaten")
    page = render(synthetic_record("table", planted=(*TABLE[:3], *failed, beaten), growth=False))
    (rest,) = re.findall(r'<details class="rest">.*?</details>', page)
    row, *_ = [text_of("<tr" + row.replace("<t", " <t")).split() for row in rest.split("<tr")[2:]]
    assert ["YAML", "(a)", "YAML", "(b)", "timeout", "too", "slow"] == row
    (guess,) = set(re.findall(r'<tr data-codec="csv:x" class=guessed>.*?(?=<tr|</tbody>)', page))
    assert {"predicted", "about", "part"} <= set(text_of(guess.replace("<", " <")).split())
    assert 'title="beaten"' in guess


def test_only_sections_of_the_page_are_linked():
    """An empty record has no growth, and no link to it."""
    page = render({"tare_record": 1, "cases": [], "derived": {}})
    assert 'href="#growth"' not in page
    assert 'href="#codecs"' in page


def test_weights_of_the_charts_are_those_of_the_verdicts(record):
    """The record's own link and round trip, and no link where the file itself was measured."""
    found = digest(record)
    assert found.weights("message") == record["derived"]["profiles"]["message"]["weights"]
    assert found.weights("cache")["v"] is None
    assert link_of(found, "exchange")["v"] == 12.5e6


def test_a_link_that_was_asked_for_reaches_the_charts():
    """The bandwidth of ``--link`` is that of the message profile."""
    record = synthetic_record("document", derived=False)
    record.setdefault("settings", {})["link"] = "100Mbit,20ms"
    record["derived"] = derive(record)
    found = digest(record)
    assert (found.weights("message")["v"], found.weights("message")["rtt"]) == (12.5e6, 0.02)
    assert any(mark["v"] == 12.5e6 and "message" in mark["name"] for mark in chart_data(found)["marks"])


def test_old_records_have_the_usual_weights():
    """A record whose verdicts name no weights is drawn with those of the profile's name."""
    found = digest({"cases": [], "derived": {"profiles": {"message": {}}}})
    assert {"w": 1.0, "r": 1.0, "n": 0.0, "v": 125e6, "rtt": 0.3e-3, "s": 0.0} == found.weights("message")


def test_the_probe_matrix_marks_what_is_recommended():
    """A codec with a compressor is shown by the column of the codec without it, and the page says why."""
    shown = render(synthetic_record("document", media=("memory",)))
    part = shown.partition('<section id="fidelity"')[2].partition("</section>")[0]
    assert "JSON (orjson) + zstd is the column JSON (orjson)." in text_of(part)
    heads = [text_of(head) for head in re.findall(r"<th[^>]*tilted[^>]*>(.*?)(?=<th|</tr>|</thead>)", part)]
    marked = [head.removesuffix(" \u2605") for head in heads if head.endswith("\u2605")]
    assert "JSON (orjson)" in marked
    told = re.search(r"recommended: (.*?)\.</p>", part)
    assert re.search(r"JSON \(orjson\) for [a-z, ]*message", text_of(told.group(1)))
    assert {one.split(" for ")[0] for one in text_of(told.group(1)).split("; ")} >= set(marked)


def test_figures_of_messages_say_of_how_many_they_are():
    """Cards and the ranked table are of one message; what is made of the samples is of all of them together."""
    record = synthetic_record("document", media=("memory",), growth=False)
    for case in record["cases"]:
        case["labels"]["grain"], case["items"] = "each", 22_801
    verdict = record["derived"]["profiles"]["message"]
    verdict["messages"] = 40_000
    record["derived"]["headline"] = verdict
    record["derived"]["headline_profile"] = "message"
    page = render(record, profile="message")
    answer = page.partition('data-profile="message"')[2].partition('data-profile="')[0]
    assert "Figures are of one message, the mean of 40,000." in answer
    assert "tare convert" not in answer
    for name in ("bandwidth", "pareto", "times", "figures"):
        section = page.partition(f'<section id="{name}"')[2].partition("</section>")[0]
        assert "igures are of 22,801 messages together, each encoded on its own, not of one." in section
    block = json.loads(page.partition('id="tare-data"')[2].partition(">")[2].partition("</script>")[0])
    assert block["weights"]["message"]["messages"] == 22_801
    assert "messages together" not in render(synthetic_record("document"))
