"""`tare compare` and `tare gate`: output, exit codes, and hostile records."""

from __future__ import annotations

import copy
import json

import pytest
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare import cli
from tare.measure.records import record as records

QUIET = {"launch_sd": 0.003, "noise_sd": 0.004, "preempted": 0.0}


def made(seed, factor=1.0):
    truth = (Planted("json:stdlib", 60, 50, 0.5), Planted("json:other", 30 * factor, 20 * factor, 0.5))
    found = synthetic_record(
        "document", planted=truth, media=("memory",), growth=False, derived=False, seed=seed, **QUIET
    )
    found["machine"]["host"] = found["dataset"]["hash"] = "same"
    return found


@pytest.fixture
def paths(tmp_path):
    """A baseline, a record as fast, and one with a codec 1.3 times slower."""
    found = {}
    for name, record in (("before", made(1)), ("after", made(2)), ("slow", made(3, 1.3))):
        found[name] = str(tmp_path / f"{name}.tare.json")
        records.write_record(record, found[name])
    return found


def run(capsys, *words):
    with pytest.raises(SystemExit) as end:
        cli.main([str(word) for word in words])
    out, err = capsys.readouterr()
    return end.value.code or 0, out, err


def test_compare_shows_what_differs(paths, capsys):
    """The slower codec has its ratio and a word; the others are counted."""
    code, out, err = run(capsys, "compare", paths["before"], paths["slow"])
    assert (code, err) == (0, "")
    row = next(line for line in out.splitlines() if line.startswith("json:other") and " total " in line)
    assert "1.3" in row
    assert "slower" in row
    assert "1 case not shown to differ (--all shows them)" in out
    assert max(map(len, out.splitlines())) <= 140


def test_compare_all_and_json(paths, capsys):
    """--all lists every case; --json is the whole comparison."""
    _, out, _ = run(capsys, "compare", paths["before"], paths["after"], "--all")
    assert "no difference shown" in out
    code, out, _ = run(capsys, "compare", paths["before"], paths["after"], "--json")
    assert code == 0
    assert len(json.loads(out)["cases"]) == 2


def test_compare_refuses_other_machines(paths, capsys, tmp_path):
    """One line that says what differs and what to do."""
    other = made(4)
    other["machine"]["host"] = "elsewhere"
    path = tmp_path / "other.tare.json"
    records.write_record(other, path)
    code, out, err = run(capsys, "compare", paths["before"], path)
    assert (out, len(err.strip().splitlines())) == ("", 1)
    assert code == 2
    assert "--across" in err
    code, out, _ = run(capsys, "compare", paths["before"], path, "--across")
    assert code == 0
    assert out.splitlines()[2].startswith("across: host: same and elsewhere")


def test_gate_passes_fails_and_cannot_say(paths, capsys, monkeypatch):
    """Exit codes 0, 3 without a way to confirm, 1 when fresh launches confirm it."""
    code, out, _ = run(capsys, "gate", "--baseline", paths["before"], paths["after"])
    assert (code, out.splitlines()[-1]) == (0, "gate passed: 2 cases checked")
    code, out, _ = run(capsys, "gate", "--baseline", paths["before"], paths["slow"])
    assert (code, out.splitlines()[-1]) == (3, "gate cannot say: 2 cases checked")
    assert run(capsys, "gate", "--baseline", paths["before"], paths["slow"], "--unsure", "pass")[0] == 0
    from tare import measure

    monkeypatch.setattr(measure, "run", lambda data, **settings: made(5, 1.3))
    code, out, err = run(
        capsys, "gate", "--baseline", paths["before"], paths["slow"], "--data", "companies.ndjson"
    )
    assert (code, err.strip()) == (1, "measuring json:other")
    assert out.splitlines()[0].startswith("fail    json:other on memory, total: 1.3")
    assert out.splitlines()[-1] == "gate failed: 2 cases checked"


def test_gate_without_a_record_measures_every_codec_of_the_baseline(paths, capsys, monkeypatch):
    """It asks for the baseline's codecs, media and base, once."""
    asked = []

    def measured(data, **settings):
        found = settings["settings"]
        asked.append((data, found.codecs, found.media, found.base, found.share))
        return made(6)

    from tare import measure

    monkeypatch.setattr(measure, "run", measured)
    code, out, _ = run(capsys, "gate", "--baseline", paths["before"], "--data", "d.ndjson", "--json")
    assert asked == [("d.ndjson", ("json:other", "json:stdlib"), ("memory",), "json:stdlib", 1.0)]
    assert (code, json.loads(out)["outcome"]) == (0, "pass")


