"""Files of R as others write them: any compressor, text without a mark, shared environments, what is damaged."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import subprocess
import sys

import numpy as np
import pytest
from support.capabilities import need_module, need_posix, need_r
from support.peaks import PEAK

import tare
from tare import r
from tare.cli import main
from tare.errors import EncodeError, Limit, LossError, Malformed, Truncated, Unsupported, UsageError

# data.frame(x = "fa\xe7ile") of version 2, whose header names no encoding, and of 3 in UTF-8.
_UNMARKED = bytes.fromhex(
    "00000313 00000001 00000010 00000001 00000009 00000006 6661e7696c65"
    "00000402 00000001 00040009 00000005 6e616d6573 00000010 00000001 00040009 00000001 78"
    "00000402 00000001 00040009 00000005 636c617373 00000010 00000001 00040009 0000000a 646174612e6672616d65"
    "00000402 00000001 00040009 00000009 726f772e6e616d6573 0000000d 00000002 80000000 ffffffff 000000fe".replace(
        " ", ""
    )
)
VERSION_2 = b"X\n" + bytes.fromhex("00000002 00040202 00020300".replace(" ", "")) + _UNMARKED
VERSION_3 = (
    b"X\n" + bytes.fromhex("00000003 00040202 00030500 00000005".replace(" ", "")) + b"UTF-8" + _UNMARKED
)


def rdata(rows: int) -> bytes:
    """The plain bytes of an RData file of one data frame."""
    import pyarrow as pa

    noise = np.random.default_rng(7).normal(size=rows)
    return r.write({"d": pa.table({"x": noise})}, None, format="rdata", compressor="none").data


PACKED = {"gzip": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("rows", [10, 400, 20_000])
def test_the_format_is_told_however_long_the_first_block_is(tmp_path, name, rows):
    """A block of bzip2 gives nothing before its end: the file is read until then."""
    (tmp_path / "x.rda").write_bytes(PACKED[name](rdata(rows)))
    for source in (tmp_path / "x.rda", (tmp_path / "x.rda").read_bytes()):
        assert ["d"] == list(r.read(source, as_="robject"))
    assert rows == tare.convert(tmp_path / "x.rda", tmp_path / "x.parquet").rows
    tare.convert(tmp_path / "x.rda", tmp_path / "x.rds")
    assert "data.frame" in r.read(tmp_path / "x.rds", as_="robject").r_class
    assert "table" == tare.inspect(tmp_path / "x.rda").kind


@pytest.mark.parametrize(("plain", "version"), [(VERSION_2, 2), (VERSION_3, 3)])
def test_text_without_a_mark_is_read_in_the_encoding_that_is_named(tmp_path, plain, version):
    """Its latin1 is CP1252, as R has it on Windows; what names no encoding of strings is refused by name."""
    assert b"fa\xe7ile" == r.read(plain, loss=[])["x"][0].as_py()
    for name in ("latin1", "ISO-8859-1", "cp1252"):
        assert "fa\u00e7ile" == r.read(plain, encoding=name, loss=[])["x"][0].as_py()
    euro = plain.replace(b"fa\xe7ile", b"fa\x80ile")
    assert "fa\u20acile" == r.read(euro, encoding="latin1", loss=[])["x"][0].as_py()
    assert (
        "fa\u0459ile" == r.read(plain.replace(b"\xe7", b"\x9a"), encoding="cp1251", loss=[])["x"][0].as_py()
    )
    for name in ("klingon", "utf-16", "cp037"):
        with pytest.raises(UsageError, match=name):
            r.read(plain, encoding=name)
    (tmp_path / "x.rds").write_bytes(plain)
    tare.convert(tmp_path / "x.rds", tmp_path / "x.csv", encoding="latin1")
    assert '"x"\n"fa\u00e7ile"\n' == (tmp_path / "x.csv").read_text(encoding="utf-8")
    with pytest.raises(
        EncodeError, match=r"x\.rds: .* \$x holds text whose encoding nothing tells: say it with --encoding"
    ):
        tare.convert(tmp_path / "x.rds", tmp_path / "y.csv")
    with pytest.raises(SystemExit) as ended:
        main(["convert", str(tmp_path / "x.rds"), str(tmp_path / "x.json"), "--encoding", "latin1"])
    assert 0 == ended.value.code
    assert [{"x": "fa\u00e7ile"}] == json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "name"),
    [(b"fa\xe7ile", "latin1"), (b"\x93ok\x94 \x80", "cp1252"), (b"\x93\xfa\x96{\x8c\xea", "shift_jis")],
)
def test_the_encoding_that_text_may_be_in_is_named(tmp_path, text, name):
    """By its bytes, in the error and in the note."""
    (tmp_path / "x.rds").write_bytes(VERSION_3.replace(b"fa\xe7ile", text))
    said = f"$x holds text whose encoding nothing tells: say it with --encoding, such as {name} (encoding=)"
    with pytest.raises(EncodeError, match=re.escape(said)):
        tare.convert(tmp_path / "x.rds", tmp_path / "y.csv")
    assert said in tare.convert(tmp_path / "x.rds", tmp_path / "y.parquet").notes


def odd_names(format):
    """A file with a column that is named `fa` and a byte that is no UTF-8."""
    import pyarrow as pa

    if format == "fst":  # whose names have no checksum
        return r.write(pa.table({"fa~": [1]}), None, format="fst").data.replace(b"fa~", b"fa\xe9")
    plain = r.write(pa.table({"fa~": [1]}), None, format="rds", compressor="none").data
    old, new = (flags.to_bytes(4, "big") + b"\0\0\0\3" for flags in (0x40009, 9))
    held = r.read(plain.replace(old + b"fa~", new + b"fa\xe9"), as_="robject")
    return r.write({"d": held} if format == "rdata" else held, None, format=format).data


@pytest.mark.parametrize("format", ["rds", "rdata", "qs2", "qdata", "fst"])
def test_a_name_of_unknown_encoding_is_told_as_a_string_is(tmp_path, format):
    """By the rule for values: the encoding that is named holds, a guess is told, and strict refuses it."""
    path = tmp_path / f"x.{format}"
    path.write_bytes(odd_names(format))
    with pytest.raises(LossError, match=r"@names: bytes_string: names "):
        tare.convert(path, tmp_path / "x.csv", strict=True)
    done = tare.convert(path, tmp_path / "x.csv")
    assert ["bytes_string"] == [loss["kind"] for loss in done.losses]
    if format == "qdata":  # it marks strings without an encoding as bytes
        assert "names that are no text" in done.losses[0]["r"]
        return
    for name, text in (("latin1", "fa\u00e9"), ("cp1251", "fa\u0439")):
        tare.convert(path, tmp_path / "x.csv", strict=True, encoding=name)
        assert f'"{text}"\n1\n' == (tmp_path / "x.csv").read_text(encoding="utf-8")


def test_names_of_lists_and_matrices_of_unknown_encoding_are_told():
    """They stand as R shows their bytes, not as Python does."""
    from tare.r.plain import plain_value

    for plain, path in (
        (b"00000213 00000001 0000000e 00000001 3ff0000000000000", "@names"),
        (b"0000020e 00000002 3ff0000000000000 3ff0000000000000", "@dimnames[[2]]"),
    ):
        names = b"00000010 00000001 00000009 00000003 6661e9"
        if path == "@names":
            behind = b"00000402 00000001 00040009 00000005 6e616d6573" + names
        else:
            behind = b"00000402 00000001 00040009 00000003 64696d 0000000d 00000002 00000002 00000001"
            behind += (
                b"00000402 00000001 00040009 00000008 64696d6e616d6573 00000013 00000002 000000fe" + names
            )
        data = b"X\n" + bytes.fromhex((b"00000002 00040202 00020300" + plain + behind + b"000000fe").decode())
        found = []
        value = plain_value(data, "rds", {}, found, tabular=path != "@names")
        assert ["fa\\xe9"] == (list(value) if path == "@names" else value.column_names)
        assert (path, "bytes_string") in [(loss.path, loss.kind) for loss in found]


def test_the_variable_is_named_too(tmp_path):
    """Of an RData file."""
    (tmp_path / "x.rds").write_bytes(VERSION_2)
    r.write({"d": r.read(VERSION_2, as_="robject")}, tmp_path / "x.RData")
    with pytest.raises(EncodeError, match=r"\$d\$x holds text whose encoding"):
        tare.convert(tmp_path / "x.RData", tmp_path / "x.csv")


def test_valid_text_stays_what_its_file_says():
    """The option is for what the file does not say, or says wrongly."""
    plain = VERSION_3.replace(b"fa\xe7ile", "\u00e7aile".encode())
    assert "\u00e7aile" == r.read(plain, encoding="latin1", loss=[])["x"][0].as_py()


def test_environments_that_variables_share_stay_one(tmp_path):
    """In RDS and qs2 too, where the variables become one list."""
    program = need_r()
    code = 'e <- new.env(); a <- list(e); b <- list(e, function() 1); environment(b[[2]]) <- e; save(a, b, file = "x.RData")'
    subprocess.run([program, "--vanilla", "-e", code], check=True, cwd=tmp_path)
    for ending in ("rds", "qs2"):
        tare.convert(tmp_path / "x.RData", tmp_path / f"x.{ending}", strict=True)
        r.write(r.read(tmp_path / f"x.{ending}", as_="robject"), tmp_path / "back.rds")
        code = 'x <- readRDS("back.rds"); stopifnot(identical(x$a[[1]], x$b[[1]]), identical(x$a[[1]], environment(x$b[[2]])))'
        subprocess.run([program, "--vanilla", "-e", code], check=True, cwd=tmp_path)
    held = r.read(tmp_path / "x.RData", as_="robject")
    r.write({"one": held["a"], "two": [held["b"], held["a"]]}, tmp_path / "made.rds")
    code = 'x <- readRDS("made.rds"); stopifnot(identical(x$one[[1]], x$two[[1]][[1]]), identical(x$one[[1]], x$two[[2]][[1]]))'
    subprocess.run([program, "--vanilla", "-e", code], check=True, cwd=tmp_path)


def framed(name: bytes, zone: bytes) -> bytes:
    """A data frame with a column of a time, of that name and in that zone."""
    text = 'structure(list(name = structure(0, class = c("POSIXct", "POSIXt"), tzone = "Zone/Zone")), class = "data.frame", row.names = c(NA, -1L))'
    plain = r.write(r.read(text.encode(), format="dput", as_="robject"), None, compressor="none").data
    return plain.replace(b"name\x00", name + b"\x00").replace(b"Zone/Zone", zone)


@pytest.mark.parametrize("as_", ["python", "arrow", "pandas", "polars"])
def test_a_zero_byte_in_a_zone_or_a_name_is_no_fault_of_the_program(as_):
    """A zone that holds one is none that anything knows; a column that is named so is refused."""
    if as_ in ("pandas", "polars"):
        need_module(as_)
    plain = framed(b"name", b"Zone\0Zone")
    assert b"Zone\0Zone" in plain
    if as_ == "polars":
        assert "1970-01-01" in str(r.read(plain, as_=as_, loss=[])["name"][0])
    else:
        assert 1 == len(r.read(plain, as_=as_, loss=[]))
    text = r.write({"a": [1]}, None, compressor="none").data
    assert {"\0": 1} == {
        key: len(value) for key, value in r.read(text.replace(b"\0\0\0\x01a", b"\0\0\0\x01\0")).items()
    }
    frame = r.write(r.read(b"data.frame(a = 1)", format="dput", as_="robject"), None, compressor="none").data
    with pytest.raises(Unsupported, match="zero byte"):
        r.read(frame.replace(b"\0\0\0\x01a", b"\0\0\0\x01\0"), as_=as_)


def test_days_beyond_those_of_python_are_refused_by_a_sentence(tmp_path):
    """Where they would be values of Python; Arrow and CSV have them."""
    source = tmp_path / "x.rds"
    r.write(r.read(b'list(d = structure(1e8, class = "Date"))', format="dput", as_="robject"), source)
    with pytest.raises(Unsupported, match=r"\$d: Python has no such value"):
        tare.convert(source, tmp_path / "x.json")


def test_long_ranges_take_no_memory_until_somebody_wants_the_elements(tmp_path):
    """As in R: what few letters stand for is refused beyond a limit that the error names."""
    (tmp_path / "x.dput").write_text("c(1:999999999)")
    assert "integer [999,999,999]" in str(tare.inspect(tmp_path / "x.dput", format="dput").details["object"])
    with pytest.raises(Limit, match=r"999999999 elements needs 3999999996 bytes.* the limit is 268"):
        r.read(tmp_path / "x.dput", format="dput")
    for text in (b"c(1:999999999, 1L)", b"matrix(numeric(999999999))"):
        with pytest.raises(Limit, match="beyond memory_budget of 268"):
            r.read(text, format="dput")
    with pytest.raises(Truncated):
        r.read(b"matrix(1:666666666", format="dput")
    assert 2_000_000 == len(r.read(b"c(1:2000000)", format="dput"))
    tare.convert(tmp_path / "x.dput", tmp_path / "x.rds", format="dput")
    assert 999_999_999 == len(r.read(tmp_path / "x.rds", as_="robject"))


def test_a_long_range_is_read_in_bounded_memory(tmp_path):
    """Measured in a process of its own, from its start: 4 GB would be the elements."""
    need_posix()
    (tmp_path / "x.dput").write_text("list(a = c(1:999999999), b = 1:888888888")
    code = PEAK + (
        "import sys; from tare import r\n"
        "try: r.read(sys.argv[1], format='dput')\n"
        "except Exception: pass\n"
        "print(peak())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x.dput")], check=True, capture_output=True, text=True
    )
    assert int(done.stdout) < 1 << 20


def test_slots_of_an_s4_object_are_values(tmp_path):
    """A sparse matrix can be made of them; what refuses the object says so."""
    program = need_r()
    code = 'setClass("Sparse", representation(i = "integer", p = "integer", x = "numeric", Dim = "integer")); saveRDS(new("Sparse", i = 0:1, p = c(0L, 1L, 2L), x = c(1.5, 2), Dim = c(2L, 2L)), "x.rds")'
    subprocess.run([program, "--vanilla", "-e", code], check=True, cwd=tmp_path)
    held = r.read(tmp_path / "x.rds")
    slots = {name: value.to_python() for name, value in held.slots.items() if name != "class"}
    assert [1.5, 2] == slots["x"].tolist()
    assert [0, 1, 2] == slots["p"].tolist()
    for attempt in (
        lambda: r.read(tmp_path / "x.rds", as_="pandas"),
        lambda: tare.convert(tmp_path / "x.rds", tmp_path / "x.json"),
    ):
        with pytest.raises(Unsupported, match=r"S4.*Sparse.*\.slots"):
            attempt()


def test_what_is_no_file_of_r_is_malformed():
    """However it is compressed."""
    with pytest.raises((Malformed, Unsupported)):
        r.read(bz2.compress(b"no file of R" * 1000))


def test_an_offset_that_is_none_is_told_as_a_zone_that_nothing_knows(tmp_path):
    """As the names of such zones are; in lists too."""
    import pyarrow as pa

    moments = pa.array([0], pa.timestamp("us", "+99:99"))
    for value in (pa.table({"t": moments}), {"t": [moments]}):
        r.write(value, tmp_path / "x.rds")
        done = tare.convert(tmp_path / "x.rds", tmp_path / "x.json")
        assert "unknown time zone +99:99" in [loss["r"] for loss in done.losses]


def test_complex_numbers_are_refused_by_the_name_of_their_variable(tmp_path):
    """Where JSON has nothing for them; a column of them is objects of both parts, which is told."""
    r.write({"a": 1.0, "z": 1 + 2j}, tmp_path / "x.RData")
    with pytest.raises(EncodeError, match=r"x\.RData: json:stdlib.*complex has no text form.*, at /z "):
        tare.convert(tmp_path / "x.RData", tmp_path / "x.json")
    column = b"0000000f 00000001 3ff0000000000000 4000000000000000"
    plain = VERSION_2.replace(
        bytes.fromhex("00000010 00000001 00000009 00000006 6661e7696c65"), bytes.fromhex(column.decode()), 1
    )
    (tmp_path / "x.rds").write_bytes(plain)
    done = tare.convert(tmp_path / "x.rds", tmp_path / "x.json")
    assert [{"x": {"re": 1.0, "im": 2.0}}] == json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert ("$x", "complex") in [(loss["path"], loss["r"]) for loss in done.losses]
