"""Which encoding the message of a text that is not UTF-8 names: one in which its letters make sense."""

from __future__ import annotations

import gzip
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tare
from tare import open_dataset, scale
from tare.datasets.encoding_hints import likely
from tare.errors import Malformed, Unsupported, UsageError

TEXTS = {
    "latin1": ["caf\u00e9", "1,M\u00fcller", "\u00c4rger, na\u00efve; \u00e0 la carte", "cr\u00e9\u00e9e", "\u00d8resund"],
    "cp1252": ["5 \u20ac", "it\u2019s", "\u201cquoted\u201d text", "price,\u20ac12", "c\u0153ur \u2013 fr\u00e8re"],
    "shift_jis": ["\u6771\u4eac", "\u3053\u3093\u306b\u3061\u306f", "\u30ab\u30bf\u30ab\u30ca,1", "id,\u5546\u54c1\n1,\u308a\u3093\u3054"],
    "euc_jp": ["\u3053\u3093\u306b\u3061\u306f"],
    "gb18030": ["\u5317\u4eac", "\u59d3\u540d,\u57ce\u5e02\n\u5f20\u4e09,\u5317\u4eac", "\u4f60\u597d\uff0c\u4e16\u754c"],
    "cp949": ["\uc11c\uc6b8", "\uc774\ub984,\ub3c4\uc2dc\n\uae40\ucca0\uc218,\ubd80\uc0b0"],
    "big5": ["\u53f0\u5317", "\u59d3\u540d,\u57ce\u5e02\n\u738b\u5c0f\u660e,\u53f0\u5317\u5e02", "\u4f60\u597d"],
    "cp1251": ["\u041f\u0440\u0438\u0432\u0435\u0442", "\u0438\u043c\u044f,\u0433\u043e\u0440\u043e\u0434\n\u0418\u0432\u0430\u043d,\u041c\u043e\u0441\u043a\u0432\u0430"],
    "koi8_r": ["\u041f\u0440\u0438\u0432\u0435\u0442"],
    "cp1253": ["\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1"],
    "cp1250": ["P\u0159\u00edli\u0161 \u017elu\u0165ou\u010dk\u00fd"],
    "mac_roman": ["caf\u00e9 cr\u00e8me"],
    "cp850": ["caf\u00e9 cr\u00e8me", "M\u00fcller"],
}  # fmt: skip
EACH = [(name, text) for name, texts in TEXTS.items() for text in texts]


@pytest.mark.parametrize(("name", "text"), EACH)
def test_the_encoding_of_a_text_is_named_first(name, text):
    assert name == likely(text.encode(name))[0]


