"""The answer on a terminal: plain words, one figure everywhere, a command that runs, at any width."""

from __future__ import annotations

import copy
import html
import json
import re
import shlex
from pathlib import Path

import pytest
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.cli.convert import command as convert
from tare.codec import Codec
from tare.codec.titles import title_of
from tare.measure.derive import derive
from tare.measure.verdict.file_names import file_name
from tare.report import answer, bars, layout, markdown, terminal, text
from tare.report.digest import digest
from tare.report.html import render as render_html

VECTORS = Path(__file__).resolve().parents[3] / "vectors" / "report"
FLAT = {"languages": ["python", "r", "c"], "spec": "https://example.org"}
# Words of those who wrote the statistics, not of those who read the answer.
PRIVATE = (
    "P(best)", "tie", "base", "k=", "screened", "too noisy to choose", "memcpy", "launch", "provisional", "median",
    "noise floor", "contended", "Provisional", "weighed", "verdict", "profile", "route", "None", "nan",
)  # fmt: skip
ZIPS = (
    Planted("csv:pyarrow", 30, 20, 0.5, "lossy", "", (("zip", "lossy", 9),), flags=FLAT),
    Planted("parquet:pyarrow,compression=zstd", 60, 20, 0.10, flags=FLAT),
    Planted("orc:pyarrow,compression=zstd", 64, 60, 0.05, flags=FLAT),
)
OURS = (
    Planted("json:stdlib", 400, 400, 0.5, flags=FLAT | {"independent": ["c", "go"]}),
    Planted("json:orjson", 120, 130, 0.5, flags=FLAT | {"independent": ["c", "go"]}),
    Planted("blit:tare", 50, 50, 0.4, flags=FLAT | {"independent": []}),
)
MESSAGES = (
    Planted("json:stdlib", 0.0088, 0.0069, 1e-5, flags=FLAT),
    Planted("json:orjson", 0.000578, 0.0011, 0.9e-5, flags=FLAT),
    Planted("msgpack:msgspec", 0.00093, 0.0013, 0.7e-5, flags=FLAT),
)


def made(kind="table", planted=ZIPS, **more):
    base = next(one.codec for one in planted if one.status == "ok")
    return synthetic_record(kind, planted=planted, growth=False, base=base, **more)


def unreached(record):
    """The record of a run that was stopped before it measured anything."""
    changed = copy.deepcopy(record)
    for case in changed["cases"]:
        case |= {
            "launches": [],
            "status": "pending",
            "reason": "not reached in the time given",
            "bytes": None,
        }
    return changed | {"derived": derive(changed)}


