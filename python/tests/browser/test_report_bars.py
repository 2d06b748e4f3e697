"""The ranked bars of the HTML report in a real headless Chromium, and the size of its text."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("reports in one browser")]


def test_a_column_sorts_the_bars(visit):
    """Up, then down, then as the use has them; the figures are ordered, and the head says how."""
    chrome = visit("table")
    table = next(e for e in chrome.find_elements("class name", "rank-table") if e.is_displayed())
    values = "return [...arguments[0].querySelectorAll('tbody tr')].map(e => (e.querySelector('data.size') || {value: null}).value).map(v => v && +v)"
    first = chrome.execute_script(values, table)
    head = table.find_elements("css selector", "thead th")[1]
    button = head.find_element("tag name", "button")
    chrome.execute_script("arguments[0].click()", button)
    up = chrome.execute_script(values, table)
    assert "ascending" == head.get_attribute("aria-sort")
    chrome.execute_script("arguments[0].click()", button)
    down = chrome.execute_script(values, table)
    assert "descending" == head.get_attribute("aria-sort")
    chrome.execute_script("arguments[0].click()", button)
    assert first == chrome.execute_script(values, table)
    known = [value for value in first if value is not None]
    assert sorted(known) == [value for value in up if value is not None] != known
    assert sorted(known, reverse=True) == [value for value in down if value is not None]


BARS = """
return [...document.querySelectorAll(".rank-table")].filter(e => e.getClientRects().length).flatMap(table =>
  ["size", "read", "write"].map(key => {
    const bars = [...table.querySelectorAll("data." + key)].map(e => [+e.value, e.querySelector(".b"), e.querySelector(".b i")]);
    return bars.map(([value, box, bar]) => [value, Math.round(box.getBoundingClientRect().left), Math.round(box.getBoundingClientRect().width),
      bar.getBoundingClientRect().width, bar.className]);
  }));
"""


@pytest.mark.parametrize("width", [390, 1000, 1600])
def test_bars_stand_in_columns_and_are_as_long_as_their_figures(visit, width):
    """All of a column begin at one place and have the same room; none is longer than that."""
    columns = [column for column in visit("table", width=width).execute_script(BARS) if column]
    assert 3 == len(columns)
    for column in columns:
        assert 1 == len({left for _, left, _, _, _ in column})
        assert 1 == len({room for _, _, room, _, _ in column})
        whole = [(value, long) for value, _, _, long, css in column if css != "cut"]
        most, longest = max(whole)
        for value, long in whole:
            assert long == pytest.approx(max(2.0, longest * value / most), abs=longest * 0.006 + 0.5)
        assert all(long <= room + 1 for _, _, room, long, _ in column)


SMALL = """
const bad = {}, walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let t = walk.nextNode(); t; t = walk.nextNode()) {
  const e = t.parentElement;
  if (!t.data.trim() || e.closest("script,style,[hidden],.unseen,.skip") || !e.getClientRects().length) continue;
  const size = parseFloat(getComputedStyle(e).fontSize);
  if (size < 14) bad[t.data.trim().slice(0, 40)] = size;
}
return bad;
"""


@pytest.mark.parametrize("width", [390, 1000, 1600])
def test_no_text_is_smaller_than_14_pixels(visit, width):
    """In the page and in its charts."""
    chrome = visit("table", width=width)
    chrome.execute_script("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    assert {} == chrome.execute_script(SMALL)


def test_the_recommended_codec_is_told_in_words_of_the_use_that_is_shown(visit):
    """The first row and no other says so, and another row once another use is chosen."""
    page = visit("table")
    told = """return [...document.querySelectorAll('.rank-table tbody tr')].filter((tr) => tr.offsetParent)
        .map((tr, i) => [i, tr.dataset.codec, [...tr.querySelectorAll('.pick')].some((e) => e.offsetParent)])
        .filter((row) => row[2])"""
    seen = set()
    for use in ("keep", "cache", "archive"):
        page.execute_script(f"document.querySelector('#p-{use}').click()")
        ((place, codec, _),) = page.execute_script(told)
        assert place == 0
        seen.add(codec)
    assert len(seen) > 1


# The cards as narrow as they get beside each other.
CARDS = """
for (const card of document.querySelectorAll(".card")) card.style.maxWidth = "290px";
for (const dl of document.querySelectorAll(".card dl"))
  ["~999.9 MB", "999 ms", "999 ms"].forEach((said, i) => { const e = dl.querySelectorAll("dd")[i]; if (e) e.textContent = said; });
return [...document.querySelectorAll(".card")].filter(e => e.getClientRects().length).map(card => [
  [...card.querySelectorAll("dl div")].map(e => Math.round(e.getBoundingClientRect().top)),
  [...card.querySelectorAll("dd")].map(e => Math.round(e.getBoundingClientRect().height)),
  card.scrollWidth - card.clientWidth]);
"""


@pytest.mark.parametrize("width", [390, 1000, 1600])
def test_the_figures_of_a_card_stand_in_one_row(visit, width):
    """Also the longest that there are: none stands alone below the others, or beyond the card."""
    cards = visit("table", width=width).execute_script(CARDS)
    assert cards
    for tops, heights, beyond in cards:
        assert 1 == len(set(tops)) == len(set(heights))
        assert heights[0] < 30
        assert beyond <= 0
