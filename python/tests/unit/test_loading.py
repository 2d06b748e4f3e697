"""Values that a language would load as others: the case is refused, and says why."""

from __future__ import annotations

import decimal
import json
import random
from pathlib import Path

import pyarrow as pa
import pytest
from support.capabilities import need_worker_codec
from support.plans import one_round_plan
from support.shared_workers import shared_worker
from support.worker_requests import ask, load_document

from tare import measure
from tare.dataset import Dataset
from tare.errors import WorkerError
from tare.measure.worker_client.load_check import changed_types, handed, refuse_other_values
from tare.tagged import from_tagged

CODECS = {"r": "rds:r", "mono": "bson:mono-newtonsoft"}


@pytest.mark.parametrize(
    ("language", "held", "beyond"),
    [
        ("r", (2**53, -(2**53)), (2**53 + 1, -(2**53) - 2)),
        ("rust", (2**64 - 1, -(2**63)), (2**64, -(2**63) - 1, 10**5000)),
    ],
)
def test_whole_numbers_that_a_language_lacks(
    tmp_path: Path, language: str, held: tuple[int, ...], beyond: tuple[int, ...]
) -> None:
    for n, number in enumerate(held):
        path = tmp_path / f"held-{n}.json"
        path.write_text(f'{{"a": [1.5, {number:d}, "{2**70}"]}}')
        refuse_other_values(str(path), "json", language)
    for n, number in enumerate(beyond):
        text = "9" * 5000 if number == 10**5000 else str(number)
        path = tmp_path / f"beyond-{n}.json"
        path.write_text(f'{{"a": [1.5, {text}]}}')
        with pytest.raises(WorkerError, match=f"the whole number {text[:15]}") as caught:
            refuse_other_values(str(path), "json", language)
        assert (caught.value.type, caught.value.phase) == ("refused", "load")
        for other in ("", "node", "java"):
            refuse_other_values(str(path), "json", other)


def test_a_run_tells_it(tmp_path: Path) -> None:
    need_worker_codec("rds:r", language="r")
    result = measure.run({"id": [2**53 + 1]}, plan=one_round_plan("rds:r", "json:stdlib"), time_s=0)
    (case,) = [
        case for case in result.cases if case["labels"]["codec"] == "rds:r" and "twin" not in case["labels"]
    ]
    assert case["status"] == "refused"
    assert f"R loads the whole number {2**53 + 1} as another one" in case["reason"]


