"""`tare.measure(data)`: the package as a function, in the words of the command line."""

from __future__ import annotations

import inspect
import re
from types import ModuleType

import pytest

import tare
from tare.cli.measure import command
from tare.errors import UsageError
from tare.measure.calling import arguments_of
from tare.measure.verdict.cost_model import PROFILES


def test_the_package_is_a_module_and_callable() -> None:
    """What was there stays: names, submodules, and `run` as the function."""
    import tare.measure.run
    from tare.measure import run

    assert isinstance(tare.measure, ModuleType)
    assert callable(tare.measure)
    assert run is tare.measure.run
    assert inspect.isfunction(run)
    assert "Measures every codec" in (inspect.getdoc(type(tare.measure).__call__) or "")


def test_a_document_is_measured() -> None:
    """A use, a time as text, and codecs that are left out."""
    words = {
        "use": "keep",
        "time": "0s",  # without a limit
        "quick": True,
        "codecs": ["json:orjson", "json:stdlib", "pickle"],
        "exclude": "pickle",
    }
    result = tare.measure({"a": [1, 2.5, None]}, **words)
    assert isinstance(result, tare.Result)
    measured = {case["labels"]["codec"] for case in result.cases}
    assert {"json:orjson", "json:stdlib"} == measured - {"copy"}
    assert result.best.codec.format_id == "json"


def test_a_file_is_read_as_its_format(tmp_path) -> None:
    """Where neither bytes nor name tell it."""
    (tmp_path / "x").write_bytes(b"a;b\n1;2\n")
    path = str(tmp_path / "x")
    result = tare.measure(
        path, time=0, quick=True, format="csv", codecs="csv:stdlib@memory", out=tmp_path / "r.tare.json"
    )
    assert "table" == result.record["dataset"]["kind"]
    assert {"memory"} == {case["labels"]["medium"] for case in result.cases}
    assert result.record["id"] == tare.measure.load(tmp_path / "r.tare.json").record["id"]


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ({"time": 20}, {"time_s": 20}),
        ({"time": "1m"}, {"time_s": 60.0}),
        ({"max_memory": "2GiB"}, {"max_bytes": 2 << 30}),
        ({"max_memory": 1000}, {"max_bytes": 1000}),
        ({"codecs": "json:*", "must": "keep-types"}, {"codecs": ("json:*",), "must": ("keep-types",)}),
        ({"codecs": None, "media": ["file", "memory"]}, {"codecs": None, "media": ("file", "memory")}),
        ({"stop": 3.0, "seed": 4, "out": "x"}, {"stop_s": 3.0, "seed": 4, "out": "x"}),
        *(({"use": name}, {"profile": name}) for name in PROFILES),
    ],
)
def test_words_become_settings(words, given) -> None:
    assert given == arguments_of(words)


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({"use": "kep"}, UsageError, "invalid use 'kep': expected keep, cache"),
        ({"time": "soon"}, UsageError, "invalid time 'soon': expected seconds, or e.g. 20s"),
        ({"max_memory": "much"}, UsageError, "invalid max_memory 'much': expected bytes, or e.g. 500MB"),
        ({"tmie": 3}, TypeError, "no option 'tmie'; did you mean time"),
        ({"codec": "json"}, TypeError, "no option 'codec'; did you mean codecs"),
        ({"codecs": "json@flie"}, UsageError, "there is no medium 'flie'"),
    ],
)
def test_mistakes_are_told_before_anything_starts(words, error, message) -> None:
    with pytest.raises(error, match=message):
        tare.measure([1], **words)


def test_every_word_of_the_command_can_be_said() -> None:
    """But for what only a terminal has; `for`, `not` and `dir` are words of Python's own."""
    only_there = {
        "as_csv", "as_json", "as_md", "data", "dry_run", "html", "like", "progress", "quiet", "strict", "verbose", "format_",
        "encoding", "profile", "time_s", "stop_s",
    }  # fmt: skip
    for parameter in command.params:
        if parameter.name not in only_there and parameter.name is not None:
            arguments_of({parameter.name: None})
    assert {"use", "time", "format", "encoding"} <= set(inspect.signature(tare.measure).parameters)


def test_the_package_tells_each_parameter_of_the_call() -> None:
    """`help(tare.measure)` shows its docstring, not that of the call."""
    named = set(inspect.signature(type(tare.measure).__call__).parameters) - {"self"}
    told = set(re.findall(r"^ {4}(\w+): ", tare.measure.__doc__ or "", re.MULTILINE))
    assert named <= told


@pytest.mark.parametrize("words", [{}, {"format": "json"}])
def test_a_name_that_stands_twice_in_an_object_is_noted(tmp_path, words):
    """Readers keep the last value, so that no codec loses what was lost before: `tare convert` says the same."""
    (tmp_path / "twice.json").write_text('{"a": 1, "a": 2}')
    result = tare.measure(tmp_path / "twice.json", time=2, codecs="json:orjson", **words)
    said = "the name 'a' stands twice in one object; only the last of its values is kept"
    assert said in result.record["dataset"]["notes"]
    assert said in tare.convert(tmp_path / "twice.json", tmp_path / "x.msgpack").notes
