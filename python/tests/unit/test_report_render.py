"""Terminal, Markdown, CSV, JSON: what they must say of whole, partial, foreign and hostile records."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
from functools import partial

import pytest
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.measure.verdict.recommend import recommend
from tare.report import csv as report_csv
from tare.report import json as report_json
from tare.report import markdown, terminal, text
from tare.report.digest import digest
from tare.report.html import render as render_html

details = partial(terminal.render, verbose=True)

HOSTILE = "</script><img src=x onerror=alert(1)>\"'`|\x1b[31m\x07\u202eabc\u2028\n\r=1+1"


@pytest.fixture(scope="module")
def table():
    return synthetic_record("table")


@pytest.fixture(scope="module")
def document():
    return synthetic_record("document", media=("memory", "file", "tcp"))


def renderers():
    return {
        "terminal": details,
        "colour": lambda record: details(record, color=True),
        "narrow": lambda record: details(record, width=60),
        "markdown": markdown.render,
        "csv": report_csv.render,
        "json": report_json.render,
        "html": render_html,
    }


def without(record, *path):
    """A copy of the record that lacks one part."""
    changed = copy.deepcopy(record)
    node = changed
    for step in path[:-1]:
        node = node[step]
    node.pop(path[-1])
    return changed


def test_every_line_fits_the_terminal(table, document):
    """No line is wider than 100 columns, or than the terminal if that is narrower."""
    for record in (table, document):
        for width in (100, 80, 60):
            for line in details(record, width=width).splitlines():
                assert text.width_of(line) <= width, line


def test_colour_changes_no_word(table):
    """With the escape sequences taken out, the coloured text is the plain one."""
    painted = details(table, color=True)
    assert "\x1b[" in painted
    assert details(table) == re.sub(r"\x1b\[[0-9;]*m", "", painted)


def test_a_codec_without_proof_shows_its_reason_and_no_time(table):
    """The row of a decode that returned nothing holds the reason where the figures would be."""
    line = next(line for line in details(table).splitlines() if line.startswith("csv:broken"))
    assert "no data came back (0 of 1 tables)" in line
    assert line.endswith("unproven")
    rows = [
        row for row in csv.DictReader(io.StringIO(report_csv.render(table))) if row["codec"] == "csv:broken"
    ]
    assert {""} == {row[name] for row in rows for name in ("read_s", "total_s", "ratio", "median", "min")}


@pytest.mark.parametrize("library_says", ["MemoryError", f"Out of Memory Error: {'x ' * 190}"])
def test_the_limit_of_memory_is_told_however_long_the_error(library_says):
    """It is Tare's own, so that the error says nothing of the library without it."""
    record = synthetic_record("table")
    case = next(case for case in record["cases"] if case["status"] == "unproven")
    case |= {"status": "error", "reason": f"decode: {library_says}; its process was held to 6.11 GB"}
    for name in ("markdown", "html"):
        said = render_html(record) if name == "html" else markdown.render(record)
        assert "; its process was held to 6.11 GB" in said, name


def test_loss_is_said_in_words(table):
    """A lossy codec keeps its times and says what it changed, in every format."""
    shown = details(table)
    assert "csv:pandas changes silently: 'time_hour'" in shown
    assert "lossy" in markdown.render(table)
    row = next(
        row for row in csv.DictReader(io.StringIO(report_csv.render(table))) if row["codec"] == "csv:pandas"
    )
    assert "lossy" == row["status"]
    assert float(row["write_s"]) > 0
    assert "time_hour" in row["lost"]


def test_screened_rows_show_a_prediction(document):
    """A codec that was left out after screening has a predicted time, marked as such."""
    line = next(line for line in details(document).splitlines() if line.startswith("repr:stdlib"))
    assert "predicted" in line
    assert line.endswith("screened")


def test_the_chosen_profile_names_the_verdict_and_the_order(table):
    """`--for archive` recommends the archive's route and sorts by its cost."""
    shown = details(table, profile="archive")
    route = table["derived"]["profiles"]["archive"]["route"]
    assert f"Use  {route}  for archive" in shown
    costs = table["derived"]["profiles"]["archive"]["cost_s"]
    ordered = [row.codec for row in digest(table, profile="archive").grids[0].rows if row.codec in costs]
    assert sorted(ordered, key=lambda codec: costs[codec][0]) == ordered


