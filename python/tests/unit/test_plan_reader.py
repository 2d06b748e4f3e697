"""Plan files: every key is known, every mistake is told with file, place and the nearest key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tare.codec import Codec, candidates
from tare.errors import PlanError, UsageError
from tare.measure.cases import case_key, full_labels, label_text, operations, parse_key
from tare.measure.estimate import estimate
from tare.measure.plan.availability import asked_for, left_after
from tare.measure.plan.plan import MAX_FILE_BYTES, PLANS, Plan
from tare.measure.settings import Settings

BLOCK: dict[str, Any] = {"dataset": ["d.csv"], "codec": ["csv:stdlib"]}


def plan(**more: Any) -> dict[str, Any]:
    """The smallest plan, with changes."""
    return {"plan": 1, "name": "p", "block": [BLOCK], **more}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "p.toml: plan: this version reads plan = 1, not None"),
        (plan(plan=2), "p.toml: plan: this version reads plan = 1, not 2"),
        (plan(plan=True), "p.toml: plan: this version reads plan = 1, not True"),
        (plan(blocks=[]), "p.toml: blocks: unknown key; did you mean block?"),
        (plan(name=""), "p.toml: name: text of at most 1000 characters is needed"),
        (plan(block=[]), "p.toml: block: a plan needs at least one [[block]] with dataset and codec"),
        (plan(block=BLOCK), "p.toml: block: write it as [[block]], not a table"),
        (plan(block=[{"codec": ["csv"]}]), "p.toml: block[1]: a block needs dataset = [...]"),
        (
            plan(block=[{**BLOCK, "meduim": ["file"]}]),
            "p.toml: block[1].meduim: unknown key; did you mean medium?",
        ),
        (plan(block=[{**BLOCK, "twin": ["1"]}]), "p.toml: block[1].twin: unknown key"),
        (
            plan(block=[{**BLOCK, "sync": ["often"]}]),
            "p.toml: block[1].sync: sync is one of none, fsync, not 'often'",
        ),
        (
            plan(block=[{**BLOCK, "size": [2]}]),
            "p.toml: block[1].size: size is a share of the data in (0, 1], not 2",
        ),
        (
            plan(block=[{**BLOCK, "size": ["nan"]}]),
            "p.toml: block[1].size: size is a share of the data in (0, 1]",
        ),
        (
            plan(block=[{**BLOCK, "medium": []}]),
            "p.toml: block[1].medium: 1 to 10000 levels are needed, not 0",
        ),
        (
            plan(block=[{**BLOCK, "codec": [["csv"]]}]),
            "p.toml: block[1].codec: a level is text or a number, not a list",
        ),
        (plan(block=[{**BLOCK, "codec": ["a|b"]}]), "a level of codec is text without line ends and |"),
        (plan(block=[{**BLOCK, "codec": [10**5000]}]), "not a number of 16610 bits"),
        (
            plan(block=[{**BLOCK, "operations": ["fly"]}]),
            "block[1].operations: a list of encode, decode, write",
        ),
        (plan(grow={"start": 0}), "p.toml: grow.start: a number in [1e-09, 1] is needed, not 0"),
        (plan(grow={"factor": 1}), "p.toml: grow.factor: a number in [1.01, 1e+09] is needed, not 1"),
        (plan(grow={"factor": float("nan")}), "p.toml: grow.factor: a number in"),
        (plan(grow={"stop": 3}), "p.toml: grow.stop: unknown key; did you mean stop_s?"),
        (
            plan(statistics={"launches": 0}),
            "p.toml: statistics.launches: a whole number in [1, 10000] is needed, not 0",
        ),
        (
            plan(statistics={"rounds": True}),
            "p.toml: statistics.rounds: a whole number in [1, 10000] is needed, not True",
        ),
        (plan(override=[{"note": "x"}]), "p.toml: override[1].where: where = { factor = level } is needed"),
        (
            plan(override=[{"where": {"codek": "x"}}]),
            "p.toml: override[1].where.codek: unknown key; did you mean codec?",
        ),
        (plan(exclude=[{"where": {}}]), "p.toml: exclude[1].where: where = { factor = level } is needed"),
        (plan(command="rm"), "p.toml: command: unknown key"),
        (plan(worker={"r": "Rscript"}), "p.toml: worker: unknown key"),
    ],
)
def test_mistakes_are_told_with_their_place(value: dict[str, Any], message: str) -> None:
    """File, key path and what is allowed."""
    with pytest.raises(PlanError) as caught:
        Plan.from_dict(value, source="p.toml")
    assert str(caught.value).startswith(message) or message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"plan = ", "not TOML"),
        (b"\xff\xfe", "not UTF-8 text at byte 0"),
        (b"x = " + b"[" * 100_000, "nested too deeply"),
        (b"x = " + b"9" * 10_000, "not TOML"),
        (b"#" * (MAX_FILE_BYTES + 1), "a plan has at most 1048576 bytes"),
    ],
)
def test_files_that_are_no_plan(text: bytes, message: str, tmp_path: Path) -> None:
    """Garbage is one clear error that names the file."""
    path = tmp_path / "mine.toml"
    path.write_bytes(text)
    with pytest.raises(PlanError, match=message) as caught:
        Plan.read(path)
    assert str(caught.value).startswith("mine.toml: ")


def test_unknown_name_lists_the_plans() -> None:
    """A plan that is neither named nor a file says what there is."""
    with pytest.raises(PlanError, match=", ".join(PLANS)):
        Plan.open("transport")


def test_product_union_and_replacement() -> None:
    """Blocks multiply within, unite between, and a later block takes over what it names again."""
    value = plan(
        block=[
            {**BLOCK, "medium": ["memory", "file"], "threads": [1, "all"]},
            {**BLOCK, "medium": ["file"], "operations": ["write"]},
        ]
    )
    cases = Plan.from_dict(value).cases()
    assert 4 == len(cases)
    again = next(case for case in cases if case.labels["medium"] == "file" and case.labels["threads"] == "1")
    assert ("write",) == again.operations
    assert cases[-1] is again


def test_exclude_and_override() -> None:
    """Excluded cases are gone; overridden ones carry the note, and say so above their largest size."""
    value = plan(
        block=[{"dataset": ["d"], "codec": ["yaml:a", "yaml:b", "csv:c"], "size": [0.1, 0.14, 0.2, 1]}],
        exclude=[{"where": {"codec": "csv:*"}}],
        override=[{"where": {"codec": "yaml:a"}, "max_size": 0.14, "note": "overflows", "launches": 2}],
    )
    cases = Plan.from_dict(value).cases()
    assert {"yaml:a", "yaml:b"} == {case.labels["codec"] for case in cases}
    mine = [case for case in cases if case.labels["codec"] == "yaml:a"]
    assert ["pending", "pending", "n/a", "n/a"] == [case.status for case in mine]
    assert "not run above size 0.14: overflows" == mine[-1].reason
    assert {("overflows", 2)} == {(case.note, case.launches) for case in mine}
    assert {("", 0)} == {(case.note, case.launches) for case in cases if case not in mine}


def test_growth_goes_through_its_sizes() -> None:
    """Sizes multiply from the start and end at exactly 1; a block's own sizes stand."""
    value = plan(
        grow={"start": 0.25, "factor": 2}, block=[BLOCK, {**BLOCK, "medium": ["file"], "size": [0.3]}]
    )
    sizes = [(case.labels["medium"], case.labels["size"]) for case in Plan.from_dict(value).cases()]
    assert [("memory", "0.25"), ("memory", "0.5"), ("memory", "1"), ("file", "0.3")] == sizes


