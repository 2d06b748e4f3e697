"""`tare blit` as typed: pipes, files, one value, where the bytes go, what is wrong; and convert and inspect of it."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from support.commands import invoke_bytes as run
from support.message_commands import wait_until

from tare import blit

TARE = [sys.executable, "-c", "from tare.cli import main; main()"]
ROWS = [
    {"id": n, "from": "JFK" if n % 2 else "LGA", "delay": None if n % 5 == 0 else n / 4} for n in range(200)
]
DOCUMENT = {"title": "flights of \u2708", "rows": ROWS, "a/b": {"": [1, {"x~y": -0.0}]}, "big": 10**30}
TEXT = json.dumps(DOCUMENT, ensure_ascii=False, separators=(",", ":")).encode()


def process(*arguments: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own."""
    return subprocess.run(
        [*TARE, *arguments], cwd=cwd, input=stdin, capture_output=True, timeout=120, check=False
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A document, encoded."""
    path = tmp_path / "d.blit"
    path.write_bytes(blit.from_json(TEXT, checksum=True))
    return path


def test_pipes_there_and_back(tmp_path: Path) -> None:
    """Standard input to standard output, both ways: the bytes of the library, the text of the source."""
    encoded = process("blit", "encode", cwd=tmp_path, stdin=TEXT)
    assert (0, b"") == (encoded.returncode, encoded.stderr)
    assert encoded.stdout == blit.from_json(TEXT)
    decoded = process("blit", "decode", "-", cwd=tmp_path, stdin=encoded.stdout)
    assert (0, TEXT + b"\n", b"") == (decoded.returncode, decoded.stdout, decoded.stderr)
    lexical = process("blit", "decode", "--order", "lexical", cwd=tmp_path, stdin=encoded.stdout)
    assert json.dumps(DOCUMENT, ensure_ascii=False, separators=(",", ":"), sort_keys=True) == (
        lexical.stdout.decode().rstrip("\n")
    )


def test_files_appear_whole_and_replace_nothing_unasked(tmp_path: Path) -> None:
    """-o writes a file, a second time only with -f; what cannot be encoded leaves nothing."""
    (tmp_path / "d.json").write_bytes(TEXT)
    assert run("blit", "encode", "d.json", "-o", "d.blit", cwd=tmp_path).returncode == 0
    first = (tmp_path / "d.blit").read_bytes()
    again = run("blit", "encode", "d.json", "-o", "d.blit", "--canonical", cwd=tmp_path)
    assert again.returncode == 1
    assert b"d.blit exists already. Say --force" in again.stderr
    assert first == (tmp_path / "d.blit").read_bytes()
    assert run("blit", "encode", "d.json", "-o", "d.blit", "--canonical", "-f", cwd=tmp_path).returncode == 0
    assert blit.from_json(TEXT, canonical=True) == (tmp_path / "d.blit").read_bytes()
    bad = run("blit", "encode", "-o", "e.blit", cwd=tmp_path, stdin=b'{"a": [1, }')
    assert bad.returncode == 1
    assert b"at byte 10" in bad.stderr
    assert {"d.json", "d.blit"} == set(os.listdir(tmp_path))


@pytest.mark.parametrize(
    ("pointer", "wanted"),
    [
        ("/title", '"flights of \u2708"'),
        ("/rows/7/from", '"JFK"'),
        ("/rows/7/delay", "1.75"),
        ("/rows/5/delay", "null"),
        ("/a~1b//1/x~0y", "-0.0"),
        ("/a~1b", '{"":[1,{"x~y":-0.0}]}'),
        ("/rows/1", '{"id":1,"from":"JFK","delay":0.25}'),
        ("/big", str(10**30)),
    ],
)
def test_get_prints_json(file: Path, pointer: str, wanted: str) -> None:
    """A scalar, a container, a name with a slash, an integer beyond 64 bits."""
    done = run("blit", "get", file.name, pointer, cwd=file.parent)
    assert (0, f"{wanted}\n", b"") == (done.returncode, done.stdout.decode(), done.stderr)


def test_get_takes_the_whole_raw_text_and_standard_input(file: Path) -> None:
    """The empty pointer is all; --raw has no quotes; - is standard input."""
    assert TEXT + b"\n" == run("blit", "get", file.name, "", cwd=file.parent).stdout
    raw = run("blit", "get", "-", "/rows/0/from", "--raw", cwd=file.parent, stdin=file.read_bytes())
    assert (0, b"LGA\n") == (raw.returncode, raw.stdout)


def test_get_finds_by_query(file: Path) -> None:
    """Every value of a JSONPath, one a line; none is no failure; a pointer or a query, not both."""
    done = run("blit", "get", file.name, "--find", "$.rows[?@.id >= 197].from", "--raw", cwd=file.parent)
    assert (0, b"JFK\nLGA\nJFK\n", b"") == (done.returncode, done.stdout, done.stderr)
    none = run("blit", "get", file.name, "--find", "$.nothing[*]", cwd=file.parent)
    assert (0, b"") == (none.returncode, none.stdout)
    for words in (("/title", "--find", "$"), ()):
        assert run("blit", "get", file.name, *words, cwd=file.parent).returncode == 2
    assert run("blit", "get", file.name, "--find", "$[", cwd=file.parent).returncode == 2


@pytest.mark.parametrize(
    ("pointer", "code", "words"),
    [
        ("/tittle", 1, "there is no name 'tittle' at the top: did you mean title?"),
        ("/rows/200", 1, "there is no element '200' at /rows: it has 200"),
        ("/rows/-1", 1, "there is no element '-1'"),
        ("/rows/00", 1, "there is no element '00'"),
        ("/title/0", 1, "there is nothing below /title"),
        ("title", 2, "is no JSON Pointer"),
    ],
)
def test_get_says_what_is_not_there(file: Path, pointer: str, code: int, words: str) -> None:
    """Exit code 1 for what is not there, 2 for what is no pointer; nothing on standard output."""
    done = run("blit", "get", file.name, pointer, cwd=file.parent)
    assert (code, b"") == (done.returncode, done.stdout)
    assert words in done.stderr.decode()


def test_info_accounts_for_every_byte(file: Path) -> None:
    """The parts add up to the file, in the table as in the JSON."""
    done = run("blit", "info", file.name, "--json", cwd=file.parent)
    account = json.loads(done.stdout)
    assert file.stat().st_size == account["bytes"] == sum(account["parts"].values())
    assert {"frame", "keys", "shapes", "strings", "numbers", "lengths"} <= set(account["parts"])
    assert ["checksum"] == account["flags"]
    assert account["kinds"]["TABLE"][0] == 1
    shown = run("blit", "info", file.name, cwd=file.parent).stdout.decode()
    for name, size in account["parts"].items():
        assert any(line.split()[:2] == [name, f"{size:,}"] for line in shown.splitlines()), name


@pytest.mark.parametrize("more", [(), ("--compressor", "zstd")])
def test_info_accounts_for_every_byte_of_a_collection(more: tuple[str, ...], tmp_path: Path) -> None:
    """The file by what is in it, and its chunks by what they were before they were compressed."""
    lines = b"\n".join(LINES.split(b"\n") * 60)
    assert (
        run("blit", "encode", "--ndjson", "-o", "c.blits", *more, cwd=tmp_path, stdin=lines).returncode == 0
    )
    account = json.loads(run("blit", "info", "c.blits", "--json", cwd=tmp_path).stdout)
    stored, parts = account["stored"], account["parts"]
    assert (tmp_path / "c.blits").stat().st_size == account["bytes"] == sum(stored.values())
    assert {"chunks", "index", "keys", "shapes", "frame"} == set(stored)
    assert account["chunks"] * 32 == stored["index"]
    assert account["raw"] == sum(parts.values()) == sum(size for _, size in account["kinds"].values())
    assert {"strings", "numbers", "lengths"} <= set(parts)
    assert (account["compressed"] > 0) == (stored["chunks"] < account["raw"]) == bool(more)
    shown = run("blit", "info", "c.blits", cwd=tmp_path).stdout.decode()
    for name, size in [*stored.items(), *parts.items()]:
        assert any(line.split()[:2] == [name, f"{size:,}"] for line in shown.splitlines()), name
    seen = run("inspect", "c.blits", cwd=tmp_path).stdout.decode()
    assert "where each chunk is" in seen


def test_check_names_rule_and_byte(file: Path) -> None:
    """A good file is ok; a flipped bit, a cut file and another format are not, and say why."""
    data = bytearray(file.read_bytes())
    data[40] ^= 1
    (file.parent / "flipped.blit").write_bytes(data)
    (file.parent / "cut.blit").write_bytes(data[:-7])
    done = run("blit", "check", file.name, "flipped.blit", "cut.blit", cwd=file.parent)
    good, flipped, cut = done.stdout.decode().splitlines()
    assert done.returncode == 1
    assert good == f"d.blit  ok  {file.stat().st_size:,} bytes"
    assert flipped.startswith("flipped.blit  FAILED  blit: the checksum does not match")
    assert "(rule V9), at byte" in flipped
    assert "(rule V3), at byte" in cut
    assert b"" == run("blit", "check", "-q", file.name, cwd=file.parent).stdout


@pytest.mark.parametrize("words", [("blit", "get", "none.blit", "/a"), ("blit", "info", "none.blit"),
                                   ("blit", "decode", "none.blit"), ("blit", "check", "none.blit")])  # fmt: skip
def test_a_missing_file_is_one_line(words: tuple[str, ...], tmp_path: Path) -> None:
    """The name and why."""
    done = run(*words, cwd=tmp_path)
    assert (1, b"", b"tare: none.blit: no such file or directory\n") == (
        done.returncode,
        done.stdout,
        done.stderr,
    )


def test_what_is_not_blit_names_the_file(tmp_path: Path) -> None:
    """Another format, and no bytes at all."""
    (tmp_path / "x").write_bytes(TEXT)
    done = run("blit", "decode", "x", cwd=tmp_path)
    assert (1, b"") == (done.returncode, done.stdout)
    assert b"tare: x: blit: it does not begin with BLT1 (rule V2), at byte 0" in done.stderr
    (tmp_path / "x").write_bytes(b"")
    assert b"tare: x: blit: 0 bytes" in run("blit", "info", "x", cwd=tmp_path).stderr


def test_numbers_that_json_lacks_need_a_word(tmp_path: Path) -> None:
    """NaN and bytes are refused unless a form is named; a failure leaves no file."""
    (tmp_path / "n.blit").write_bytes(blit.encode([float("nan"), b"\x00\xff"]))
    done = run("blit", "decode", "n.blit", "-o", "n.json", cwd=tmp_path)
    assert done.returncode == 1
    assert ["n.blit"] == os.listdir(tmp_path)
    done = run("blit", "decode", "n.blit", "--nan", "null", "--bytes", "base64", cwd=tmp_path)
    assert (0, b'[null,"AP8="]\n') == (done.returncode, done.stdout)


@pytest.mark.parametrize(
    ("words", "code"), [(("get", "d.blit", ""), 0), (("info", "d.blit"), 0), (("decode", "d.blit"), 141)]
)
def test_a_closed_pipe_ends_quietly(file: Path, words: tuple[str, ...], code: int) -> None:
    """What only shows ends with 0, what writes data as of SIGPIPE."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*TARE, "blit", *words],
            stdout=writing,
            stderr=subprocess.PIPE,
            cwd=file.parent,
            timeout=120,
            check=False,
        )
    finally:
        os.close(writing)
    assert (code, b"") == (done.returncode, done.stderr)


