"""Long lists of JSON, and lines, opened in stretches spread over the file."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest

import tare
from tare import measure
from tare.dataset import open_dataset
from tare.datasets import documents, stretches
from tare.datasets.jsonscan import outside_strings
from tare.measure.environment import limits

ITEMS = 4000


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file is spread too."""
    monkeypatch.setattr(stretches, "_LEAST_BYTES", 1024)
    monkeypatch.setattr(documents, "_PROBE_BYTES", 16 << 10)


def record(k: int, text: str = "t") -> dict[str, Any]:
    return {"id": k, "name": f"{text}{k}", "lines": [{"id": k, "n": [k, {"x": "}],{"}]}], "ok": None}


def opened(path: Path, share: float = 0.25) -> Any:
    whole = open_dataset(path)
    return whole, open_dataset(path, enough_bytes=round(whole.bytes_memory * share))


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("text", ["t", '",{"', '\\"\\', "}],[{", "1,2", "\u00e9\n"])
def test_a_part_is_items_from_all_over_the_list(tmp_path, text, indent):
    """Whole items in their order, in eight stretches; brackets, quotes and commas within texts end none."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps([record(k, text) for k in range(ITEMS)], indent=indent))
    whole, part = opened(path)
    assert part.partial["rule"] == "blocks of items"
    assert part.partial["blocks"] == 8
    assert part.partial["share"] == pytest.approx(0.25, rel=0.25)
    assert part.partial["rows_total"] == pytest.approx(ITEMS, rel=0.05)
    places = [item["id"] for item in part.value]
    assert part.value == [whole.value[place] for place in places]
    assert places == sorted(set(places))
    assert sum(b - a > 1 for a, b in itertools.pairwise(places)) == 7
    assert places[0] == 0
    assert places[-1] > 0.87 * ITEMS


@pytest.mark.parametrize(
    "item",
    [
        lambda k: k,
        lambda k: f"{k}",
        lambda k: [k, [k, 1.5e3]],
        lambda k: f"a{k}",
        lambda k: k % 3 == 0 or None,
    ],
    ids=["numbers", "digits in quotes", "lists", "texts", "words"],
)
def test_items_need_be_no_objects(tmp_path, item):
    """Numbers, texts and lists, which have no names to know them by."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps([item(k) for k in range(40 * ITEMS)]))
    whole, part = opened(path)
    assert part.partial["rule"] == "blocks of items"
    assert len(part.value) / len(whole.value) == pytest.approx(part.partial["share"], rel=0.1)
    assert set(map(str, part.value)) <= set(map(str, whole.value))


def test_the_long_list_of_an_object_is_spread(tmp_path):
    """GeoJSON: what stands before the features stays, and they are from all over the file."""
    path = tmp_path / "x.json"
    features = [record(k) for k in range(ITEMS)]
    path.write_text(json.dumps({"type": "FeatureCollection", "crs": {"a": [1, [2]]}, "features": features}))
    whole, part = opened(path)
    assert part.partial["rule"] == "blocks of items"
    assert part.partial["rows_total"] == 1
    assert list(part.value) == list(whole.value)
    assert part.value["crs"] == {"a": [1, [2]]}
    places = [item["id"] for item in part.value["features"]]
    assert part.value["features"] == [features[place] for place in places]
    assert places[-1] > 0.87 * ITEMS


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_lines_are_spread(tmp_path, end):
    """Whole lines from all over the file; blank ones are passed over."""
    path = tmp_path / "x.ndjson"
    path.write_bytes("".join(json.dumps(record(k)) + end for k in range(ITEMS)).encode())
    whole, part = opened(path)
    places = [item["id"] for item in part.value]
    assert part.partial["rule"] == "blocks of items"
    assert part.value == [whole.value[place] for place in places]
    assert (places[0], places[-1] > 0.87 * ITEMS) == (0, True)


LATER = [{"other": k, "names": [k]} for k in range(ITEMS)]


