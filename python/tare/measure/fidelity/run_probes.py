"""Fidelity: what ``decode(encode(x))`` kept, changed or refused.

Two questions. ``compare``, of ``tare.fidelity``, asks it of the user's whole data, after the
decode that is timed. ``probe`` asks it of single values that formats are known to lose; it
runs in the worker and only reports what came back, ``judge`` gives the verdict in
the parent, so workers of all languages are judged by one rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tare.errors import Malformed, MissingLibrary, TareError, Unsupported, UsageError, WorkerError
from tare.fidelity import compare
from tare.fidelity.comparison import show, worst
from tare.measure.fidelity.probe_values import get, probes

if TYPE_CHECKING:
    from tare.codec import Codec

__all__ = ["VERDICTS", "compare", "gather", "judge", "judged_cells", "matrix", "probe", "repro"]

VERDICTS = ("same", "type", "lossy", "refused", "hook", "n/a")
HEX_BYTES = 256
_DEATHS = 12
# Formats that hold a sequence of documents: a probe is their only one.
_SEQUENCES = frozenset({"ndjson"})


# --- in the worker --------------------------------------------------------------------------


def probe(codec: Codec, set: str = "values/1", only: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Sends each value of a probe set through a codec and says what came back.

    Values are the library's own responsibility from here on: a library may hang on
    one or end the process, so this runs in a worker, and ``gather`` asks again for
    the rest.

    Args:
        codec: The codec to try; its compressor and options are used.
        set: ``values/1`` or ``columns/1``.
        only: Names of probes; None for all.

    Returns:
        One cell for each probe: ``probe``, ``status`` (``decoded``, ``refused`` or
        ``n/a``), ``out`` (tagged), ``bytes_hex`` (the first 256 bytes), ``error``,
        and where a named option keeps more, ``hook`` and ``hook_out``.

    Raises:
        UsageError: No such set or probe.
    """
    chosen = probes(set) if only is None else [get(name, set) for name in only]
    return [_cell(codec, item) for item in chosen]


def _cell(codec: Codec, item: Any) -> dict[str, Any]:
    cell: dict[str, Any] = {"probe": item.name, "status": "n/a"}
    if item.kind not in codec.library.native:
        return {**cell, "error": f"{codec.format_id}:{codec.library_name} holds no {item.kind}s"}
    try:
        value = item.build()
    except (Unsupported, ImportError) as error:
        return {**cell, "error": _said(error)}
    if item.encoded and codec.format_id not in item.encoded:
        return {**cell, "error": f"{codec.format_id} cannot be given this value"}
    _send(codec, item, value, cell)
    if judge(item, cell) not in ("same", "n/a") and not item.encoded:
        _try_hooks(codec, item, cell)
    return cell


def _send(codec: Codec, item: Any, value: Any, cell: dict[str, Any]) -> None:
    """Fills the cell with what one round trip gives, or how it ended."""
    phase = "encode"
    try:
        data = (
            _packed(codec, item.encoded[codec.format_id])
            if item.encoded
            else codec.encode(_given(codec, value))
        )
        cell["bytes_hex"] = bytes(memoryview(data)[:HEX_BYTES]).hex()
        phase = "decode"
        back = codec.decode(data, trust=True)
        cell["out"] = _tag(item, _taken(codec, item, back))
        cell["status"] = "decoded"
    except MissingLibrary:
        raise
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of Rust libraries are no Exception
        cell["status"] = "refused"
        cell["error"] = f"{phase}: {_said(error)}"


def _given(codec: Codec, value: Any) -> Any:
    return [value] if codec.format_id in _SEQUENCES and isinstance(value, dict) else value


def _taken(codec: Codec, item: Any, back: Any) -> Any:
    one = (
        codec.format_id in _SEQUENCES
        and item.kind == "document"
        and isinstance(back, list)
        and len(back) == 1
    )
    return back[0] if one else back


def _packed(codec: Codec, data: bytes) -> bytes:
    if codec.compressor is None:
        return data
    from tare.codec import packed

    return bytes(packed(data, codec.compressor, codec.level, codec.compressor_settings))


