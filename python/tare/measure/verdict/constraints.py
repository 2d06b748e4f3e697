"""What a codec must offer to be recommended: conditions of the profiles, and the user's own ``--must``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tare.errors import UsageError
from tare.fidelity.comparison import column_of
from tare.measure.verdict.kept import quoted_path
from tare.measure.verdict.units import listed

__all__ = [
    "REQUIRES",
    "Condition",
    "allowed",
    "barred",
    "conditions",
    "kept",
    "losses",
    "names_column",
    "readable_in",
]

MUST = ("keep-types", "untrusted", "append", "subset", "readable:LANGUAGE")


@dataclass(frozen=True)
class Condition:
    """One condition.

    Args:
        name: As the user says it: ``untrusted``, ``readable:r``, ``spec``.
        failing: ``failing(codec, verify)`` says why the codec does not meet it, or gives ``""``.
        by_flags: Whether the codec's flags alone tell, so that it is known before anything is measured.
    """

    name: str
    failing: Callable[[Mapping[str, Any], Mapping[str, Any]], str]
    by_flags: bool = True


def _flags(codec: Mapping[str, Any]) -> Mapping[str, Any]:
    return codec.get("flags") or {}


def _languages(codec: Mapping[str, Any]) -> set[str]:
    return {str(language).lower() for language in _flags(codec).get("languages") or ()}


def _independent(codec: Mapping[str, Any]) -> set[str]:
    """Languages with a reader that is not Tare's own; records of version 1 do not tell them apart."""
    flags = _flags(codec)
    return {str(language).lower() for language in flags.get("independent", flags.get("languages")) or ()}


def _flag(name: str, text: str) -> Condition:
    return Condition(name, lambda codec, _: "" if _flags(codec).get(name) else text)


def _keeps_types(_: Mapping[str, Any], verify: Mapping[str, Any]) -> str:
    changed = [
        quoted_path(change) for change in verify.get("changes") or () if change.get("verdict") != "same"
    ]
    if verify.get("verdict") == "same" and not changed:
        return ""
    return (
        f"changes types or values: {listed(changed, width=80)}"
        if changed
        else "types were not shown to come back"
    )


def _many_languages(name: str, least: int) -> Condition:
    return Condition(
        name,
        lambda codec, _: (
            ""
            if len(_independent(codec)) >= least
            else f"has independent readers in fewer than {least} languages"
        ),
    )


NO_CODE = Condition(
    "no code",
    lambda codec, _: (
        "bytes from others can run code or crash it" if _flags(codec).get("executes_code") else ""
    ),
)
# Condition -> what it asks of a format, in as few words as a line of help has room for.
REQUIRES = {
    "no code": "no code",
    "spec": "spec",
    "two readers": "2 languages",
    "three languages": "3 languages",
    "subset": "one column alone",
}
KNOWN = {
    "spec": _flag("spec", "has no written spec"),
    "two readers": _many_languages("two readers", 2),
    "three languages": _many_languages("three languages", 3),
    "no code": NO_CODE,
    "subset": _flag("subset", "cannot read a part"),
    "keep-types": Condition("keep-types", _keeps_types, by_flags=False),
    "untrusted": Condition("untrusted", NO_CODE.failing),
    "append": _flag("append", "cannot be appended to"),
}


def conditions(profile: Iterable[str], must: Iterable[str]) -> list[Condition]:
    """The conditions of a profile and of ``--must``, each once.

    Args:
        profile: Names of the profile's own.
        must: The user's: ``keep-types``, ``untrusted``, ``append``, ``subset``,
            ``readable:LANGUAGE``; several may be joined by commas.

    Raises:
        UsageError: A name that does not exist, or a language that no format names.

    >>> [condition.name for condition in conditions(["spec"], ["untrusted,readable:R"])]
    ['spec', 'untrusted', 'readable:r']
    """
    found = {name: KNOWN[name] for name in profile}
    for name in (part.strip() for text in must for part in text.split(",")):
        head, _, language = name.partition(":")
        if head == "readable" and language:
            found[name.lower()] = _readable(_known(language.lower()))
        elif name in KNOWN and name in MUST:
            found[name] = KNOWN[name]
        elif name:
            raise UsageError(f"invalid must {name!r:.80}: expected one of {', '.join(MUST)}")
    return list(found.values())