def stored(name):
    return json.loads((VECTORS / name / "record.tare.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def records():
    found = {
        "table": stored("table-5"),
        "document": stored("document-6"),
        "zips": made(),
        "part": made(partial=0.055),
        "messages": made("document", MESSAGES),
        "one": made(planted=ZIPS[1:2]),
        "noisy": made(launch_sd=0.5, noise_sd=0.3, seed=3),
    }
    return found | {"nothing": unreached(found["one"]), "interrupted": found["zips"] | {"interrupted": True}}


def test_the_answer_has_no_private_words(records):
    """Nothing of the default output has to be looked up, whatever was measured."""
    for name, record in records.items():
        for every in (False, True):
            shown = terminal.render(record, every=every)
            found = [word for word in PRIVATE if re.search(rf"(?<![\w/-]){re.escape(word)}(?!\w)", shown)]
            assert not found, (name, found, shown)
            assert not re.search(r"  \S+:\S+  ", shown), (name, shown)


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
def test_every_line_fits(records, width):
    """Nothing is cut by the terminal but the command, which must stay whole."""
    for name, record in records.items():
        for line in terminal.render(record, width=width).splitlines():
            assert text.width_of(line) <= width or line.startswith(("  Do it:", "  Read it:")), (name, line)


def test_colour_and_pipes_say_the_same(records):
    """Word for word; and what an encoding has not is written with plain characters."""
    for record in records.values():
        shown = terminal.render(record)
        assert re.sub(r"\x1b\[[0-9;]*m", "", terminal.render(record, color=True)) == shown
        plain = terminal.encodable(shown, "ascii")
        assert plain.isascii()
        assert "\\" not in plain
        assert [len(line) for line in plain.splitlines()] == [len(line) for line in shown.splitlines()]


def test_nothing_that_was_not_measured_is_shown_unless_all_are_asked_for(records):
    """With all, each codec has a line, with the reason."""
    record = records["table"]
    assert "BSON" not in terminal.render(record)
    shown = terminal.render(record, every=True)
    reason, _, codecs = shown[shown.index("MongoDB can only handle") :].partition(":\n")
    assert "\n    " not in reason
    assert "bson:pymongo" in codecs.partition(":\n")[0]
    assert len(record["codecs"]) <= sum(line.startswith("  ") for line in shown.splitlines())
    record = copy.deepcopy(record)
    record.setdefault("settings", {})["all_codecs"] = True
    assert terminal.render(record) == shown


def test_one_figure_everywhere(records):
    """Size and time of a codec are the same in the sentence, in the routes and in the bars."""
    for name in ("table", "zips", "part"):
        found = digest(records[name])
        shown = terminal.render(records[name], width=140)
        use = next(line for line in shown.splitlines() if line.startswith("  Use"))
        size, read = re.search(r"(~?[\d.,]+ \w+)   write .*?read +([\d.,]+ \S+)", use).groups()
        title = use.split("   ")[1 if "   " in use[5:] else 0].strip()
        row = next(line for line in shown.splitlines() if line.startswith(f"  {title}") and "\u2588" in line)
        assert re.findall(r" (~?[\d.,]+)(?= |$)", row) == [size.split()[0], read.split()[0]], (use, row)
        assert f"{size}, write" in found.verdict["sentence"]
        assert f"read {read}" in found.verdict["sentence"]
        ratio = re.search(
            r"([\d.]+)\xd7 (smaller|larger).{0,40} than the CSV you have", " ".join(shown.split())
        )
        parts = sorted((found.verdict["chosen"]["bytes"], found.verdict["source"]["bytes"]))
        assert float(ratio[1]) == pytest.approx(parts[1] / parts[0], rel=0.03)


@pytest.mark.parametrize(("width", "label"), [(80, "Reads fastest"), (100, "Fastest to read")])
def test_what_is_quickest_to_read_is_not_called_the_fastest(width, label):
    """It may be slow to write; of messages both count, and the fastest is just that."""
    planted = (*ZIPS, Planted("arrow:pyarrow", 90, 2, 0.9, flags=FLAT))
    found = digest(made(planted=planted), profile="keep")
    assert label in [said for said, _ in answer.routes_of(found, width)]
    assert f"  {label}  " in terminal.render(made(planted=planted), profile="keep", width=width)


def test_lines_that_were_measured_have_their_own_share():
    """Of messages fewer lines are taken than of the whole; the table is called by what was done, in plain words."""
    record = made("document", MESSAGES, partial=0.4)
    record["dataset"]["source_format"] = "ndjson"
    first = [case for case in record["cases"] if case["labels"].get("medium") == "memory"]
    for case in copy.deepcopy(first):
        case["labels"] |= {"grain": "each", "size": "0.5"}
        case["key"] += "|grain=each"
        record["cases"].append(case)
    record["derived"] = derive(record)
    shown = " ".join(terminal.render(record, verbose=True, width=100).split())
    assert "grain" not in shown
    assert "memory, line by line 3 measured" in shown
    assert re.search(
        r"of the part that was measured, .*40 % \(memory\).*20 % \(memory, line by line\)|20 % \(memory, line by line\), 40 % \(memory\)",
        shown,
    ), shown


def test_no_codec_fits_is_said_in_names_and_to_the_end():
    """No allowed loss makes a document's format readable in part; ids stay in `-v`, and each sentence has its stop."""
    lossy = Planted("yaml:pyyaml", 900, 900, 0.6, "lossy", "", (("[*].at", "lossy", 9),), flags=FLAT)
    record = made("document", (*MESSAGES, lossy))
    shown = " ".join(terminal.render(record, profile="random").split())
    assert "JSON (stdlib), JSON (orjson) and MessagePack (msgspec) left out (cannot be read in part)" in shown
    assert "YAML (PyYAML) left out (data changed silently; cannot be read in part)" in shown
    assert "--allow-loss" not in shown
    assert "could qualify." in shown
    assert not re.search(r"\w:\w", shown), shown


def test_microseconds_are_written_in_one_way():
    """Also where a number and its unit would come apart at the end of a line, and in the tables."""
    lines = layout.wrap("write 301 us, read 396 us", 10, "")
    assert [line[0][0] for line in lines] == ["write 301", "\xb5s, read", "396 \xb5s"]
    record = made("document", MESSAGES)
    for shown in (terminal.render(record, verbose=True), terminal.render(record, profile="message")):
        assert "\xb5s" in shown
        assert not re.search(r"\bus\b", shown), shown


def test_sizes_that_are_estimated_are_marked():
    """In the named routes, the bars and the page, and one line says from how much; what was written whole has no mark."""
    record = made(partial=0.2)
    exact = [case for case in record["cases"] if case["labels"]["codec"].startswith("orc:")]
    for case in exact:
        case |= {"whole_bytes": 2_000_000, "whole_share": 1.0}
    record["derived"] = derive(record)
    for width in (80, 140):
        shown = terminal.render(record, width=width)
        assert re.search(r"^  Use .*\n?.* ~[\d.]+ MB ", shown, re.MULTILINE), shown
        bars = [line for line in shown.splitlines() if "\u2588" in line]
        assert [" ~" in line for line in bars] == [not line.startswith("  ORC") for line in bars], shown
        assert shown.count("~ estimated from 20 % of the data") == 1
    assert re.search(r"Smallest +ORC \(zstd\) +2\.0 MB", shown), shown
    page = render_html(record)
    assert "<dd>~" in page
    assert "~ estimated from 20 % of the data." in page
    assert "~ estimated from" in markdown.render(record)
    for case in exact:
        case["whole_share"] = 0.6
    assert "estimated from 20 to 60 %" in terminal.render(record | {"derived": derive(record)})
    assert "~" not in terminal.render(made())


@pytest.mark.parametrize("width", [60, 70, 80, 100])
def test_bars_have_room_and_names_are_whole(width):
    """Where names leave no room beside them, bars stand below: eight columns at least, and nothing is cut."""
    ids = (
        "msgpack:ormsgpack+zstd:3",
        "msgpack:ormsgpack+lz4",
        "json:orjson,default=text+zstd:9",
        "cbor:cbor2+zstd:19",
    )
    names = [title_of(id) for id in ids]
    rows = [bars.Bar(name, (4.0 - place, 100.0 + place)) for place, name in enumerate(names)]
    labels = [(f"{4 - place}.0", f"{100 + place}") for place in range(len(ids))]
    heads = ("size, MB", "write + read, \xb5s")
    lines = ["".join(piece for piece, _ in line) for line in bars.lines_of(heads, rows, width, labels)]
    shown = "\n".join(lines)
    assert max(map(text.width_of, lines)) <= width
    assert all(name in shown for name in names)
    assert all(head in lines[0] for head in heads)
    drawn = [re.findall("[\u2588-\u258f]+", line) for line in lines]
    longest = [max(len(found[column]) for found in drawn if found) for column in (0, 1)]
    assert min(longest) >= 8
    assert [len(found) for found in drawn if found] == [2] * len(ids)


def test_what_was_opened_is_told_beside_what_there_is(records):
    """Of a file that was opened in part: so many of about so many; of one that was read whole, what it has."""
    record = copy.deepcopy(records["part"])
    record["dataset"] |= {"rows": 31_500, "items": 31_500}
    record["dataset"]["partial"] |= {"rows_total": 572_727, "estimated": True}
    assert "31,500 of about 573,000 rows \xd7" in terminal.render(record)
    assert "(of about 573,000)" in terminal.render(record, verbose=True)
    record["dataset"]["partial"] |= {"estimated": False}
    assert "31,500 of 572,727 rows \xd7" in terminal.render(record)
    assert " of " not in terminal.render(records["table"]).partition("measured")[0]


def test_the_commands_of_a_folder_take_the_folder(records):
    """Into a folder beside it; what is read back are its files, and the page has no path of the machine."""
    record = copy.deepcopy(records["table"])
    record["dataset"] |= {"name": "logs/*.csv", "files": 12}
    shown = terminal.render(record, path="'my logs/*.csv'")
    assert "12 files, " in shown
    words = shlex.split(next(line for line in shown.splitlines() if line.startswith("  Do it:"))[10:])
    codec = record["derived"]["headline"]["codec"]
    ending = file_name(codec, "x")[1:]
    assert words[:5] == ["tare", "convert", "my logs/*.csv", f"logs-{ending[1:]}/", "--codec"]
    assert convert.make_context("convert", words[2:]).params["sources"] == ("my logs/*.csv", words[3])
    reading = shown[shown.index("  Read it:") :]
    assert f'Path("logs-{ending[1:]}").rglob("*{ending}")' in reading
    page = html.unescape(render_html(record, path="/home/ann/logs"))
    assert "tare convert logs logs-" in re.sub("</?span>", "", page)
    assert "/home/ann" not in page


def test_losses_stand_beside_the_figures(records):
    """A codec that changes values is drawn with what it changes, and is not recommended."""
    shown = terminal.render(records["zips"])
    assert "CSV changes 'zip'" in shown
    assert records["zips"]["derived"]["headline"]["codec"] != "csv:pyarrow"
    assert "CSV" in next(
        line for line in terminal.render(records["zips"], width=140).splitlines() if "changes 'zip'" in line
    )


@pytest.mark.parametrize("name", ["table", "zips", "part", "interrupted", "one"])
def test_the_command_is_one_that_runs(records, name):
    """It has the user's own path, quoted, and parses; its codec is one that can write."""
    path = "my data/old flights.csv"
    shown = terminal.render(records[name], path=path)
    words = shlex.split(next(line for line in shown.splitlines() if line.startswith("  Do it:"))[10:])
    assert words[:3] == ["tare", "convert", path]
    context = convert.make_context("convert", words[2:])
    assert context.params["sources"][0] == path
    assert (
        str(Codec.parse(words[words.index("--codec") + 1])) == records[name]["derived"]["headline"]["codec"]
    )
    assert words[3].startswith("old flights.")


def test_the_command_reads_in_the_encoding_that_was_named(records):
    """Without it the file could not be read, on the page either."""
    for told in ("tare measure old.csv --encoding latin1", "tare measure old.csv --encoding=latin1"):
        record = copy.deepcopy(records["table"])
        record["command"] = told
        shown = terminal.render(record, path="old.csv")
        words = shlex.split(next(line for line in shown.splitlines() if line.startswith("  Do it:"))[10:])
        assert words[words.index("--encoding") + 1] == "latin1"
        assert "<span>--encoding</span> latin1" in render_html(record, path="old.csv")
    assert "--encoding" not in terminal.render(records["table"], path="old.csv")


def test_what_tare_alone_reads_has_a_second_command_for_other_tools():
    """With what that costs in words; a cache is read by its writer, and a message by its receiver."""
    record = made("document", OURS)
    record["dataset"] |= {"name": "own.yaml", "source_format": "yaml", "bytes_disk": 10**6}
    record["settings"] = {"profile": "keep"}
    record["derived"] = derive(record)
    assert record["derived"]["headline"]["codec"] == "blit:tare"
    lines = terminal.render(record, width=80).splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("  Do it:"))
    assert "--codec blit:tare" in lines[place]
    assert lines[place + 1].startswith("  Read it:  ")  # of the first
    assert lines[place + 2] == "  Or:       tare convert own.yaml own.json --codec json:orjson"
    said = " ".join(" ".join(lines[place + 3 :]).split())
    assert re.match(r"for other tools: JSON \(orjson\) costs \d+ % more in all \(.*slower to read\)", said)
    assert "Only Tare reads blit." in " ".join(" ".join(lines).split())
    for use in ("archive", "cache", "message"):  # of an archive others read what is named
        assert "  Or:" not in terminal.render(record, profile=use)
    page = render_html(record)
    assert "For other tools: JSON (orjson) costs" in page
    assert "--codec json:orjson<" in re.sub("</?span>", "", page)
    record["dataset"] |= {"name": "own.json", "source_format": "json"}
    record["derived"] = derive(record)
    assert "  Or:       keep the file as it is\n            for other tools: JSON" in terminal.render(record)
    record["dataset"] |= {"source_format": None, "bytes_disk": None, "name": "dict", "source_kind": "python"}
    record["derived"] = derive(record)
    shown = terminal.render(record)
    assert '  Python:   tare.write(value, "data.blit", codec="blit:tare")' in shown
    assert '  Or:       tare.write(value, "data.json", codec="json:orjson")' in shown


def test_what_must_be_readable_in_r_is_read_by_a_call_of_r(records):
    """On the terminal, in Markdown and in the page, where it was asked for; of a file that is kept by its own name."""
    record = copy.deepcopy(records["table"])
    record["settings"] = {"must": ["untrusted,readable:R"]}
    file = file_name(record["derived"]["headline"]["codec"], str(record["dataset"]["name"]))
    call = f'arrow::read_feather("{file}")'
    assert f"  R:        {call}\n" in terminal.render(record)
    assert f"R: `{call}`" in markdown.render(record)
    assert call in html.unescape(render_html(record))
    assert "arrow::" not in terminal.render(records["table"])
    record["derived"]["headline"]["keeps_file"] = True
    record["derived"]["profiles"][record["derived"]["headline_profile"]]["keeps_file"] = True
    assert '  R:        data.table::fread("my data.csv")\n' in terminal.render(record, path="my data.csv")


def test_what_came_through_a_pipe_is_converted_from_one(records):
    """No file has that name: the command reads its input, and is told the format."""
    record = copy.deepcopy(records["table"])
    record["dataset"]["name"] = "standard input"
    line = next(line for line in terminal.render(record).splitlines() if line.startswith("  Do it:"))
    words = shlex.split(line[10:])
    assert words[:3] == ["tare", "convert", "-"]
    assert words[3].startswith("data.")
    assert words[-4:] == ["--from", "csv", "<", "FILE"]


def test_a_value_of_a_program_is_written_by_a_call(records):
    """There is no file to convert, and no command to give options to."""
    record = copy.deepcopy(records["table"])
    record["dataset"]["source_format"] = None
    record["derived"] = derive(record)
    shown = terminal.render(record)
    codec = re.escape(record["derived"]["headline"]["codec"])
    name = re.search(rf'Python: +tare\.write\(value, "(data\.\w+)", codec="{codec}"\)', shown)[1]
    assert re.search(rf'Read it: +tare\.read\("{name}", codec="{codec}"(, trust=True)?\)', shown)
    assert "--all" not in shown
    assert "tare convert" not in shown


def test_messages_are_told_by_the_call(records):
    """Writing and reading together, in their own unit, and a line of Python."""
    shown = terminal.render(records["messages"])
    assert re.search(r"write \d+ ns", shown)
    assert "write + read, \xb5s" in shown
    assert re.search(r'Python: +tare\.encode\(value, "(json:orjson|msgpack:msgspec)"\)', shown)
    assert "than JSON (stdlib)" in " ".join(shown.split())
    added = "a call of Tare adds less than a microsecond to the library's own, which was timed"
    told = [" ".join(terminal.render(records[name]).split()) for name in ("messages", "document")]
    assert [True, False] == [added in one for one in told]
    record = copy.deepcopy(records["messages"])
    record["dataset"]["source_format"] = None
    record["settings"] = {"profile": "message"}
    record["derived"] = derive(record)
    assert re.search(
        r'Read it: +tare\.decode\(data, "(json:orjson|msgpack:msgspec)"\)', terminal.render(record)
    )


def test_what_is_not_sure_is_said_in_words(records):
    """Close names the other and how it differs; nobody can tell comes with the reason."""
    pair = (
        Planted("parquet:pyarrow,compression=zstd", 60, 20, 0.1, flags=FLAT),
        Planted("orc:pyarrow,compression=zstd", 62, 21, 0.1, flags=FLAT),
    )
    record = made(planted=pair, launch_sd=0.005, noise_sd=0.005)
    assert record["derived"]["headline"]["confidence"] == "close"
    assert re.search(
        r"Close: (ORC|Parquet) \(zstd\) costs [\d.]+ % more in all", " ".join(terminal.render(record).split())
    )
    shown = terminal.render(record, width=80)
    assert "      Cost: 1 write + 10 reads + 1 s/GB (tare measure --help uses)\n" in shown
    assert "Cost: " not in terminal.render(records["one"])  # nothing to compare it with
    assert "Can't tell whether it is the best: " in terminal.render(records["noisy"])
    assert "Close" not in terminal.render(records["table"])


def test_messages_have_calls_and_a_hint_to_the_file_that_they_are_in(records):
    """A file of one message is not what is wanted; of the log as a whole another command tells."""
    record = copy.deepcopy(records["messages"])
    record["settings"], record["command"] = {}, "tare measure config.json"
    record["dataset"] |= {
        "name": "config.json",
        "source_format": "json",
        "bytes_disk": 90,
        "items": 1,
        "shape": {},
    }
    record["derived"] = derive(record)
    assert record["derived"]["headline_profile"] == "message"
    shown = terminal.render(record)
    assert "Do it:" not in shown
    assert "  Python:   tare.encode(value, " in shown
    assert "  File:     tare measure config.json --for keep\n" in shown
    assert "  File:     tare measure 'a b.json' --for keep\n" in terminal.render(record, path="'a b.json'")
    assert "the round trip of 0.3 ms, the same for all, is left out" in " ".join(shown.split())
    assert "tare measure config.json <span>--for" in render_html(record)


def test_the_file_at_hand_is_said_to_cost_less_where_it_does():
    """Of codecs that were asked for the best may be worse than what is there already, and is no fastest of anything."""
    asked, have = (
        Planted("csv:pandas", 900, 900, 0.9, flags=FLAT),
        Planted("parquet:pyarrow", 100, 90, 0.2, flags=FLAT),
    )
    record = made(planted=(have, asked))
    record["codecs"]["parquet:pyarrow"]["asked"] = False
    record["dataset"] |= {"source_format": "parquet", "bytes_disk": None}
    record["derived"] = derive(record)
    shown = " ".join(terminal.render(record).split())
    assert "Use CSV (pandas)" in shown
    assert re.search(
        r"The Parquet you have costs \d+ % less in all: keep it unless you need another\.", shown
    )
    assert "also the" not in shown


def test_where_nothing_was_measured_it_says_so(records):
    """No figures, no bars and no command; the reason stands there."""
    shown = terminal.render(records["nothing"])
    assert "nothing was measured" in shown
    assert "not reached in the time given" in shown
    assert "\u2588" not in shown
    assert "Do it" not in shown
    assert "Interrupted: what was finished is shown." in terminal.render(records["interrupted"])


def test_the_use_is_named_with_how_to_change_it(records):
    """But where it was chosen, or the record is not of the command."""
    record = copy.deepcopy(records["zips"])
    use = record["derived"]["headline_profile"]
    record |= {"command": "tare measure zips.csv", "settings": {"profile": None}}
    assert f"use: {use} (change with --for)" in " ".join(terminal.render(record).split())
    assert "(change" not in terminal.render(record, profile="archive")
    assert "(change" not in terminal.render(record | {"settings": {"profile": use}})
    assert "(change" not in terminal.render(record | {"command": None})


def test_the_part_that_was_measured_is_said(records):
    """And that the figures are of the whole."""
    assert "measured whole" in terminal.render(records["zips"])
    shown = " ".join(terminal.render(records["part"]).split())
    assert "measured on 5.5 % of the data figures are estimates for the whole" in shown
    blocks = copy.deepcopy(records["part"])
    blocks["dataset"]["partial"]["blocks"] = 8
    assert "measured on 8 blocks, 5.5 % of the data" in terminal.render(blocks)
    for verdict in (blocks["derived"]["headline"], *blocks["derived"]["profiles"].values()):
        verdict["messages"] = 1_000
    assert "for the whole" not in terminal.render(blocks)  # they are of one message


def test_the_file_is_kept_where_its_own_format_is_the_best():
    """Nobody is told to convert a CSV into a CSV."""
    record = made(planted=(Planted("csv:pyarrow", 5, 5, 0.65, flags=FLAT), ZIPS[2]))
    assert record["derived"]["headline"]["codec"] == "csv:pyarrow"
    assert "Do it:    keep the file as it is" in terminal.render(record)


def test_a_study_shows_its_tables(records):
    """A plan of many conditions has no single answer: every condition is laid out."""
    record = copy.deepcopy(records["table"])
    record["plan"]["name"] = "files"
    assert terminal.render(record) == terminal.render(record, verbose=True)
    assert not answer.answers(digest(record))


def test_one_slow_codec_does_not_hide_the_differences_of_the_best(records):
    """Its bar ends in a mark, and codecs that differ by a fifth have bars of different length."""
    record = records["table"]
    for width in (80, 100, 140):
        shown = terminal.render(record, width=width, every=True)
        lines = {line[2:30].strip(): line for line in shown.splitlines() if "\u2588" in line}
        slow = next(line for name, line in lines.items() if name == "CSV (pandas)")
        assert re.search("\u2588> 395(?= |$)", slow), slow
        read = [re.findall("[\u2588-\u258f]+", lines[name])[1] for name in list(lines)[:3]]
        assert len(set(read)) == 3, read
        assert "a bar that ends in > is longer than the scale" in shown
        assert ">" not in terminal.render(record, width=width).replace("--", "")


@pytest.mark.parametrize("leader", [None, 500.0])
def test_a_scale_is_cut_only_where_few_bars_would_be_left(leader):
    """The codec that leads is never cut, nor one of two."""
    assert bars.longest([10, 11, 13, 16, 500], leader) == (500 if leader else 33)
    assert bars.longest([10, 500], leader) == bars.longest([10, 400, 500], leader) == 500
    assert bars.longest([10, None, 30, 40], leader) == 40
    assert bars.longest([], leader) == bars.longest([None, 0.0], leader) == 0


def test_names_in_lists_are_whole_at_eighty_columns(records):
    """A name that is longer than its column has the id on the next line."""
    record = copy.deepcopy(records["table"])
    long = "parquet:duckdb,compression=brotli,level=11+zstd:19,library=zstandard"
    for entry in record["derived"]["profiles"].values():
        entry["excluded"].append({"codec": long, "reason": "was not reached"})
    shown = terminal.render(record, width=80, every=True)
    assert f"    {title_of(long)}\n        {long}\n" in shown
    assert "\u2026" not in shown


@pytest.mark.parametrize(("share", "width"), [(1.0, 8), (0.5, 8), (0.03, 8), (1e-9, 8), (0.999, 13)])
def test_bars_are_as_long_as_their_share(share, width):
    """To an eighth of a column, and never empty."""
    drawn = bars.bar(share, width)
    assert 1 <= len(drawn) <= width
    assert len(drawn) == pytest.approx(share * width, abs=1.0)


def test_markdown_has_the_words_of_the_terminal(records):
    """The same shape, figures, gain, doubt and command; the tables below have ids and intervals."""
    for name in ("table", "zips", "part", "noisy", "one", "messages"):
        shown = " ".join(re.sub(r"\\(?=[\[\]*_`#|<>{}])", "", markdown.render(records[name])).split())
        found = digest(records[name])
        for part in answer.parts_of(found):
            assert part in shown, (name, part)
        assert answer.signed(answer.about(found)) in shown
        doubt = answer.signed(" ".join(str(found.verdict.get("doubt") or "").replace("`", "").split()))
        assert doubt in shown, (name, doubt)
        for label, one in answer.routes_of(found):
            assert re.search(rf"{label}:? \*\*{re.escape(title_of(one['codec']))}\*\*", shown), (name, label)
            assert answer.signed(answer.cells(found, one)[0]) in shown
        command = re.search(r"(?:Do it|Python): +(.*)", terminal.render(records[name]))[1]
        assert f"Do it: `{command}`" in shown, name
    ours = made("document", OURS)
    ours["dataset"] |= {"name": "own.yaml", "source_format": "yaml", "bytes_disk": 10**6}
    ours["settings"] = {"profile": "keep"}
    ours["derived"] = derive(ours)
    assert (
        "Or: `tare convert own.yaml own.json --codec json:orjson`, for other tools: JSON"
        in markdown.render(ours)
    )


def test_tables_of_a_part_say_so(records):
    """Above them the sizes of the whole stand."""
    said = "sizes and times are of the part that was measured, 5.5 %"
    for shown in (terminal.render(records["part"], verbose=True, width=80), markdown.render(records["part"])):
        assert said in " ".join(shown.split())
    for shown in (terminal.render(records["zips"], verbose=True, width=80), markdown.render(records["zips"])):
        assert "the part that was measured" not in " ".join(shown.split())


def test_that_the_garbage_collector_was_off_is_said_where_details_are(records):
    """In the footnotes of all figures and on the page; not in the answer, nor where it ran or is not known."""
    said = "Python's garbage collector was off while calls were timed"
    record = records["zips"]
    assert said not in terminal.render(record)
    assert said in " ".join(terminal.render(record, verbose=True).split())
    assert said in markdown.render(record)
    assert said in html.unescape(render_html(record))
    for level in ("on", None):
        changed = copy.deepcopy(record)
        for case in changed["cases"]:
            case["labels"]["gc"] = level
        assert "garbage collector" not in " ".join(terminal.render(changed, verbose=True).split())