# Tables in ten languages: the encoding is named first, or second where as much speaks for another.
TABLES = {
    "euc_jp": ["\u540d\u524d,\u5024\n\u65e5\u672c,1\n\u6771\u4eac,2\n", "\u5546\u54c1,\u4fa1\u683c\n\u308a\u3093\u3054,120\n", "\u6c0f\u540d,\u4f4f\u6240\n\u5c71\u7530\u592a\u90ce,\u5927\u962a\u5e02\n\u4f50\u85e4\u82b1\u5b50,\u6a2a\u6d5c\u5e02\n"],
    "shift_jis": ["\u540d\u524d,\u5024\n\u65e5\u672c,1\n\u6771\u4eac,2\n", "\u6c0f\u540d,\u4f4f\u6240\n\u5c71\u7530\u592a\u90ce,\u5927\u962a\u5e02\n\u4f50\u85e4\u82b1\u5b50,\u6a2a\u6d5c\u5e02\n"],
    "gb18030": ["\u59d3\u540d,\u57ce\u5e02\n\u5f20\u4e09,\u5317\u4eac\n\u674e\u56db,\u4e0a\u6d77\n", "\u4ea7\u54c1,\u4ef7\u683c\n\u82f9\u679c,3\n\u9999\u8549,5\n"],
    "big5": ["\u59d3\u540d,\u57ce\u5e02\n\u738b\u5c0f\u660e,\u53f0\u5317\u5e02\n\u9673\u5927\u6587,\u9ad8\u96c4\u5e02\n"],
    "cp949": ["\uc774\ub984,\ub3c4\uc2dc\n\uae40\ucca0\uc218,\uc11c\uc6b8\n\ubc15\uc601\ud76c,\ubd80\uc0b0\n"],
    "cp1251": ["\u0438\u043c\u044f,\u0433\u043e\u0440\u043e\u0434\n\u0418\u0432\u0430\u043d,\u041c\u043e\u0441\u043a\u0432\u0430\n\u043c\u0430\u0440\u0438\u044f,\u043a\u0430\u0437\u0430\u043d\u044c\n", "\u043d\u0430\u0437\u0432\u0430\u043d\u0438\u0435,\u0446\u0435\u043d\u0430\n\u043c\u043e\u043b\u043e\u043a\u043e,80\n\u0445\u043b\u0435\u0431,45\n"],
    "koi8_r": ["\u0438\u043c\u044f,\u0433\u043e\u0440\u043e\u0434\n\u0418\u0432\u0430\u043d,\u041c\u043e\u0441\u043a\u0432\u0430\n\u043c\u0430\u0440\u0438\u044f,\u043a\u0430\u0437\u0430\u043d\u044c\n", "\u043d\u0430\u0437\u0432\u0430\u043d\u0438\u0435\n\u043c\u043e\u043b\u043e\u043a\u043e\n\u0445\u043b\u0435\u0431\n"],
    "cp1253": ["\u03cc\u03bd\u03bf\u03bc\u03b1,\u03c0\u03cc\u03bb\u03b7\n\u03b3\u03b9\u03ce\u03c1\u03b3\u03bf\u03c2,\u03b1\u03b8\u03ae\u03bd\u03b1\n\u03bc\u03b1\u03c1\u03af\u03b1,\u03c0\u03ac\u03c4\u03c1\u03b1\n", "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5", "\u03c0\u03c1\u03bf\u03b9\u03bf\u03bd,\u03c4\u03b9\u03bc\u03b7\n\u03b3\u03b1\u03bb\u03b1,2\n\u03c8\u03c9\u03bc\u03b9,1\n"],
    "iso8859_15": ["name,x\nc\u0153ur,1\n5\u20ac,2\n", "\u0153uvre,prix\n\u0153uf,2\u20ac\n"],
    "cp1250": ["imi\u0119,x\n\u0141\xf3d\u017a,1\n\u015b\u0107\u017c\u017a,2\n", "jm\xe9no,m\u011bsto\nJi\u0159\xed,Plze\u0148\n\u017daneta,D\u011b\u010d\xedn\n", "n\xe9v\nGy\u0151r\nSz\u0151ke \xd6d\xf6n\nf\u0171z\u0151\n", "miasto\nKrak\xf3w\n\u0141\xf3d\u017a\nGda\u0144sk\n"],
    "latin1": ["nombre,a\xf1o\nMu\xf1oz,1\nPe\xf1alver,2\nGarc\xeda,3\n", "Stra\xdfe\nK\xf6ln\nGr\xf6\xdfe\n", "cidade\nS\xe3o Paulo\nMacei\xf3\nJo\xe3o\n", "pr\xe9nom,n\xe9\nRen\xe9e,1\nH\xe9l\xe8ne,2\nFran\xe7ois,3\n", "navn\nS\xf8ren\n\xc5se\nbj\xf8rn\n"],
    "cp1252": ["prix\n5 \u20ac\nl\u2019\xe9t\xe9\n"],
    "mac_roman": ["pr\xe9nom\nRen\xe9e\nH\xe9l\xe8ne\nFran\xe7ois\n"],
    "cp850": ["pr\xe9nom\nRen\xe9e\nH\xe9l\xe8ne\nFran\xe7ois\n", "Stra\xdfe\nK\xf6ln\nGr\xf6\xdfe\n"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in TABLES.items() for text in texts])
def test_the_encoding_of_a_table_is_among_those_named(name, text):
    lines = [line for line in text.encode(name).split(b"\n") if not line.isascii()]
    assert name in (likely(b"\n".join(lines)) if name == "cp1250" else likely(b"\n".join(lines))[:1])


@pytest.mark.parametrize("name", TEXTS)
def test_what_the_message_names_reads_the_file(tmp_path, name):
    """All of it, by the words that it says."""
    text = "id,t\n" + "".join(
        f"{k},{each.replace(',', ' ')} x\n" for k, each in enumerate(TEXTS[name]) if "\n" not in each
    )
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode(name))
    with pytest.raises(Malformed, match="is not UTF-8, at byte") as caught:
        open_dataset(path)
    said = str(caught.value).partition("--encoding ")[2].split(",")[0]
    table = tare.read(path, encoding=said)
    assert [line.split(",", 1)[1] for line in text.splitlines()[1:]] == [
        row["t"] for row in table.to_pylist()
    ]


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.ndjson", "a.yaml"])
def test_every_text_format_names_it(tmp_path, name):
    text = {"a.csv": "a\n%s\n", "a.yaml": "a: %s\n"}.get(name, '{"a": "%s"}\n')
    (tmp_path / name).write_bytes((text % "\u6771\u4eac").encode("shift_jis"))
    with pytest.raises(Malformed, match=r"may be shift_jis \(Japanese\)"):
        open_dataset(tmp_path / name)