def test_csv_has_the_names_of_bench_mark(table):
    """R's column names are there, so that old tables can be laid beside."""
    rows = list(csv.DictReader(io.StringIO(report_csv.render(table))))
    names = {"min", "median", "itr/sec", "mem_alloc", "gc/sec", "n_itr", "n_gc", "total_time"}
    assert names <= set(rows[0])
    row = next(row for row in rows if row["codec"] == "arrow:pyarrow" and row["medium"] == "memory")
    figures = next(
        case
        for key, case in table["derived"]["cases"].items()
        if "codec=arrow:pyarrow|" in key and "medium=memory" in key and "size=1|" in key and "twin" not in key
    )
    assert pytest.approx(figures["total"]["t_ns"] / 1e9, rel=1e-4) == float(row["median"])
    assert figures["peak_bytes"] == int(row["mem_alloc"])


def test_json_is_the_record(table):
    """Nothing is lost or added."""
    assert table == json.loads(report_json.render(table))


def test_partial_data_is_said_and_predicted():
    """A part of the data: the first lines say so, and a column predicts the full size."""
    record = synthetic_record("table", partial=0.12)
    shown = details(record)
    assert "measured on 12 % of the data (first rows): the full size is predicted" in shown
    assert "full size" in shown
    assert "measured on 12 % of the data" in markdown.render(record).lower()
    assert "Measured on 12 % of the data" in render_html(record)


@pytest.mark.parametrize(
    "path",
    [
        ("derived",),
        ("noise",),
        ("fidelity",),
        ("machine",),
        ("codecs",),
        ("dataset",),
        ("cases",),
        ("plan",),
        ("derived", "profiles"),
        ("derived", "growth"),
        ("derived", "headline"),
        ("derived", "pareto"),
        ("derived", "cases"),
        ("derived", "base"),
        ("dataset", "columns"),
        ("dataset", "types"),
        ("fidelity", "probes"),
    ],
)
def test_a_missing_part_is_left_out_quietly(table, path):
    """Records of interrupted runs lack parts; every renderer shows the rest."""
    record = without(table, *path)
    assert [name for name, render in renderers().items() if not render(record)] == []


def test_an_empty_record_is_shown():
    """A run that was stopped before its first case still has a report."""
    record = {"tare_record": 1, "cases": [], "derived": {}, "interrupted": True}
    assert [name for name, render in renderers().items() if not render(record)] == []


@pytest.mark.parametrize("choice", ["failures", "one launch", "no growth", "imported"])
def test_poor_records_are_shown(choice):
    """Only failures, provisional figures, no growth, imported figures: each has a report."""
    if choice == "failures":
        from support.synthetic_records import TABLE

        record = synthetic_record("table", derived=False)
        broken = {truth.codec for truth in TABLE if truth.status not in ("ok", "lossy", "screened")}
        record["cases"] = [case for case in record["cases"] if case["labels"]["codec"] in broken]
        record["derived"] = {}
    elif choice == "one launch":
        record = synthetic_record("table", launches=1, rounds=3)
    elif choice == "no growth":
        record = synthetic_record("document", growth=False)
    else:
        record = synthetic_record("table") | {"imported": True}
    assert [name for name, render in renderers().items() if not render(record)] == []


def test_few_launches_are_told():
    """Two launches give no interval worth the name, and the reader is told."""
    assert "~ from fewer than three processes: no interval" in details(
        synthetic_record("table", launches=2)
    ).replace("\n", " ")


def hostile_record():
    """A record in which every text is an attack."""
    record = synthetic_record("table")
    body = json.dumps(record)
    for name in (
        "flights.csv",
        "time_hour",
        "N14228",
        "beaten 5x",
        "csv:broken",
        "hdf5:pandas",
        "text_001",
        "Example CPU",
        "no data came back",
        "tare measure",
        "2**53+1",
        "ValueError",
    ):
        body = body.replace(name, json.dumps(name + HOSTILE)[1:-1])
    return json.loads(body)


