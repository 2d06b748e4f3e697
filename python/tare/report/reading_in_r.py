"""The call of R that reads the file of an answer, where it must be readable in R."""

from __future__ import annotations

import json
import shlex
from pathlib import PurePath

from tare.codec.ids import split_id
from tare.errors import UsageError
from tare.measure.verdict.constraints import readable_in
from tare.measure.verdict.figures import compressor_of
from tare.measure.verdict.file_names import file_name
from tare.report import text
from tare.report.commands import STANDARD_INPUT, command, is_sent
from tare.report.digest import Digest, mapping

__all__ = ["r_call"]

# What reads each format; of text from a connection too, so that it may be decompressed on the way.
_CALLS = {
    "arrow": "arrow::read_feather({})",
    "csv": "data.table::fread({})",
    "dput": "dget({})",
    "fst": "fst::read_fst({})",
    "json": "jsonlite::fromJSON({})",
    "ndjson": "jsonlite::stream_in({})",
    "npy": "RcppCNPy::npyLoad({})",
    "parquet": "arrow::read_parquet({})",
    "qdata": "qs2::qd_read({})",
    "qs": "qs::qread({})",
    "qs2": "qs2::qs_read({})",
    "rdata": "load({})",
    "rds": "readRDS({})",
    "yaml": "yaml::read_yaml({})",
}
_CONNECTED = ("json", "ndjson", "yaml")
# Compressors that R's connections read, and the programs that write what others hold to standard output.
_OF_R = ("gzip", "bz2", "xz")
_PROGRAMS = {"zstd": "zstd -dc", "lz4": "lz4 -dc", "brotli": "brotli -dc"}


def r_call(found: Digest, path: str = "") -> str:
    """Returns the call of R that reads what the answer's command makes, or keeps; empty unless R must read it.

    Args:
        found: The record.
        path: The user's own file; the name of the data by default.
    """
    must = mapping(found.record.get("settings")).get("must")
    if "r" not in readable_in(must if isinstance(must, list) else []) or found.files or is_sent(found):
        return ""
    codec, have = str(found.verdict.get("codec") or ""), mapping(found.verdict.get("source"))
    if not codec or found.profile == "message":
        return ""
    name = path or text.visible(found.dataset.get("name") or "data", 200)
    if have.get("format") and not command(found, path).startswith("tare "):
        return _reads(str(have["format"]), compressor_of(name) or "", name)
    stem = PurePath(name).name if have.get("format") and name not in (STANDARD_INPUT, "-") else "data"
    try:
        format, _, options, compressor = split_id(codec)
    except UsageError:
        return ""
    if options.get("layout") == "stream":
        format = "arrow stream"
    return _reads(format, (compressor or "").partition(":")[0], file_name(codec, stem))


def _reads(format: str, compressor: str, file: str) -> str:
    r"""The call for a file; empty where R reads no such file by itself.

    >>> _reads("parquet", "", "a.parquet"), _reads("csv", "zstd", "a b.csv.zst")
    ('arrow::read_parquet("a.parquet")', 'data.table::fread(cmd = "zstd -dc \'a b.csv.zst\'")')
    >>> _reads("ndjson", "gzip", "a.ndjson.gz"), _reads("ndjson", "", "a.ndjson"), _reads("parquet", "zstd", "a.parquet.zst")
    ('jsonlite::stream_in(gzfile("a.ndjson.gz"))', 'jsonlite::stream_in(file("a.ndjson"))', '')
    """
    call = "arrow::read_ipc_stream({})" if format == "arrow stream" else _CALLS.get(format, "")
    name = json.dumps(file, ensure_ascii=False)
    program = _PROGRAMS.get(compressor, "")
    piped = json.dumps(f"{program} {shlex.quote(file)}", ensure_ascii=False) if program else ""
    if not call or not compressor:
        return call.format(f"file({name})" if format == "ndjson" else name)
    if format == "csv":
        return call.format(f"cmd = {piped}" if piped else name)
    if format in _CONNECTED:
        return call.format(f"pipe({piped})" if piped else f"gzfile({name})")
    return call.format(name) if format in ("rds", "rdata") and compressor in _OF_R else ""