def _tag(item: Any, back: Any) -> Any:
    if item.kind == "table":
        from tare.kinds import convert
        from tare.measure.fidelity.probe_columns import table_tag

        return table_tag(convert(back, "arrow"))
    from tare.tagged import to_tagged

    return to_tagged(back, other=True, max_nodes=100_000)


def _try_hooks(codec: Codec, item: Any, cell: dict[str, Any]) -> None:
    from tare.measure.fidelity.library_options import hooks

    for name, trip in hooks(codec):
        try:
            out = _tag(item, _taken(codec, item, trip(_given(codec, item.build()))))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: S112 - a hook that fails is no hook
            continue
        tried = {**cell, "hook": name, "hook_out": out}
        if judge(item, tried) == "hook":
            cell.update(tried)
            if _verdict(item, out) == "same":
                return


def _said(error: BaseException) -> str:
    cause = error.__cause__ if isinstance(error, TareError) and error.__cause__ is not None else error
    text = " ".join(str(error).split())
    return f"{type(cause).__name__}: {text}"[:300]


# --- in the parent --------------------------------------------------------------------------


def gather(
    ask: Callable[[list[str]], Sequence[dict[str, Any]]], names: Sequence[str]
) -> list[dict[str, Any]]:
    """All cells of one codec, however many probes kill its worker.

    Asks for everything at once. When the worker dies, the probes are halved until
    the one that kills is alone: that one becomes a cell with its reason.

    Args:
        ask: Asks a worker for some probes; starts a new one if the last has died.
            Raises WorkerError when it dies or does not answer in time.
        names: Probes in their order.
    """
    cells: dict[str, dict[str, Any]] = {}
    work = [list(names)]
    deaths = 0
    while work:
        part = work.pop()
        if deaths >= _DEATHS:
            cells.update((name, _dead(name, "not tried: the codec kept ending its process")) for name in part)
            continue
        try:
            found = {str(cell.get("probe")): cell for cell in ask(part)}
        except WorkerError as error:
            deaths += 1
            if len(part) == 1:
                cells[part[0]] = _dead(part[0], f"{error.type}: {error}"[:300])
            else:
                half = (len(part) + 1) // 2
                work += [part[half:], part[:half]]
            continue
        for name in part:
            cells[name] = found.get(name) or _dead(name, "the worker left it out")
    return [cells[name] for name in names]


def _dead(name: str, why: str) -> dict[str, Any]:
    return {"probe": name, "status": "error", "error": why}


def judge(item: Any, cell: Mapping[str, Any]) -> str:
    """The verdict on one cell: ``same type lossy refused hook n/a``.

    ``hook`` means: not kept by the plain call, but with the named option it comes
    back the same, or, where the plain call refuses or loses it, can be rebuilt.

    Args:
        item: The probe, or its name in ``values/1``.
        cell: What the worker reported.

    >>> judge("int_2_31", {"status": "decoded", "out": {"v": 2147483648}})
    'same'
    """
    item = get(item) if isinstance(item, str) else item
    status = cell.get("status")
    if status == "n/a":
        return "n/a"
    plain = _verdict(item, cell.get("out")) if status == "decoded" else "refused"
    if plain == "same" or cell.get("hook") is None:
        return plain
    helped = _verdict(item, cell.get("hook_out"))
    return "hook" if helped == "same" or (helped == "type" and plain in ("refused", "lossy")) else plain


def _verdict(item: Any, out: Any) -> str:
    if item.kind == "table":
        return _verdict_table(item, out)
    from tare.tagged import from_tagged

    try:
        back = from_tagged(out)
    except Unsupported:
        return "lossy"
    return compare(item.build(), back, kind="document").verdict