def readable_in(must: Iterable[str]) -> list[str]:
    """Returns the languages that the user's conditions name.

    >>> readable_in(["untrusted,readable:R"])
    ['r']
    """
    parts = (part.strip().partition(":") for text in must for part in text.split(","))
    return [language.lower() for head, _, language in parts if head == "readable"]


def barred(codec: Mapping[str, Any], wanted: Iterable[Condition]) -> str:
    """Why a codec cannot be chosen whatever is measured of it; empty if it may be.

    Args:
        codec: What the record says of it, with its ``flags``.
        wanted: The conditions; those that need the data to come back are left out.

    >>> barred({"flags": {"append": False}}, conditions((), ["append", "keep-types"]))
    'cannot be appended to'
    """
    return "; ".join(text for one in wanted if one.by_flags and (text := one.failing(codec, {})))


def _known(language: str) -> str:
    """The language, if any format has a reader in it.

    Raises:
        UsageError: None has; those that are known are listed.
    """
    from tare.formats import FORMATS

    known = sorted({str(name).lower() for format in FORMATS for name in format.languages})
    if language not in known:
        raise UsageError(
            f"must 'readable:{language[:40]}': no format names that language; there are {', '.join(known)}"
        )
    return language


def _readable(language: str) -> Condition:
    return Condition(
        f"readable:{language}",
        lambda codec, _: "" if language in _languages(codec) else f"is not read in {language}",
    )


def losses(verify: Mapping[str, Any] | None) -> list[str]:
    """Paths of the user's own data that changed silently."""
    return [
        change["path"] for change in (verify or {}).get("changes") or () if change.get("verdict") == "lossy"
    ]


def allowed(verify: Mapping[str, Any] | None, patterns: Sequence[str]) -> bool:
    """Whether every silent change is one the user put up with.

    Args:
        verify: What the comparison of the own data found.
        patterns: Paths, ``*`` and ``?`` as wildcards: ``time_hour``, ``*price*``, ``*``.

    >>> allowed({"changes": [{"path": "items[*].price", "verdict": "lossy"}]}, ["*.price"])
    True
    """
    lost = losses(verify)
    if not lost:
        return "*" in patterns
    return all(any(_matches(path, pattern) for pattern in patterns) for path in lost)


def names_column(pattern: str, columns: Iterable[str]) -> bool:
    """Returns whether a pattern may be of a change of a table: of a column, of a side of one, or of the table itself.

    Args:
        pattern: As `allowed` takes it.
        columns: Names of the columns.

    >>> [names_column(pattern, ["zip", "Sea"]) for pattern in ("z?p", "Sea (levels)", "(column names)", "price")]
    [True, True, True, False]
    """
    head = re.split(r" \(|\.|\[", pattern, maxsplit=1)[0]
    return pattern.startswith("(") or any(
        _matches(column, one) for column in columns for one in (pattern, head)
    )


def _matches(path: str, pattern: str) -> bool:
    # Brackets are part of paths (items[*].price), so fnmatch's sets are not wanted.
    text = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return path == pattern or re.fullmatch(text, path, re.DOTALL) is not None


def kept(case: Mapping[str, Any]) -> str:
    """What came back of the own data: ``19/19`` columns, ``all``, or the number of changed paths.

    A column that came back as another type counts as kept; one that changed silently does not. With ``?`` it is
    the word of a given worker, which nothing was held against.

    >>> kept({"verify": {"verdict": "lossy", "columns": 3, "changes": [{"path": "a", "verdict": "lossy"}]}})
    '2/3'
    """
    verify = case.get("verify") or {}
    if not verify or case.get("status") == "unproven":
        return ""
    changes = [
        change for change in verify.get("changes") or () if change.get("verdict") in ("lossy", "refused")
    ]
    bad = {change.get("path") for change in changes}
    columns = verify.get("columns")
    mark = "?" if verify.get("unchecked") else ""
    if columns:
        # Rows or metadata of the whole table count as one.
        lost = {column_of(change) or change.get("path") for change in changes}
        return f"{max(0, columns - len(lost)):,}/{columns:,}{mark}"
    if not bad:
        return f"all{mark}" if verify.get("verdict") in ("same", "type") else ""
    return f"{len(bad)} changed"