def test_doubles_are_handed_by_their_bits_where_decimals_are_read_inexactly(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text('[{"a": 0.130293816489, "b": 1}]')
    for language, kind in (
        ("r", "values"),
        ("mono", "values"),
        ("", "json"),
        ("node", "json"),
        ("java", "json"),
    ):
        assert handed(str(path), "json", language)[1] == kind
    text = Path(handed(str(path), "json", "mono")[0]).read_text(encoding="utf-8")
    assert "$f64" in text
    assert from_tagged(json.loads(text)) == [{"a": 0.130293816489, "b": 1}]
    path.write_text('[{"a": 7, "b": "1.5"}]')
    assert handed(str(path), "json", "mono") == (str(path), "json")


@pytest.mark.parametrize(
    "text",
    [
        '[{"$f64":"3ff8000000000000","as":"numpy"},{"$f64":"3ff8000000000000"}]',
        '[{ "$f64" : "3ff8000000000000" , "as" : "numpy" }]',
        '[{"$f64":"3ff8000000000000"},{"x":{"$f64":"3ff8000000000000"}},{"$int":"7"}]',
        '{"a":"$5","b":{"$f64":"bff8000000000000"}}',
    ],
)
def test_r_takes_doubles_by_their_bits_whatever_else_is_said_of_them(tmp_path: Path, text: str) -> None:
    codec = CODECS["r"]
    need_worker_codec(codec, language="r")
    path, out, tagged = tmp_path / "v.json", tmp_path / "out", tmp_path / "tagged"
    path.write_text(text)
    with shared_worker("r") as worker:
        load_document(worker, path, "values")
        ask(worker, "prepare", codec=codec, cold=False)
        ask(worker, "encode_to", codec=codec, path=str(out))
        ask(worker, "decode_from", codec=codec, path=str(out), out=str(tagged))
    assert from_tagged(json.loads(tagged.read_text())) == from_tagged(json.loads(text))


@pytest.mark.parametrize("language", CODECS)
def test_what_a_worker_holds_are_the_very_doubles(tmp_path: Path, language: str) -> None:
    """Those among them that its language reads from decimals as the double beside."""
    codec = CODECS[language]
    need_worker_codec(codec, language=language)
    chosen = random.Random(7)
    value = {
        "x": [
            0.130293816489,
            5e-324,
            1.7976931348623157e308,
            *(chosen.uniform(-1e3, 1e3) for _ in range(3000)),
        ]
    }
    path = tmp_path / "d.json"
    path.write_text(json.dumps(value))
    where, kind = handed(str(path), "json", language)
    out, tagged = tmp_path / "out", tmp_path / "tagged"
    with shared_worker(language) as worker:
        load_document(worker, Path(where), kind)
        ask(worker, "prepare", codec=codec, cold=False)
        ask(worker, "encode_to", codec=codec, path=str(out))
        ask(worker, "decode_from", codec=codec, path=str(out), out=str(tagged))
    assert from_tagged(json.loads(tagged.read_text())) == value


def test_a_parser_that_is_inexact_is_told_so(tmp_path: Path) -> None:
    """Json.NET on Mono reads some decimals as the double beside the nearest: not all is kept."""
    need_worker_codec("json:mono-newtonsoft", language="mono")
    value = [0.0433024077266] * 10
    found = measure.run(value, plan=one_round_plan("json:mono-newtonsoft", "json:stdlib"), time_s=0)
    (case,) = [
        one
        for one in found.cases
        if one["labels"]["codec"] == "json:mono-newtonsoft" and "twin" not in one["labels"]
    ]
    assert case["status"] == "lossy", case.get("reason")


def bits(*values: str) -> pa.Array:
    """Doubles by their bits."""
    data = b"".join(bytes.fromhex(value)[::-1] for value in values)
    return pa.Array.from_buffers(pa.float64(), len(values), [None, pa.py_buffer(data)])


DOUBLES = pa.concat_arrays([bits("7ff8000000000000", "00000000000007a2"), pa.array([1.5, None])])


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (pa.array([decimal.Decimal("1.50"), None]), ""),
        (pa.array([2**53 + 1, None]), ""),
        (pa.array([1600000000123456000], pa.timestamp("ns")), ""),
        (pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())), ""),
        (pa.array([[3_000_000_000], [1], None, [], [2**62 + 1, None]], pa.list_(pa.int64())), ""),
        (pa.array([[[-3_000_000_000]], [[1], []]], pa.list_(pa.list_(pa.int64()))), ""),
        (pa.array([{"a": [3_000_000_000]}, {"a": [1]}]), ""),
        (pa.array([[("a", 3_000_000_000)], []], pa.map_(pa.string(), pa.int64())), ""),
        (pa.array([[2**63], [1]], pa.list_(pa.uint64())), ""),
        (pa.array([[-(2**63)], [1]], pa.list_(pa.int64())), "[-9223372036854775808]"),
        (pa.array([decimal.Decimal("12345678901234567890.12")]), "1.2345678901234567e+19"),
        (pa.array([1600000000123456789], pa.timestamp("ns")), "12:26:40.123456789"),
        (pa.array([{"a": 1}, None]), "'a': None"),
        (DOUBLES, ""),
        (pa.concat_arrays([DOUBLES, bits("7ff00000000007a2")]), "nan(0x7ff00000000007a2) as null"),
        (bits("fff80000000007a2"), "nan(0xfff80000000007a2) as null"),
    ],
)
def test_columns_that_r_does_not_hold_are_refused(tmp_path: Path, cells: pa.Array, said: str) -> None:
    """What came back would be held against other cells than the table has, and nothing would be lost by it."""
    table = pa.table({"held": pa.array(["x"] * len(cells)), "c": cells})
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(str(path), table.schema) as out:
        out.write_table(table)
    if not said:
        assert handed(str(path), "arrow", "r") == (f"{path}.rds", "rds")
        return
    with pytest.raises(WorkerError, match="R loads column 'c' with other values") as caught:
        handed(str(path), "arrow", "r")
    assert said in str(caught.value)
    assert (caught.value.type, caught.value.phase) == ("refused", "load")


def test_a_column_that_cannot_be_checked_says_so(tmp_path: Path) -> None:
    """A list in a data frame is of the type of its values, one without values of none: each frame of R has its own."""
    records = pa.list_(pa.struct({"a": pa.list_(pa.int64())}))
    table = pa.table({"held": [1, 2], "c": pa.array([[{"a": None}], [{"a": [1]}]], records)})
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(str(path), table.schema) as out:
        out.write_table(table)
    with pytest.raises(WorkerError) as caught:
        handed(str(path), "arrow", "r")
    said = str(caught.value)
    assert (
        "column 'c' (list<item: struct<a: list<item: int64>>>) cannot be checked: in R its values are of several types"
        in said
    )
    assert ("loads" in said, "X\\n" in said) == (False, False)
    assert (caught.value.type, caught.value.phase) == ("refused", "load")


def test_columns_that_r_loads_as_another_type_are_told(tmp_path: Path) -> None:
    """None of R's codecs gives those types back, though each keeps what R holds."""
    table = pa.table(
        {
            "price": pa.array([decimal.Decimal("1.10"), None], pa.decimal128(10, 2)),
            "n": pa.array([1, 2], pa.int64()),
            "x": [0.5, 1.5],
            "s": ["a", None],
        }
    )
    path = str(tmp_path / "part")
    Dataset(table, name="x").save(path)
    told = changed_types(path, "arrow", "r")
    assert {(one["path"], one["verdict"]) for one in told} == {("price", "type"), ("n", "type")}
    assert changed_types(path, "arrow", "node") == []


def test_metadata_keep_no_table_from_r(tmp_path: Path) -> None:
    """No value is another one by their loss, of which each codec's comparison tells."""
    fields = [pa.field("n", pa.int64(), metadata={"unit": "km"}), pa.field("d", pa.date32())]
    table = pa.table([[1, 2], pa.array([1, 2], pa.date32())], schema=pa.schema(fields, {"geo": "{}"}))
    path = Dataset(table, name="x").save(tmp_path / "x.arrow")["path"]
    assert handed(path, "arrow", "r") == (f"{path}.rds", "rds")
    assert [(one["path"], one["verdict"]) for one in changed_types(path, "arrow", "r")] == [("n", "type")]