def waiting_bytes(pipe: int) -> int:
    """Return the number of unread bytes of a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    """Interrupted while it waits for its input: no output, no temporary file, exit code 130."""
    process = subprocess.Popen(
        [*TARE, "blit", "encode", "-o", "out.blit"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"[1,")
    process.stdin.flush()
    wait_until(lambda: not waiting_bytes(process.stdin.fileno()))  # it reads
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (130, []) == (process.returncode, os.listdir(tmp_path))
    assert b"tare: interrupted" in said


def test_convert_and_inspect(tmp_path: Path) -> None:
    """By the ending, compressed too, and back: the same value; the bytes tell the format without a name."""
    (tmp_path / "d.json").write_text(json.dumps(DOCUMENT["rows"]))
    for name in ("d.blit", "d.blit.zst"):
        done = run("convert", "d.json", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert b"-> blit:tare" in done.stderr
        assert run("convert", name, "back.json", "--force", cwd=tmp_path).returncode == 0
        assert json.loads((tmp_path / "back.json").read_text()) == DOCUMENT["rows"]
    (tmp_path / "d.blit").rename(tmp_path / "unnamed")
    found = json.loads(run("inspect", "unnamed", "--json", cwd=tmp_path).stdout)
    assert ("blit", True) == (found["format"], found["readable"])
    assert found["bytes"] == sum(part["bytes"] for part in found["parts"])
    packed = json.loads(run("inspect", "d.blit.zst", "--json", cwd=tmp_path).stdout)
    assert packed["plain_bytes"] == found["bytes"]


def test_a_damaged_file_is_told_by_inspect(tmp_path: Path) -> None:
    """What the walk meets is said, with the rule and the byte; the exit code is 1."""
    data = bytearray(blit.encode({"a": 1, "b": "x"}))
    data[9] = 5  # the id of the root's key sequence
    (tmp_path / "x.blit").write_bytes(data)
    done = run("inspect", "x.blit", cwd=tmp_path)
    assert done.returncode == 1
    assert b"a shape that is not there (rule V17)" in done.stdout


LINES = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
PLAIN = b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in ROWS)


@pytest.mark.parametrize("more", [(), ("--compressor", "zstd:9"), ("-c", "lz4")])
def test_lines_into_a_collection_and_back(tmp_path: Path, more: tuple[str, ...]) -> None:
    """NDJSON in, one document by its number, info, check, NDJSON out; pipes as files."""
    done = run("blit", "encode", "--ndjson", "-o", "c.blits", *more, cwd=tmp_path, stdin=LINES)
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert len(blit.open_collection(tmp_path / "c.blits")) == len(ROWS)
    piped = run("blit", "encode", "--ndjson", *more, cwd=tmp_path, stdin=LINES)
    assert (0, (tmp_path / "c.blits").read_bytes()) == (piped.returncode, piped.stdout)
    assert b'"JFK"\n' == run("blit", "get", "c.blits", "/7/from", cwd=tmp_path).stdout
    assert b'"JFK"\n' == run("blit", "get", "-", "/7/from", cwd=tmp_path, stdin=piped.stdout).stdout
    assert PLAIN == run("blit", "decode", "c.blits", cwd=tmp_path).stdout
    assert b"c.blits  ok" in run("blit", "check", "c.blits", cwd=tmp_path).stdout
    account = json.loads(run("blit", "info", "c.blits", "--json", cwd=tmp_path).stdout)
    assert (len(ROWS), 1) == (account["documents"], account["commits"])
    assert ["c.blits"] == os.listdir(tmp_path)


def test_lines_may_be_scalars(tmp_path: Path) -> None:
    """A line of JSON is any value; -0 and long integers stay what they are."""
    lines = b'1\n"x"\nnull\n-0\n[]\n123456789012345678901234567890\n'
    packed = run("blit", "encode", "--ndjson", cwd=tmp_path, stdin=lines).stdout
    assert run("blit", "get", "-", "/1", "--raw", cwd=tmp_path, stdin=packed).stdout == b"x\n"
    assert lines == run("blit", "decode", cwd=tmp_path, stdin=packed).stdout


def test_a_bad_line_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    """The number of the line; no file, no part of one."""
    done = run("blit", "encode", "--ndjson", "-o", "c.blits", cwd=tmp_path, stdin=LINES + b"\n{\n")
    assert (1, []) == (done.returncode, os.listdir(tmp_path))
    assert b"line 202: " in done.stderr


def test_lines_are_encoded_as_options_say(tmp_path: Path) -> None:
    """The digits as written, and every name that is there twice."""
    lines = b'{"a":1.50,"a":"\\ud800"}\n{"a":1}\n'
    words = ("--numbers", "text", "--duplicates", "keep", "--surrogates", "keep", "--layout", "rows")
    packed = run("blit", "encode", "--ndjson", *words, cwd=tmp_path, stdin=lines)
    assert (0, b"") == (packed.returncode, packed.stderr)
    assert lines == run("blit", "decode", cwd=tmp_path, stdin=packed.stdout).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("encode", "--ndjson", "--canonical"), "--canonical is of one document"),
        (("encode", "--ndjson", "--no-checksum"), "--checksum is of one document"),
        (("encode", "--compressor", "zstd"), "say --ndjson"),
        (("encode", "--threads", "2"), "say --ndjson"),
        (("check", "c.blits", "--canonical"), "is of one document"),
        (("get", "c.blits", ""), "begin with the number of a document"),
        (("repair", "d.blit"), "is no collection"),
    ],
)
def test_misuse_is_told(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """Exit code 2, and what to do."""
    (tmp_path / "d.blit").write_bytes(blit.encode(ROWS))
    with blit.open_collection(tmp_path / "c.blits", "w") as collection:
        collection.extend(ROWS)
    done = run("blit", *words, cwd=tmp_path, stdin=LINES)
    assert (2, b"") == (done.returncode, done.stdout)
    assert said in done.stderr.decode()


def test_repair_cuts_a_torn_end(tmp_path: Path) -> None:
    """A check tells a torn collection, repair brings back what was committed, check is content."""
    path = tmp_path / "c.blits"
    for mode in "wa":
        with blit.open_collection(path, mode) as collection:
            collection.extend(ROWS)
    os.truncate(path, path.stat().st_size - 9)
    torn = run("blit", "check", "c.blits", cwd=tmp_path)
    assert torn.returncode == 1
    assert torn.stdout.startswith(b"c.blits  FAILED  blit: torn: ")
    told = run("blit", "info", "c.blits", cwd=tmp_path)
    assert (told.returncode, told.stderr.count(b"c.blits")) == (1, 1)
    done = run("blit", "repair", "c.blits", cwd=tmp_path)
    assert (0, b"") == (done.returncode, done.stdout)
    assert f"c.blits: {len(ROWS):,} documents" in done.stderr.decode()
    assert run("blit", "check", "c.blits", cwd=tmp_path).returncode == 0


def test_convert_into_collections(tmp_path: Path) -> None:
    """By the ending; --compressor is that of the chunks there, and around any other format."""
    (tmp_path / "r.ndjson").write_bytes(LINES)
    sizes = {}
    for name, more in (("a.blits", ()), ("b.blits", ("--compressor", "zstd"))):
        done = run("convert", "r.ndjson", name, *more, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        sizes[name] = (tmp_path / name).stat().st_size
        assert run("convert", name, "back.ndjson", "--force", cwd=tmp_path).returncode == 0
        assert [json.loads(line) for line in (tmp_path / "back.ndjson").read_bytes().splitlines()] == ROWS
    assert sizes["b.blits"] < sizes["a.blits"]
    assert run("convert", "r.ndjson", "r.json", "--compressor", "zstd:3", cwd=tmp_path).returncode == 0
    assert (tmp_path / "r.json").read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    twice = run("convert", "r.ndjson", "x.json.gz", "--compressor", "zstd", cwd=tmp_path)
    assert twice.returncode == 2
    found = json.loads(run("inspect", "b.blits", "--json", cwd=tmp_path).stdout)
    assert ("blit", len(ROWS)) == (found["format"], found["rows"])


def test_each_file_is_checked_though_one_is_not_there(file: Path) -> None:
    """A file that cannot be opened counts as wrong; the others are looked at."""
    done = run("blit", "check", "nothing", file.name, cwd=file.parent)
    assert done.returncode == 1
    assert done.stderr == b"tare: nothing: no such file or directory\n"
    assert done.stdout.startswith(f"{file.name}  ok".encode())


def test_what_is_compressed_is_told_so(file: Path) -> None:
    """A .gz of a document or of JSON: neither is read, both say what to do."""
    for name, data in (("d.blit.gz", file.read_bytes()), ("d.json.gz", TEXT)):
        (file.parent / name).write_bytes(gzip.compress(data))
    for words in (("get", "d.blit.gz", "/title"), ("encode", "d.json.gz", "-o", "x.blit")):
        done = run("blit", *words, cwd=file.parent)
        assert done.returncode == 1
        assert b".gz: it is compressed by gzip: pipe it through tare decompress" in done.stderr


def test_errors_of_json_name_the_file(tmp_path: Path) -> None:
    """Among many files one wants to know which."""
    (tmp_path / "bad.json").write_bytes(b"[1,")
    done = run("blit", "encode", "bad.json", "-o", "x.blit", cwd=tmp_path)
    assert (1, True) == (done.returncode, done.stderr.startswith(b"tare: bad.json: json: "))


@pytest.mark.parametrize("name", ["gzip", "foo", "xz:9"])
def test_other_compressors_of_chunks_are_refused_before_anything_is_made(tmp_path: Path, name: str) -> None:
    """Those that there are, are told; no file of ours is in the message."""
    done = run("blit", "encode", "--ndjson", "-c", name, "-o", "x.blits", cwd=tmp_path, stdin=b"{}\n")
    assert done.returncode == 2
    assert b"zstd or lz4" in done.stderr
    assert b".part" not in done.stderr
    assert [] == os.listdir(tmp_path)


def test_standard_input_cannot_be_repaired(tmp_path: Path) -> None:
    """There is no file to cut."""
    done = run("blit", "repair", "-", cwd=tmp_path, stdin=b"BLS1")
    assert (2, b"name its file" in done.stderr) == (done.returncode, True)


def test_a_cut_document_tells_its_end_once(file: Path) -> None:
    """Convert adds what the error itself does not say."""
    (file.parent / "cut.blit").write_bytes(file.read_bytes()[:40])
    done = run("convert", "cut.blit", "x.json", cwd=file.parent)
    assert (1, 1) == (done.returncode, done.stderr.count(b"at byte"))


def test_what_comes_out_is_what_the_file_says(tmp_path: Path) -> None:
    """A string that claims to be clean and holds quotes would become members that nobody wrote."""
    forged = blit.from_json(b'{"a":"xxxxxxxxxxxxxxxxx","z":0}', checksum=False).replace(
        b"x" * 17, b'","admin":true,"x'
    )
    (tmp_path / "f.blit").write_bytes(forged)
    for words in (
        ("decode", "f.blit"),
        ("get", "f.blit", ""),
        ("get", "f.blit", "/a"),
        ("get", "f.blit", "--find", "$"),
    ):
        done = run("blit", *words, cwd=tmp_path)
        assert (1, b"") == (done.returncode, done.stdout), words
        assert b"rule V14" in done.stderr


def test_check_tells_what_is_behind_the_last_commit(tmp_path: Path) -> None:
    """It is no part of the collection, and no damage of it."""
    run("blit", "encode", "--ndjson", "-o", "x.blits", cwd=tmp_path, stdin=b"{}\n{}\n")
    size = (tmp_path / "x.blits").stat().st_size
    with (tmp_path / "x.blits").open("ab") as file:
        file.write(b"garbage")
    done = run("blit", "check", "x.blits", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(f"x.blits  ok  {size} bytes; 7 behind its last commit".encode())
