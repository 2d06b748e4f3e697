"""The grammar of codec ids, and what each part of an id may name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tare.codec.route_ids import codec_part
from tare.errors import UsageError

if TYPE_CHECKING:
    from tare.codec.codec import Codec
    from tare.codec.peers import Peer
    from tare.formats.base import Library, Option

__all__ = ["compressor_of", "may_follow", "settings_of", "split_id", "unknown"]

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_ID = re.compile(
    rf"(?P<format>{_NAME})(?::(?P<library>{_NAME}))?(?P<options>(?:,[^,+]*)*)(?:\+(?P<compressor>.*))?",
    re.DOTALL,
)


def split_id(text: str) -> tuple[str, str | None, dict[str, str], str | None]:
    """Split an id by the grammar alone: format, library, options, compressor with level.

    Names are not looked up, so ids of other languages' workers split too. The medium of a route id is
    checked and left out: `Codec.parse` takes what `tare measure` recommends, as ``arrow:pyarrow@file``.

    Raises:
        UsageError: Not an id, or no such medium.

    >>> split_id("yaml:pyyaml,loader=c+zstd:9")
    ('yaml', 'pyyaml', {'loader': 'c'}, 'zstd:9')
    """
    match = _ID.fullmatch(codec_part(text))
    if match is None:
        raise UsageError(
            f"not a codec id: {text[:80]!r}; expected format[:library][,key=value]*[+compressor[:level][,key=value]*]"
        )
    options = _pairs(text, match["options"].split(",")[1:])
    return match["format"], match["library"], options, match["compressor"]


def _pairs(text: str, parts: Iterable[str]) -> dict[str, str]:
    """Names and values of ``key=value`` texts."""
    options: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise UsageError(f"{text[:80]!r}: expected key=value after a comma, not {part[:80]!r}")
        if key in options:
            raise UsageError(f"{text[:80]!r}: the option {key!r} is given twice")
        if "%" in value:
            from urllib.parse import unquote

            value = unquote(value)
        options[key] = value
    return options


def settings_of(text: str, library: Library, given: Mapping[str, str]) -> dict[str, object]:
    """The options that an id gives and that differ from the library's defaults, as values.

    Args:
        text: The whole id, for messages.
        library: Whose options they are.
        given: Names and values as the id spells them.

    Raises:
        UsageError: No such option, or no such value of it.
    """
    settings: dict[str, object] = {}
    for key, raw in given.items():
        option = library.options.get(key)
        if option is None:
            raise UsageError(
                unknown(f"{text[:80]!r}: {library.name} has no option", key, list(library.options))
            )
        try:
            value = option.parse(raw)
        except ValueError as error:
            raise UsageError(f"{text[:80]!r}: {key}={raw[:80]}: {error}") from error
        if value != option.default or type(value) is not type(option.default):
            settings[key] = value
    return settings


def compressor_of(text: str) -> tuple[str | None, int | None, tuple[tuple[str, object], ...]]:
    """Name, level and options of the compressor that ``zstd:3,library=zstandard`` names; None twice for ``none``.

    Args:
        text: What follows the ``+`` of an id.

    Returns:
        Name, level, and the options that are not at their default, sorted by name.

    Raises:
        UsageError: No such compressor, library, level or option.

    >>> compressor_of("zstd"), compressor_of("gzip,library=isal"), compressor_of("none")
    (('zstd', 3, ()), ('gzip', 2, (('library', 'isal'),)), (None, None, ()))
    """
    from tare.codec.peers import library_names, peer

    head, *pairs = text.split(",")
    name, colon, level = head.partition(":")
    given = _pairs(text, pairs)
    library = given.pop("library", None)
    found = peer(name, library)
    if found is not None:
        return name, _level_of(text, found, level if colon else None), _peer_settings(text, found, given)
    libraries = library_names(name)
    if library is not None and library not in libraries:
        raise UsageError(unknown(f"the compressor {name[:80]} has no library", library, libraries))
    if name == "none" and not (colon or pairs):
        return None, None, ()
    return _own_compressor(",".join([head, *(pair for pair in pairs if not pair.startswith("library="))]))


def _own_compressor(text: str) -> tuple[str | None, int | None, tuple[tuple[str, object], ...]]:
    from tare._tare import parse
    from tare.codec.peers import PEERS
    from tare.compress import COMPRESSORS

    name = text.partition(",")[0].partition(":")[0]
    others = [one.compressor for one in PEERS if one.own_container]
    names = [known.name for known in COMPRESSORS]
    if name not in names:
        raise UsageError(unknown("no compressor", name, names + others))
    try:
        name, level, printed = parse(text)
    except UnicodeEncodeError as error:  # arguments of a command may hold bytes that are not text
        raise UsageError(f"invalid compressor {text[:80]!r}: expected UTF-8") from error
    pairs = (pair.partition("=") for pair in printed.split(",")[1:])
    return name, level, tuple(sorted((key, value) for key, _, value in pairs))


def _level_of(text: str, found: Peer, level: str | None) -> int:
    least, most = found.levels
    if level is None:
        return found.default_level
    if not re.fullmatch(r"-?[0-9]{1,4}", level) or not least <= int(level) <= most:
        raise UsageError(
            f"{text[:80]!r}: the levels of {found.name} are {least} to {most}, not {level[:20]!r}"
        )
    return int(level)


def _peer_settings(text: str, found: Peer, given: Mapping[str, str]) -> tuple[tuple[str, object], ...]:
    settings: dict[str, object] = {} if found.own_container else {"library": found.name}
    for key, raw in given.items():
        option = found.options.get(key)
        if option is None:
            raise UsageError(
                unknown(f"{text[:80]!r}: {found.name} has no option", key, ["library", *found.options])
            )
        try:
            value = option.parse(raw)
        except ValueError as error:
            raise UsageError(f"{text[:80]!r}: {key}={raw[:80]}: {error}") from error
        if value != option.default:
            settings[key] = value
    return tuple(sorted(settings.items()))


def may_follow(codec: Codec, rest: str) -> bool:
    """Whether the printed id of a codec may go on so: with an option, its value or a compressor, or how these begin.

    Args:
        codec: What the id names up to there.
        rest: A comma or a plus, and what follows.

    >>> from tare.codec import Codec
    >>> [may_follow(Codec.parse("json:orjson"), rest) for rest in (",sort_keys=t", ",sort_keys=x", "+zst", "+zzz")]
    [True, False, True, False]
    """
    if rest.startswith("+"):
        return codec.compressor is None and _begins_compressor(rest[1:])
    options = codec.library.options if codec.compressor is None else _compressor_options(codec)
    name, equals, value = rest[1:].partition("=")
    if not equals:
        return not name or any(known.startswith(name) for known in options)
    return name in options and _begins_value(options[name], value)


def _begins_compressor(stem: str) -> bool:
    from tare.codec.peers import PEERS
    from tare.compress import COMPRESSORS

    name, colon, level = stem.partition(":")
    known = [(one.name, one.levels) for one in COMPRESSORS if one.name != "none"]
    known += [(one.compressor, one.levels) for one in PEERS]
    if not colon:
        return any(one.startswith(name) for one, _ in known)
    ranges = [levels for one, levels in known if one == name and levels is not None]
    return any(str(at).startswith(level) for least, most in ranges for at in range(least, most + 1))


def _begins_value(option: Option, stem: str) -> bool:
    from urllib.parse import quote

    from tare.formats.base import spell

    choices = option.choices or ((False, True) if option.value_type == "bool" else ())
    if choices:
        return any(quote(spell(choice), safe="").startswith(stem) for choice in choices)
    return option.value_type != "int" or re.fullmatch(r"-?[0-9]{0,18}", stem) is not None


def _compressor_options(codec: Codec) -> Mapping[str, Option]:
    """What may follow a codec's compressor: another library of it, and its own options or Tare's."""
    from tare.codec.peers import PEERS
    from tare.formats.base import Option

    if codec.peer is not None:
        return codec.peer.options
    names = tuple(one.name for one in PEERS if one.compressor == codec.compressor)
    layout = Option(None, ("seekable", "single", "members"))
    return {"chunk": Option(None), "layout": layout, **({"library": Option(None, names)} if names else {})}


def unknown(what: str, name: str, known: list[str]) -> str:
    """The message for a name that is not among those known, with near ones."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, cutoff=0.5) or known
    hint = f"did you mean {', '.join(near)}?" if near else "it has none"
    return f"{what} {name[:80]!r}; {hint}"