def test_what_a_growing_plan_does_not_heed_is_noted() -> None:
    """It makes one launch a size: what its file says of launches is told as not used, and nothing else is."""
    override = {"where": {"codec": "json:stdlib"}, "launches": 2, "note": "x"}
    value = plan(statistics={"launches": 5, "rounds": 9, "slow_rounds": 1}, override=[override])
    assert Plan.from_dict(value).notes == ()
    grown = Plan.from_dict({**value, "grow": {"start": 0.25}})
    (note,) = grown.narrow(stop_s=1.0).notes
    names, _, why = note.partition(": ")
    assert names.split(", ") == ["statistics.launches", "statistics.slow_rounds", "override[1].launches"]
    assert "one launch a size" in why
    assert f"  note: {note}" in estimate(None, grown, Settings())
    heeded = {**value, "grow": {}, "statistics": {"rounds": 9, "deadline_s": 5}, "override": []}
    assert Plan.from_dict(heeded).notes == ()
    assert grown == Plan.from_dict(grown.as_dict()), "a note is no part of the question"
    assert all(not Plan.named(name).notes for name in PLANS)


def test_too_many_cases_are_refused_before_they_are_made() -> None:
    """A product of 10^12 is an error at once, not an hour later."""
    many = [str(n) for n in range(10_000)]
    with pytest.raises(PlanError, match="100000000 cases; a plan has at most 100000"):
        Plan.from_dict(plan(block=[{"dataset": many, "codec": many}])).cases()


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("yaml:*", {"yaml:pyyaml", "yaml:pyyaml,loader=c", "yaml:ruamel"}),
        ("yaml:pyyaml", {"yaml:pyyaml"}),
        ("yaml:pyyaml,loader=c", {"yaml:pyyaml,loader=c"}),
        ("yaml", {"yaml:pyyaml"}),
        ("pickle", {"pickle"}),
        ("pickle:stdlib", {"pickle"}),
        ("pickle,protocol=5", {"pickle"}),
        ("pickle*", {"pickle", "pickle,protocol=0", "pickle,protocol=2", "pickle,impl=python"}),
    ],
)
def test_an_id_narrows_to_one_codec_and_a_star_to_all_that_begin_so(asked: str, kept: set[str]) -> None:
    """What an id leaves out is at its default, as everywhere; only ``*`` stands for several."""
    found = {case.labels["codec"] for case in Plan.named("load").narrow(codecs=[asked]).cases()}
    assert kept == found