def test_a_text_of_two_encodings_is_said_to_be_one(tmp_path):
    """Whichever comes first; two bytes that are UTF-8 by chance make no such text."""
    path = tmp_path / "a.csv"
    for text in ("a\n\u00e9\n".encode() + b"\xe9\n", b"a\n\xe9\n" + "\u00e9\n".encode()):
        path.write_bytes(text)
        with pytest.raises(Malformed, match="mixes encodings: other parts are UTF-8"):
            open_dataset(path)
    path.write_bytes(
        "a\n\u59d3\u540d\n\u4e3d\n\u4e2d\u56fd\n\u5317\u4eac\n\u4e0a\u6d77\n\u5e7f\u5dde\n\u6df1\u5733\n".encode(
            "gb18030"
        )
    )
    with pytest.raises(Malformed, match=r"may be gb18030 \(Chinese\)"):
        open_dataset(path)


@pytest.mark.parametrize("byte", range(0xA6, 0x100))
@pytest.mark.parametrize("around", [b'{"a":"%c"}', b"x%cx", b"5 %c", b"%cX"])
def test_old_systems_are_not_named_for_a_byte_that_is_usual_today(byte, around):
    """0xff is a letter of latin1, and the blank of DOS that does not break."""
    assert {"cp850", "mac_roman"}.isdisjoint(likely(around % byte))


@pytest.mark.parametrize("name", ["a.csv", "a.json"])
def test_surrogates_are_said_to_be_such(tmp_path, name):
    """Halves are no character anywhere, and pairs are CESU-8: every byte of both is a letter of cp1252."""
    text = {"a.csv": b"a\n1 %b\n"}.get(name, b'{"a": "%b"}\n')
    (tmp_path / name).write_bytes(text % b"\xed\xa0\x80")
    with pytest.raises(
        Malformed, match=r"half of a surrogate pair there \(ed a0 80\).*which is not a character"
    ):
        open_dataset(tmp_path / name)
    (tmp_path / name).write_bytes(text % b"\xed\xa0\xbd\xed\xb8\x80")
    with pytest.raises(Malformed, match=r"surrogate pair there \(ed a0 bd ed b8 80\), which is CESU-8"):
        open_dataset(tmp_path / name)


def test_bytes_of_no_encoding_get_an_answer_all_the_same(tmp_path):
    """Quickly, of a large file too."""
    draw = random.Random(5)
    path = tmp_path / "a.csv"
    path.write_bytes(b"a\n" + bytes(draw.choice(range(32, 256)) for _ in range(300_000)))
    with pytest.raises(Malformed, match="--encoding "):
        open_dataset(path)


MARKED = ["utf-16", "utf-32", "utf-8-sig"]
NAMED = ["utf-16-le", "utf-16-be", "utf-32-le", "cp037", "shift_jis"]
FILES = {
    "a.csv": "a,b\n1,x\n2,y\n",
    "a.tsv": "a\tb\n1\tx\n2\ty\n",
    "a.json": '[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]',
    "a.ndjson": '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n',
    "a.yaml": "- {a: 1, b: x}\n- {a: 2, b: y}\n",
}


@pytest.mark.parametrize("name", [*FILES, "a.csv.gz", "a.json.gz"])
@pytest.mark.parametrize("encoding", [*MARKED, *NAMED])
def test_a_name_and_an_encoding_need_no_format(tmp_path, name, encoding):
    """A byte order mark says the encoding; elsewhere the user does."""
    raw = FILES[name.removesuffix(".gz")].encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    said = None if encoding in MARKED else encoding
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    for value in (
        tare.read(tmp_path / name, encoding=said),
        open_dataset(tmp_path / name, encoding=said).value,
    ):
        assert rows == (value if isinstance(value, list) else value.to_pylist())
    tare.convert(tmp_path / name, tmp_path / "out.parquet", encoding=said)
    assert rows == pq.read_table(tmp_path / "out.parquet").to_pylist()