def test_hostile_text_is_inert_everywhere():
    """Markup, terminal escapes and direction marks of a record are shown, never obeyed."""
    record = hostile_record()
    for name in ("terminal", "narrow", "markdown"):
        shown = renderers()[name](record)
        assert not {"\x1b", "\x07", "\u202e", "\u2028", "\r"} & set(shown), name
    page = render_html(record)
    assert not {"\x1b", "\x07", "\u202e", "\u2028"} & set(page)
    assert "<img src=x" not in page
    assert 2 == page.lower().count("</script>")

    # Inside a code span nothing is markup: the fence is as long at its end as at its start.
    outside = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", markdown.render(record).replace("\\`", ""))
    assert "<" not in outside.replace("\\<", "").replace("P(best) <", "")


def test_csv_text_is_never_a_formula():
    """A name that a spreadsheet would run starts with an apostrophe."""
    record = synthetic_record("table")
    for case in record["cases"]:
        case["reason"] = "=cmd|' /C calc'!A0"
    for row in csv.DictReader(io.StringIO(report_csv.render(record))):
        assert not row["reason"].startswith(("=", "+", "-", "@"))


def pending(record, names):
    """The record with so many codecs that the time did not reach."""
    changed = copy.deepcopy(record)
    one = next(case for case in changed["cases"] if case.get("stage") == "weigh")
    for name in names:
        labels = one["labels"] | {"codec": name, "medium": "memory"}
        changed["cases"].append(
            one
            | {
                "key": f"codec={name}",
                "labels": labels,
                "status": "pending",
                "reason": "not reached in the time given",
                "bytes": None,
                "launches": [],
            }
        )
    return changed


def test_codecs_that_were_not_reached_share_a_line(table):
    """Many rows that say the same are one paragraph, which names each of them; few keep their rows."""
    many = details(pending(table, [f"yaml:lib{i}" for i in range(5)]))
    assert "5 not measured, not reached in the time given: yaml:lib0, yaml:lib1, yaml:lib2, yaml:lib3" in many
    few = details(pending(table, ["yaml:a", "yaml:b"]))
    assert [True, True] == [
        any(line.startswith(name) and line.endswith("not measured") for line in few.splitlines())
        for name in ("yaml:a", "yaml:b")
    ]


@pytest.fixture(scope="module")
def tiny():
    planted = (
        Planted("parquet:pyarrow", 0.30, 0.20, 2e-5),
        Planted("arrow:pyarrow", 0.10, 0.10, 1e-5),
        Planted("csv:pyarrow", 0.12, 0.10, 3e-5),
    )
    return synthetic_record("table", planted=planted, growth=False)


def test_tiny_data_has_no_copies(tiny):
    """The column is left out, and no cell has a figure, even where an old record holds one."""
    changed = copy.deepcopy(tiny)
    for case in changed["derived"]["cases"].values():
        case["copies_encoded"] = 4000.0
    assert "copies" not in details(changed)
    assert "4000" not in markdown.render(changed)
    assert not [
        row["copies"] for row in csv.DictReader(io.StringIO(report_csv.render(changed))) if row["copies"]
    ]


@pytest.mark.parametrize(
    ("kind", "profile", "said"),
    [
        (
            "document",
            "message",
            "The transfer (tcp) is computed from size at 125 MB/s and 0.3 ms round trip, not measured.",
        ),
        ("table", "archive", "The transfer (file) is computed from size at 200 MB/s, not measured."),
        ("table", "cache", ""),
    ],
)
def test_a_transfer_that_was_computed_is_called_so(kind, profile, said):
    """In one line of each report; a cache on files that were measured has nothing to say."""
    record = synthetic_record(kind, media=("memory",) if kind == "document" else ("memory", "file"))
    for render in (details, markdown.render):
        shown = render(record, profile=profile)
        assert said in shown if said else "is computed from size" not in shown
    part = render_html(record).partition(f'class="verdict v-{profile}"')[2].partition('class="verdict')[0]
    assert (said in part) if said else ("is computed from size" not in part)


def test_what_was_not_reached_has_one_name(document):
    """`pending` is a word of records; reports for people say not measured."""
    late = copy.deepcopy(document)
    case = late["cases"][0]
    case |= {"status": "pending", "reason": "", "launches": []}
    late.pop("derived", None)
    for render in (details, markdown.render, render_html):
        shown = render(late)
        assert "pending" not in re.sub(r"<script.*", "", shown, flags=re.DOTALL)
        assert "not measured" in shown


def test_no_route_comes_with_what_to_do_instead():
    """Who reads the terminal alone learns which wish to drop; the reasons say it."""
    own = Planted("json:stdlib", 50, 50, 0.5)
    record = synthetic_record("document", planted=(own,), growth=False, media=("memory",))
    shown = " ".join(details(record, profile="random").split())
    assert "No codec fits random: JSON (stdlib) left out (cannot be read in part)" in shown.replace("`", "")
    assert (
        "blit can be read in part, and so can Parquet, Arrow / Feather, ORC and 1 more, which hold tables; for another use"
        in shown
    )