@pytest.mark.parametrize(("text", "seconds"), [("20s", 20.0), ("2m", 120.0), ("7", 7.0)])
def test_gate_takes_times_as_measure_does(text, seconds, paths, capsys, monkeypatch):
    """--time 20s is twenty seconds of each measuring."""
    from tare import measure

    asked = []

    def measured(data, **settings):
        asked.append(settings["settings"].time_s)
        return made(6)

    monkeypatch.setattr(measure, "run", measured)
    run(capsys, "gate", "--baseline", paths["before"], "--data", "d.ndjson", "--time", text)
    assert [seconds] == asked


def test_another_share_is_told_in_words_and_measured_anew(paths, capsys, monkeypatch, tmp_path):
    """Compare fails and says so; gate cannot say, and with the data measures at the baseline's share."""
    part = made(4)
    for case in part["cases"]:
        case["labels"]["size"] = "0.45"
        case["key"] = case["key"].replace("|size=1|", "|size=0.45|")
    other = str(tmp_path / "part.tare.json")
    records.write_record(part, other)
    said = "A weighed 100 %, B 45 % of the data: not comparable"
    code, out, err = run(capsys, "compare", paths["before"], other)
    assert (code, out) == (2, "")
    assert said in err
    code, out, err = run(capsys, "compare", paths["before"], other, "--json")
    assert (code, said in json.loads(out)["unlike"]) == (2, True)
    code, out, err = run(capsys, "gate", "--baseline", paths["before"], other)
    assert (code, said in out, "not measured" in out) == (3, True, False)
    from tare import measure

    monkeypatch.setattr(measure, "run", lambda data, **_: made(6))
    code, out, err = run(capsys, "gate", "--baseline", paths["before"], other, "--data", "d.ndjson")
    assert (code, out.splitlines()[-1]) == (0, "gate passed: 2 cases checked")
    assert said in err


def test_cases_of_one_record_only_are_told_in_words(paths, capsys, tmp_path):
    """The codec, the medium, the share, and what became of it in the other record: no keys."""
    fewer = made(4)
    for case in fewer["cases"]:
        if case["labels"]["codec"] == "json:other":
            case.update(stage="screen", status="screened", reason="not among the best few", launches=[])
    other = str(tmp_path / "fewer.tare.json")
    records.write_record(fewer, other)
    code, out, _ = run(capsys, "compare", paths["before"], other)
    line = "only in A: json:other on memory, 100 % of the data; B: screened: not among the best few"
    assert (code, line in out.splitlines()) == (0, True)
    code, out, _ = run(capsys, "gate", "--baseline", paths["before"], other)
    assert code == 3
    assert "json:other on memory is in the baseline only; now: screened: not among the best few" in out


def test_measure_like_a_record_weighs_what_it_weighed(paths, monkeypatch):
    """Share, codecs, media, base and time are the record's, but for what is given."""
    from tare.cli.measure import command, settings_of

    def asked(*words):
        return settings_of(command.make_context("measure", ["d.json", *words]).params)

    found = asked("--like", paths["before"])
    assert ("json:other", "json:stdlib") == found.codecs
    assert (1.0, ("memory",), "json:stdlib") == (found.share, found.media, found.base)
    assert 7.0 == asked("--like", paths["before"], "--time", "7s").time_s
    assert 0.5 == asked("--like", paths["before"], "--share", "0.5").share
    assert asked().share is None


def test_gate_without_anything_to_hold_against_is_a_usage_error(paths, capsys):
    """Neither a record nor data: exit 2 and what to give."""
    code, out, err = run(capsys, "gate", "--baseline", paths["before"])
    assert (code, out) == (2, "")
    assert "--data" in err


def test_text_of_a_foreign_record_is_printed_harmlessly(paths, capsys, tmp_path):
    """Terminal escapes and bidirectional marks in names are shown as their codes."""
    evil = copy.deepcopy(made(2))
    for case in evil["cases"]:
        case["labels"]["note"] = "\x1b[2J"
        case["key"] += "|note=\x1b[2J\u202e"
        if case["labels"]["codec"] == "json:other":
            case["verify"]["changes"] = [
                {"path": "a\x1b[31m\u202eb", "verdict": "lossy", "count": 1, "in": "1", "out": "2"}
            ]
    path = tmp_path / "evil.tare.json"
    path.write_text(json.dumps(evil), encoding="utf-8")
    for words in (("compare", paths["before"], path, "--all"), ("gate", "--baseline", paths["before"], path)):
        _, out, err = run(capsys, *words)
        assert "\x1b" not in out + err
        assert "\u202e" not in out + err
