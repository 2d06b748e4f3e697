"""The page without a browser: policy, size, determinism, structure, charts' data and specs."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html.parser
import json
import re
from dataclasses import replace

import pytest
from conftest import need
from simulate import DOCUMENT, TABLE, synthetic_record

from tare.report.charts import CHARTS, chart_data, featured, spec, themes
from tare.report.digest import digest
from tare.report.html import render


@pytest.fixture(scope="module")
def record():
    return synthetic_record("table", media=("memory", "file", "tcp"))


@pytest.fixture(scope="module")
def page(record):
    return render(record)


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


@pytest.mark.parametrize(("kind", "truths"), [("table", TABLE), ("document", DOCUMENT)])
@pytest.mark.parametrize("n", [18, 40])
def test_the_page_is_small(kind, truths, n):
    """A default run of 18 or of 40 codecs: at most 0.75 MB, 220 kB compressed."""
    whole = render(synthetic_record(kind, planted=crowd(truths, n))).encode()
    assert len(whole) <= 750_000
    assert len(gzip.compress(whole, 9)) <= 220_000


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


def test_every_verdict_is_in_the_html(record, page):
    """Without scripts the sentence of each profile can be read."""
    for verdict in record["derived"]["profiles"].values():
        if verdict["route"]:
            assert f'<code class="route">{verdict["route"]}</code>' in page


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


@pytest.mark.parametrize("chart", list(CHARTS))
def test_specs_name_only_data_that_is_made(record, chart):
    """Every dataset without a source is one of those that the page carries."""
    data = chart_data(digest(record))
    assert set() == {entry["name"] for entry in spec(chart)["data"] if "source" not in entry} - set(data)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_charts_are_exported(record, tmp_path, theme):
    """vl-convert draws every spec of the page; codecs are named in the pictures."""
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        need(False, "vl-convert-python is not installed: pip install 'tare[png]'")
    from tare.report.images import export

    written = export(record, tmp_path, kind="svg", theme=theme)
    assert [f"{name}.svg" for name in CHARTS] == [path.name for path in written]
    assert "parquet:pyarrow" in (tmp_path / "bandwidth.svg").read_text()


def test_a_missing_exporter_says_what_to_install(record, tmp_path, monkeypatch):
    """Without vl-convert the error has the install line."""
    import sys

    from tare.errors import MissingLibrary
    from tare.report.images import export

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingLibrary, match=r"pip install 'tare\[png\]'"):
        export(record, tmp_path)