def test_many_files_in_one_encoding_need_no_format_either(tmp_path):
    """Their units are told the encoding."""
    (tmp_path / "in").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "in" / name).write_bytes(FILES["a.csv"].encode("utf-16-le"))
    report = scale.convert(
        str(tmp_path / "in"),
        str(tmp_path / "out"),
        to="parquet",
        options={"encoding": "utf-16-le"},
        executor="inline",
    )
    assert report.ok, report.failures
    assert [2, 2] == [pq.read_table(path).num_rows for path in (tmp_path / "out").glob("*.parquet")]


def test_an_encoding_does_not_hide_what_a_file_is(tmp_path):
    """Magic goes first; an encoding that there is not is told."""
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.csv")
    assert [{"a": 1}] == tare.read(tmp_path / "a.csv", encoding="cp037").to_pylist()
    (tmp_path / "b.csv").write_text("a\n1\n")
    with pytest.raises(UsageError, match="there is no encoding 'utf-61'"):
        tare.read(tmp_path / "b.csv", encoding="utf-61")


@pytest.mark.parametrize("name", ["a.json", "a.ndjson"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_inspect_counts_the_text_and_not_its_zeros(tmp_path, name, encoding):
    """A note says that the bytes are those of UTF-8."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / name).write_text(FILES[name])
    (tmp_path / name).write_bytes(FILES[name].encode(encoding))
    plain, found = (tare.inspect(path).as_dict() for path in (tmp_path / "plain" / name, tmp_path / name))
    assert (plain["shape"], plain["parts"]) == (found["shape"], found["parts"])
    assert any("byte order mark says" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("a.csv", b'a,b\n"x\0y",1\n', r"holds NUL, byte 0x00, as no text does, at byte 6\. .* --format csv"),
        ("a.csv", b"a,b\n\x01\xff,1\n", r"holds the control character 0x01, as no text does, at byte 4\."),
        ("a.csv", "a,b\n1,2\n".encode("utf-16-le"), r"may be utf-16-le: read it with --encoding utf-16-le"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16-be"), r"may be utf-16-be: read it with --encoding utf-16-be"),
    ],
)
def test_a_byte_that_no_text_has_is_named(tmp_path, name, raw, message):
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(Malformed, match=message):
        open_dataset(tmp_path / name)


@pytest.mark.parametrize(
    "first",
    ["<script>alert('x')</script>", "<html>", "<!DOCTYPE html>", "<?xml", "GIF8", "\x07\x1b[31m", "\x01"],
)
def test_any_text_may_name_a_column(tmp_path, first):
    """What a page or a program would begin with, and control characters other than NUL."""
    path = tmp_path / "a.csv"
    path.write_text(f"{first},b\n1,2\n3,4\n")
    assert [{first: 1, "b": 2}, {first: 3, "b": 4}] == open_dataset(path).value.to_pylist()
    path.write_text("<!DOCTYPE html>\n<html>\n<body>\n</body>\n</html>\n")
    with pytest.raises(Unsupported, match="HTML page"):
        open_dataset(path)


@pytest.mark.parametrize("name", ["x.json", "x.ndjson", "x.yaml"])
@pytest.mark.parametrize("text", ['{"a": "e"}\n{"b": 1}\n', '{"a": "\u00e9\u4e2d"}\n'])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_documents_of_two_bytes_a_character_are_told(name, text, encoding, tmp_path):
    """Without a byte order mark much of them is valid UTF-8, with a NUL behind each character."""
    (tmp_path / name).write_bytes(text.encode(encoding))
    with pytest.raises(Malformed, match=f"half of its bytes are NUL.*--encoding {encoding}"):
        tare.read(tmp_path / name, format=name[2:])


@pytest.mark.parametrize("encoding", ["rot13", "zip", "bz2", "hex", "undefined", "nowhere", ""])
@pytest.mark.parametrize("name", ["x.csv", "x.ndjson", "x.yaml"])
def test_what_is_no_encoding_of_text_is_said_so(name, encoding, tmp_path):
    """Python has codecs from bytes to bytes, and from text to text, under the same roof."""
    (tmp_path / name).write_bytes(b"a,b\n1,2\n" if name == "x.csv" else b'{"a": 1}\n')
    with pytest.raises((UsageError, Malformed)) as caught:
        tare.convert(tmp_path / name, tmp_path / "y.json", encoding=encoding)
    assert "encoding" in str(caught.value) or encoding in str(caught.value)