def test_nothing_left_of_a_plan_is_an_error() -> None:
    """A medium that the plan does not have is named."""
    named = Plan.named("load")
    with pytest.raises(PlanError, match="the plan has no case with tcp"):
        named.narrow(media=["tcp"])
    assert 3.0 == Plan.named("transports").narrow(stop_s=3.0).grow.stop_s  # type: ignore[union-attr]


def test_supports_is_asked_once_per_curve() -> None:
    """Whether a combination can be measured does not depend on the size."""
    asked = []

    def supports(labels: Any) -> str | None:
        asked.append(labels["codec"])
        return "not today" if labels["codec"] == "b" else None

    value = plan(grow={"start": 0.25}, block=[{"dataset": ["d"], "codec": ["a", "b"]}])
    cases = Plan.from_dict(value).cases(supports=supports)
    assert ["a", "b"] == asked
    assert {("a", "pending", ""), ("b", "n/a", "not today")} == {
        (case.labels["codec"], case.status, case.reason) for case in cases
    }


def test_keys_and_labels() -> None:
    """A key holds its labels, and defaults of rare factors are not in it."""
    labels = full_labels(
        {"dataset": "d", "codec": "csv", "size": "0.50", "grain": "whole", "subset": "first"}
    )
    assert "0.5" == labels["size"]
    assert "grain" not in labels
    assert labels == parse_key(case_key(labels))
    assert "1" == label_text("size", 1)


@pytest.mark.parametrize("labels", [{"dataset": "d"}, {"codec": "c", "dataset": "d", "colour": "red"}])
def test_labels_need_data_and_codec(labels: dict[str, str]) -> None:
    """A case without a codec, or with an unknown factor, is refused."""
    with pytest.raises(UsageError):
        full_labels(labels)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"medium": "memory"}, ("encode", "decode")),
        ({"medium": "conn"}, ("write", "read")),
        ({"medium": "file"}, ("write", "read")),
        ({"medium": "store"}, ("write", "read")),
        ({"medium": "fifo"}, ("send", "receive", "span")),
        ({"medium": "file", "sync": "fsync"}, ("write",)),
        ({"medium": "file", "cache": "cold"}, ("read",)),
        ({"medium": "file", "materialise": "open"}, ("open",)),
        ({"medium": "file", "materialise": "touch"}, ("read",)),
        ({"medium": "file", "subset": "column:a"}, ("subset",)),
    ],
)
def test_operations_follow_from_the_labels(labels: dict[str, str], expected: tuple[str, ...]) -> None:
    """What is timed is what the combination is about."""
    assert expected == operations(labels)


def test_a_star_means_the_same_without_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """--codec names one codec, or with a star those of the default run that begin so."""
    monkeypatch.setenv("PATH", "/nonexistent")
    installed = candidates("document")
    every = [codec for codec in installed if str(codec).startswith("json:")]
    assert len(every) > 2
    found, left_out = asked_for(["json:*"], installed)
    assert every == found
    assert left_out == [
        "codecs of R, Node, Java, Mono and Rust (not installed: see tare codecs --language NAME)"
    ]
    assert ["pickle"] == [str(codec) for codec in asked_for(["pickle", "pickle:stdlib"], installed)[0]]
    with pytest.raises(UsageError, match="begins with 'jsn'"):
        asked_for(["jsn*"], installed)


def test_what_is_left_out_must_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")  # no other language has it either
    found = [Codec.parse(text) for text in ("json:orjson", "json:stdlib", "csv:stdlib")]
    assert ["csv:stdlib"] == [str(codec) for codec in left_after(["json"], found)]
    assert ["json:stdlib", "csv:stdlib"] == [str(codec) for codec in left_after(["json:o*"], found)]
    assert found == left_after(["yaml:pyyaml"], found)  # known, and not among them anyway
    for mistyped in ("nothing", "json:orjsn", "jsn"):
        with pytest.raises(UsageError, match=mistyped.partition(":")[0]):
            left_after([mistyped], found)