def test_one_wording_tells_what_came_back():
    """The line below the route and the verdict's sentence say the same of columns of another type."""
    typed = Planted("csv:pyarrow", 5, 5, 0.2, changes=(("time_hour", "type", 9),))
    base = Planted("parquet:pyarrow", 50, 50, 0.5)
    record = synthetic_record("table", planted=(base, typed), growth=False, media=("file",))
    sentence = recommend(record)["sentence"]
    kept = "keeps every value, column 'time_hour' as another type"
    assert kept in sentence
    assert kept in " ".join(details(record).split())


def test_every_report_says_when_it_cannot_tell(table):
    """A codec is named all the same, and the doubt stands beside it."""
    record = copy.deepcopy(table)
    doubt = "Can't tell whether it is the best: the machine was busy."
    verdict = recommend(record)
    verdict |= {"confidence": "can't tell", "doubt": doubt, "sentence": f"{verdict['sentence']} {doubt}"}
    record["derived"]["headline"] = record["derived"]["profiles"][verdict["profile"]] = verdict
    for name in ("terminal", "markdown"):
        assert doubt in " ".join(renderers()[name](record).split()).replace("\\", "")
    page = render_html(record)
    assert "<h1>Use Arrow / Feather, uncompressed" in page
    assert '<span class="badge warn">can&#x27;t tell</span>' in page.replace("&#39;", "&#x27;")


def smaller(record, share=0.25):
    """The record with three rows of which only a part of the data was encoded, each with another fate."""
    changed = copy.deepcopy(record)
    fates = {"pickle": "pending", "csv:pyarrow": "unproven", "orc:pyarrow": "screened"}
    for case in list(changed["cases"]):
        codec = case["labels"]["codec"]
        if codec not in fates or case["labels"].get("twin"):
            continue
        changed["cases"].remove(case)
        if case["labels"]["size"] != "1" or case["stage"] != "weigh":
            continue
        labels = {**case["labels"], "size": str(share)}
        changed["cases"].append(
            {
                "key": f"small|{codec}|{labels['medium']}",
                "labels": labels,
                "stage": "screen",
                "status": fates[codec],
                "reason": "only its first calls were timed",
                "launches": [],
                "bytes": round(case["bytes"] * share),
                "raw_bytes": round(case["raw_bytes"] * share),
            }
        )
    return changed


@pytest.mark.parametrize("render", [details, markdown.render])
def test_all_sizes_of_a_table_are_of_the_same_part(table, render):
    """What was encoded of a quarter only is shown times four, marked, whatever became of the codec."""
    whole = {row.codec: row.bytes for row in digest(table).grids[0].rows}
    changed = smaller(table)
    shown = render(changed)
    for codec in ("pickle", "csv:pyarrow", "orc:pyarrow"):
        line = next(line for line in shown.splitlines() if line.lstrip("| `").startswith(codec))
        assert f"~{text.size(whole[codec])}" in line
    assert "size ~: predicted from a smaller part" in shown
    assert "~" not in next(line for line in shown.splitlines() if "csv:pandas" in line)


def test_a_csv_row_has_the_bytes_of_the_part_it_names(table):
    """`size`, `bytes` and `raw_bytes` of a row are of one part: a program scales by itself."""
    rows = csv.DictReader(io.StringIO(report_csv.render(smaller(table))))
    row = next(row for row in rows if row["codec"] == "pickle" and row["medium"] == "file")
    whole = next(row for row in digest(table).grids[0].rows if row.codec == "pickle")
    assert "0.25" == row["size"]
    assert int(row["bytes"]) == round(whole.bytes / 4)


def doubtful(record):
    """The record whose named verdict is provisional, for two reasons."""
    changed = copy.deepcopy(record)
    verdict = changed["derived"]["profiles"][changed["derived"]["headline_profile"]]
    verdict |= {
        "provisional": True,
        "reasons": [
            "next: pickle",
            "provisional: 5 of 18 codecs were not reached",
            "provisional: noise floor 9 %",
        ],
    }
    changed["derived"]["headline"] = verdict
    return changed


@pytest.mark.parametrize("render", [details, markdown.render, render_html])
def test_every_report_says_beside_the_verdict_why_it_is_provisional(table, render):
    """In the same words; on the page behind the one chip."""
    said = "Provisional: 5 of 18 codecs were not reached; noise floor 9 %."
    assert said not in render(table)
    shown = " ".join(render(doubtful(table)).split())
    assert said in shown
    if render is render_html:
        part = shown.partition('class="verdict v-cache"')[2]
        assert said in part.partition('<details class="sure">')[2].partition("</details>")[0]