@pytest.mark.parametrize(
    "value",
    [
        {"users": [record(k) for k in range(ITEMS)], "orders": LATER},
        {str(k): record(k) for k in range(ITEMS)},
        [record(0), {"inner": LATER}, {"inner": LATER}],
        [*(record(k) for k in range(ITEMS)), {"inner": LATER, "id": 1}],
        {"a": [[record(k) for k in range(ITEMS // 2)], [record(k) for k in range(ITEMS // 2)]]},
    ],
    ids=["two lists", "a map", "few long items", "one long item", "a list of lists"],
)
def test_what_is_not_one_list_of_like_items_is_read_whole(tmp_path, value):
    """Items of another list would be taken for those of the first."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value))
    whole, part = opened(path)
    assert part.partial is None
    assert part.value == whole.value


def test_a_compressed_file_and_nearly_all_of_one_are_read_whole(tmp_path):
    """Compressed text has one beginning; where most of it suffices, all is read."""
    text = json.dumps([record(k) for k in range(ITEMS)]).encode()
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(text))
    (tmp_path / "x.json").write_bytes(text)
    assert opened(tmp_path / "x.json.gz")[1].partial is None
    assert opened(tmp_path / "x.json", 0.9)[1].partial is None
    utf16 = tmp_path / "y.json"
    utf16.write_text(text.decode(), "utf-16")
    assert opened(utf16)[1].partial is None


def test_a_fault_is_told_by_its_place_in_the_file(tmp_path):
    """What is malformed within a stretch is read from the beginning, which names the byte."""
    text = json.dumps([record(k) for k in range(ITEMS)])
    at = text.index('"ok": null', len(text) // 2 + 1500)
    path = tmp_path / "x.json"
    path.write_text(text[:at] + '"ok": nuli' + text[at + 10 :])
    with pytest.raises(documents.Malformed) as caught:
        open_dataset(path, enough_bytes=len(text))
    assert at <= caught.value.offset <= at + 10


def test_more_than_memory_holds_is_spread_too(tmp_path):
    """A bound on memory loads items from all over the file."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps([record(k) for k in range(ITEMS)]))
    bound = open_dataset(path).bytes_memory // 4
    part = open_dataset(path, max_bytes=bound)
    assert part.partial["rule"] == "blocks of items"
    assert bound / 2 < part.bytes_memory < bound * 1.35


def test_a_run_opens_blocks_and_tells_figures_of_the_whole(tmp_path, monkeypatch):
    """A quarter of the lines is opened: the size and the number of messages are those of all of them."""
    path = tmp_path / "x.ndjson"
    path.write_text("".join(json.dumps(record(k)) + "\n" for k in range(ITEMS)))
    lines = open_dataset(path)
    monkeypatch.setattr(limits, "_OPENED_S", 1.0)
    monkeypatch.setattr(limits, "_TEXT_BYTES_S", lines.bytes_memory / 4 / 8)
    result = measure.run(path, time_s=8, codecs=("json:orjson", "json:stdlib"))
    assert result.record["dataset"]["partial"]["rule"] == "blocks of items"
    assert result.record["settings"]["enough_bytes"] == pytest.approx(lines.bytes_memory / 4, rel=0.01)
    messages = result.recommend("message").detail
    size = len(tare.encode(lines.value, "json:orjson"))
    assert messages["messages"] == pytest.approx(ITEMS, rel=0.03)
    assert messages["figures"]["json:orjson"]["bytes"] == pytest.approx(size / ITEMS, rel=0.03)
    assert result.recommend("cache").detail["figures"]["json:orjson"]["bytes"] == pytest.approx(
        size, rel=0.03
    )


@pytest.mark.parametrize("seed", range(6))
def test_random_items_are_those_of_the_file(tmp_path, seed):
    """Values of all kinds, drawn at random: what is read of them is in the file."""
    draw = random.Random(seed)
    words = ["", "a", '"', "\\", '\\"', "{", "}", "[1,2],", ", {", "\u0001", "x" * 50]

    def value(depth: int) -> Any:
        kind = draw.randrange(7 if depth else 4)
        if kind < 4:
            return (draw.choice(words), draw.randrange(10**6), draw.random(), None)[kind]
        if kind == 4:
            return [value(depth - 1) for _ in range(draw.randrange(4))]
        return {draw.choice("abc"): value(depth - 1) for _ in range(draw.randrange(4))}

    items = [{"id": k, "v": value(4), "w": draw.choice(words)} for k in range(ITEMS)]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(items, ensure_ascii=draw.random() < 0.5))
    _, part = opened(path)
    assert part.partial is not None
    assert all(items[item["id"]] == item for item in part.value)


def test_where_a_text_begins_within_a_string_its_marks_are_told():
    """Both ways of reading it; a way in which words stand between strings that JSON has not is none."""
    assert [None if m is None else m.tolist() for m in outside_strings(b'age": 1, "n": [')] == [
        None,
        [4, 7, 12, 14],
    ]
    assert [None if m is None else m.tolist() for m in outside_strings(b'1, "\\"n", [')] == [[1, 8, 10], None]
