"""Folders, patterns and URLs are refused in true words, with the command that helps."""

from __future__ import annotations

import pytest

import tare
from tare.errors import UsageError
from tare.measure.one_file import refuse_many


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """A folder with a note, two logs, one below, and a hidden file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs" / "2026 b").mkdir(parents=True)
    for name in (".hidden.csv", "README", "b.csv", "c.csv", "2026 b/a.csv"):
        (tmp_path / "logs" / name).write_bytes(b"a,b\n1,2\n")
    return tmp_path


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ("logs", IsADirectoryError, "logs: is a directory of 4 files; one file at a time is measured, e.g.: tare measure logs/b.csv"),
        ("logs/2026 b/", IsADirectoryError, "logs/2026 b/: is a directory of 1 file; one file at a time is measured, e.g.: tare measure 'logs/2026 b/a.csv'"),
        ("logs/*.csv", UsageError, "logs/*.csv: is a pattern of 2 files; one file at a time is measured, e.g.: tare measure logs/b.csv"),
        ("logs/**/a.csv", UsageError, "logs/**/a.csv: is a pattern of 1 file; one file at a time is measured, e.g.: tare measure 'logs/2026 b/a.csv'"),
        ("logs/*.parquet", FileNotFoundError, "logs/*.parquet: no file matches this pattern. Check the path."),
        ("https://example.org/data/x.csv?v=1", UsageError, "https://example.org/data/x.csv?v=1: is a URL, which is not measured. Download it with: curl -L 'https://example.org/data/x.csv?v=1' -o x.csv; then: tare measure x.csv"),
        ("http://example.org/", UsageError, "http://example.org/: is a URL, which is not measured. Download it with: curl -L http://example.org/ -o example.org; then: tare measure example.org"),
        ("gs://bucket/a/x.parquet", UsageError, "gs://bucket/a/x.parquet: is a URL, which is not measured. Download it; then: tare measure x.parquet"),
        ("s3://bucket/x.csv", UsageError, "s3://bucket/x.csv: is a URL, which is not measured. The command reads one object: tare measure s3://bucket/x.csv"),
        ("s3://bucket/logs/*.csv", UsageError, "s3://bucket/logs/*.csv: is a URL, which is not measured. The command reads one object: name it."),
        ("file:///tmp/x.csv", UsageError, "file:///tmp/x.csv: is a URL, which is not measured. Name the file: tare measure /tmp/x.csv"),
    ],
)  # fmt: skip
def test_what_is_not_one_file_is_refused(data, error, message, logs) -> None:
    """What it is, how many there are, and what to type; from Python too, before anything is opened."""
    with pytest.raises(error) as caught:
        refuse_many(data)
    assert message == str(caught.value)
    with pytest.raises(error):
        tare.measure(data, time="2s")


def test_a_folder_is_named_by_its_path_object_too(logs) -> None:
    (logs / "empty").mkdir()
    with pytest.raises(IsADirectoryError, match=r"is a directory without files\. Name a file\."):
        refuse_many(logs / "empty")


@pytest.mark.parametrize(
    "data", ["logs/b.csv", "a[1].csv", "nothing.csv", "synthpop:10", "-", [1], b"x", None, {"a": 1}]
)
def test_what_may_be_one_file_passes(data, logs) -> None:
    """A file whose name looks like a pattern is that file; what is missing is told by who opens it."""
    (logs / "a[1].csv").write_bytes(b"a\n1\n")
    refuse_many(data)