def test_markdown_tells_what_to_do_where_no_route_fits():
    """The same reasons as on the terminal."""
    record = synthetic_record(
        "document", planted=(Planted("json:stdlib", 50, 50, 0.5),), growth=False, media=("memory",)
    )
    shown = markdown.render(record, profile="random").replace("`", "")
    assert "No codec fits random: JSON (stdlib) left out (cannot be read in part)" in shown
    assert (
        "blit can be read in part, and so can Parquet, Arrow / Feather, ORC and 1 more, which hold tables; for another use"
        in shown
    )


@pytest.mark.parametrize("render", [details, markdown.render, render_html])
def test_every_report_names_the_emulated_link(document, render):
    """Rate and round trip as asked, the method, and what it reached; nothing where no case went over it."""
    link = {
        "asked": "100Mbit,20ms",
        "method": "socket relay: token bucket 32 KiB, delay queue",
        "bytes_per_second": 12.31e6,
        "round_trip_s": 0.0204,
    }
    said = (
        "Emulated link 100Mbit,20ms (socket relay: token bucket 32 KiB, delay queue); "
        "reached 12.3 MB/s and 20.4 ms round trip."
    )
    changed = copy.deepcopy(document)
    changed["noise"]["link"] = link
    assert said not in " ".join(render(changed).split())
    body = (
        json.dumps(changed)
        .replace('"medium": "tcp"', '"medium": "link"')
        .replace("medium=tcp", "medium=link")
    )
    assert said in " ".join(render(json.loads(body)).split())


def test_what_was_not_tried_is_in_every_report(table):
    """A language that was left out is named with its reason, whose words are somebody's program's."""
    record = {
        **table,
        "left_out": ["codecs of Node (the Node worker does not run: no answer within 30 s)", HOSTILE],
    }
    for name, render in renderers().items():
        if name == "csv":  # a row is a case
            continue
        shown = render(record)
        assert "codecs of Node (the Node worker does not run: no answer within 30 s)" in " ".join(
            re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\\", "").split()
        ), name
        if name not in ("json", "colour"):
            assert not set("\x1b\x07\u202e\u2028\r") & set(shown), name
        if name in ("markdown", "html"):
            assert "<img" not in shown.replace("\\<", ""), name


@pytest.mark.parametrize("render", [details, markdown.render, render_html])
def test_nothing_left_out_is_no_line(table, render):
    """Also where a foreign record has no list there."""
    usual = render(table)
    for given in (None, "codecs of Node", 7, {"a": 1}, [], [None, ""]):
        assert render({**table, "left_out": given}) == usual, given


def test_many_that_were_left_out_are_counted(table):
    """A dozen lines, and how many more."""
    shown = details({**table, "left_out": [f"codecs of L{n} (not installed)" for n in range(20)]})
    assert 13 == shown.count("left out: ")
    assert "left out: and 8 more" in shown


def test_freeing_and_an_empty_call_are_shown_with_the_details(table):
    """Freeing where it is more than a tenth of a call; neither of a record that timed calls without it."""
    record = copy.deepcopy(table)
    record["noise"]["timer_floor_ns"] = 58.0
    for case in record["cases"]:
        share = 0.25 if case["labels"]["codec"] == "pickle" else 0.02
        for columns in (one["samples"][op] for one in case["launches"] for op in one["samples"]):
            calls = zip(columns["wall_ns"], columns["batch"], strict=True)
            columns["drop_ns"] = [share * wall / batch for wall, batch in calls]
    for render in (details, render_html):
        assert "reeing the result is part of the time" not in render(record)
    record["method"] = 2
    shown = " ".join(details(record).split())
    assert "an empty call takes 58.0 ns, which is part of every time" in shown
    assert re.search(r"freeing the result is part of the time: (pickle \w+ 25 %(, | and )?){2}", shown)
    shown = render_html(record)
    assert "an empty call (in every time)" in shown
    for case in record["cases"]:  # of so short a call the clocks take longer than freeing
        for columns in (one["samples"][op] for one in case["launches"] for op in one["samples"]):
            columns["batch"] = [batch * 1_000_000 for batch in columns["batch"]]
            columns["drop_ns"] = [drop / 1_000_000 for drop in columns["drop_ns"]]
    assert "freeing the result" not in details(record)
    assert "Freeing the result is part of the time: pickle " in shown