def _verdict_table(item: Any, out: Any) -> str:
    from tare.measure.fidelity.probe_columns import ROW, read_table

    if not isinstance(out, Mapping) or not isinstance(out.get("$arrow"), str):
        raise Malformed("a cell of columns/1 needs $arrow", format="columns/1")
    found = compare(item.build(), read_table(out["$arrow"]), kind="table", limit=1000)
    return worst(change.verdict for change in found.changes if change.path != ROW)


def judged_cells(set: str, codec: str, cells: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The cells of one codec as the record keeps them, by probe.

    Each has ``verdict, in, out, bytes_hex, hook, error, repro``, and ``note`` where
    something outside the verdict is worth saying. A reply that cannot be read
    becomes ``refused`` with the reason.
    """
    return {str(cell["probe"]): _judged(get(str(cell["probe"]), set), codec, cell) for cell in cells}


def _judged(item: Any, codec: str, cell: Mapping[str, Any]) -> dict[str, Any]:
    error = cell.get("error")
    out = ""
    try:
        verdict = judge(item, cell)
        if cell.get("status") == "decoded":
            out = _shown(item, cell.get("out"))
    except TareError as fault:
        verdict, error = "refused", f"the worker's reply cannot be read: {fault}"[:300]
    judged = {
        "verdict": verdict,
        "in": _input(item),
        "out": out,
        "bytes_hex": str(cell.get("bytes_hex") or "")[: 2 * HEX_BYTES],
        "hook": cell.get("hook") if verdict == "hook" else None,
        "error": error,
        "repro": repro(codec, item),
    }
    if item.name == "shared" and verdict == "same" and "$def" not in str(cell.get("out")):
        judged["note"] = "comes back as two equal lists, no longer one"
    return judged


def _input(item: Any) -> str:
    try:
        value = item.build()
    except (Unsupported, ImportError):
        return show(item.help)
    return _table_text(value) if item.kind == "table" else show(value["v"])


def _shown(item: Any, out: Any) -> str:
    if item.kind == "table":
        from tare.measure.fidelity.probe_columns import read_table

        return _table_text(read_table(out["$arrow"]))
    from tare.tagged import from_tagged

    back = from_tagged(out)
    return show(back["v"] if isinstance(back, dict) and list(back) == ["v"] else back)


def _table_text(table: Any) -> str:
    """The columns of a small table: name, type and cells, cut to 160 characters."""
    from tare.fidelity.tables import cell_text
    from tare.measure.fidelity.probe_columns import ROW

    parts = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name == ROW:
            continue
        cells = ", ".join(cell_text(column, row) for row in range(min(4, len(column))))
        parts.append(f"{show(name, 20)} {column.type}: [{cells}]")
    return "; ".join(parts)[:160]


def matrix(
    set: str, cells: Mapping[str, Iterable[Mapping[str, Any]]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """The record's cells by codec and probe, of the replies of several codecs."""
    return {codec: judged_cells(set, codec, replies) for codec, replies in cells.items()}


def repro(codec: str, item: Any) -> str:
    """A line for a shell that shows input, bytes and output of one cell; empty for another language's codec.

    >>> print(repro("json:orjson", "key_int"))  # doctest: +ELLIPSIS
    python -c "import tare; from tare.fidelity import ...
    """
    item = get(item) if isinstance(item, str) else item
    text = str(codec).replace("'", "")
    from tare.codec import Codec
    from tare.measure.worker_client.languages import language_of

    if language_of(text):
        return ""
    try:
        format_id = Codec.parse(text).format_id
    except UsageError:  # of a worker that the run was given
        return ""
    given = "[x]" if format_id in _SEQUENCES and item.kind == "document" else "x"
    source = (
        f"probe_values.encoded('{item.name}', '{format_id}')"
        if item.encoded
        else f"tare.encode({given}, '{text}')"
    )
    code = (
        f"import tare; from tare.fidelity import comparison; from tare.measure.fidelity import probe_values; x = probe_values.value('{item.name}', '{item.set}'); "
        f"print(comparison.show(x)); b = {source}; print(bytes(b[:256])); "
        f"print(comparison.show(tare.decode(b, '{text}', trust=True)))"
    )
    return f'python -c "{code}"'
