"""Codecs of other languages: which worker has them, how it is started, and what it says it can do.

A library whose name is a language's, or begins with it (``rds:r``, ``json:r-jsonlite``), is
measured inside that language's own process. What is installed there only that process
knows: it is asked once, and whatever is wrong with it is the reason that its rows show.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

from tare.errors import TareError, UsageError

__all__ = [
    "LANGUAGES",
    "Foreign",
    "Inventory",
    "command_of",
    "found_here",
    "inventories",
    "inventory",
    "language_of",
    "languages_begun",
    "located",
    "name_of",
    "node_folders",
    "refusal_of_name",
    "spelled",
]

LANGUAGES: Mapping[str, str] = MappingProxyType(
    {"r": "R", "node": "Node", "java": "Java", "mono": "Mono", "rust": "Rust"}
)
"""Languages that codec ids name, by the name that ids and ``--worker`` have for them."""

_SCRIPTS = Path(__file__).resolve().parents[2] / "workers"
_REPOSITORY_PACKAGES = Path(__file__).resolve().parents[4] / "workers" / "node" / "node_modules"
_PROGRAMS = {
    "r": ("R", ("sh", str(_SCRIPTS / "r" / "tare-worker-r.sh")), "apt-get install r-base-core"),
    "node": ("node", ("sh", str(_SCRIPTS / "node" / "tare-worker-node.sh")), "apt-get install nodejs npm"),
    "rust": (
        "tare-worker-rust",
        ("tare-worker-rust",),
        "cargo install --locked --path workers/rust, in Tare's repository",
    ),
    "java": (
        "javac",
        ("sh", str(_SCRIPTS / "java" / "tare-worker-java.sh")),
        "apt-get install default-jdk-headless",
    ),
    "mono": (
        "mcs",
        ("sh", str(_SCRIPTS / "mono" / "tare-worker-mono.sh")),
        "apt-get install mono-mcs libnewtonsoft-json5.0-cil",
    ),
}
_NAME = re.compile("[a-z][a-z0-9]{0,19}")
# Codecs whose bytes no other library reads, whatever their format says: always, or with one of these options.
_OWN_BYTES: Mapping[str, frozenset[tuple[str, str]]] = MappingProxyType(
    {
        "msgpack:node-msgpackr": frozenset({("records", "yes")}),
        "cbor:node-cborx": frozenset({("records", "yes")}),
        "fory:java-fory": frozenset(),
    }
)
_SPOKEN = {"node": "javascript", "mono": "csharp"}
_TWO_ENDS = ("fifo", "unix", "tcp", "link", "remote")
_SLICE_S = 0.1
_ENDING_S = 2.0
"""How long workers that were told to end are waited for, in seconds."""


@dataclass(frozen=True)
class Inventory:
    """What the worker of a language has.

    Args:
        language: Its name in ids.
        version: Of the runtime; empty if it cannot be run.
        codecs: What its ``hello`` lists, by id.
        missing: Install line of each codec that it knows and has not.
        reason: Why it cannot be run; empty if it can.
        absent: Whether that is that its program is not installed.
    """

    language: str
    version: str = ""
    codecs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    absent: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """Every codec that it knows, installed or not."""
        return (*self.codecs, *self.missing)


_remembered: dict[tuple[str, tuple[str, ...]], Inventory] = {}
"""What workers said, by language and command: that of a program does not change while this one runs."""


@dataclass(frozen=True)
class Foreign:
    """A codec that the worker of another language runs: what seats and records need of a codec.

    Args:
        text: The id.
        found: What its worker has.

    >>> str(Foreign("rds:r,version=2", Inventory("r")))
    'rds:r,version=2'
    """

    text: str
    found: Inventory = field(compare=False)

    def __str__(self) -> str:
        return self.text

    @property
    def language(self) -> str:
        """The language of its worker."""
        return self.found.language

    @property
    def format(self) -> SimpleNamespace:
        """What is asked of a format: its id."""
        return SimpleNamespace(id=self.text.partition(":")[0])

    @property
    def library(self) -> SimpleNamespace:
        """What is asked of a library: its name, and what its workers must load first."""
        return SimpleNamespace(name=_plain(self.text).partition(":")[2], modules=(self.language,))

    @property
    def compressor(self) -> None:
        """None: a compressor of a foreign codec is one of its options."""
        return

    def native(self, kind: str) -> str:
        """The in-memory kind that it works on: the language's own."""
        del kind
        return self.language

    @property
    def about(self) -> Mapping[str, Any]:
        """What its worker says of it; empty if it does not have it."""
        return self.found.codecs.get(_plain(self.text), {})

    @property
    def options(self) -> dict[str, Any]:
        """Its options, those of the id put into the worker's defaults."""
        given = (part.partition("=") for part in self.text.split(",")[1:])
        return {**self.about.get("options", {}), **{name: value for name, _, value in given}}

    def printed(self) -> Foreign:
        """The same codec by the id that is printed: its options by name, without those at their default.

        >>> here = Inventory("node", codecs={"json:node": {"options": {"level": 6, "keys": "all"}}})
        >>> str(Foreign("json:node,level=6,keys=few", here).printed())
        'json:node,keys=few'
        """
        defaults = {name: spelled(value) for name, value in self.about.get("options", {}).items()}
        parts = (part.partition("=") for part in self.text.split(",")[1:])
        given = sorted(f",{name}={value}" for name, _, value in parts if defaults.get(name) != value)
        return Foreign(_plain(self.text) + "".join(given), self.found)

    def describe(self, threads: int | str) -> dict[str, Any]:
        """What the record says of it.

        Args:
            threads: 1 or ``all``.
        """
        from tare import formats

        name = _plain(self.text)
        format_id, _, library = name.partition(":")
        known = next((one for one in formats.FORMATS if one.id == format_id), None)
        shared = None if self._own_bytes() else known
        alone = [_SPOKEN.get(self.language, name_of(self.language).lower())]
        version = str(self.about.get("version", ""))
        return {
            "format": format_id,
            "library": library,
            "compressor": None,
            "level": None,
            "compressor_options": {},
            "options": self.options,
            "version": version,
            "versions": {library: version, self.language: self.found.version},
            "threads": threads,
            "gc": self.about.get("gc"),
            "flags": {
                "executes_code": bool(self.about.get("executes_code")),
                "spec": shared.spec if shared is not None else "",
                "languages": list(shared.languages) if shared is not None else alone,
                "independent": list(shared.independent) if shared is not None else alone,
                "streams": "streaming" in self.about.get("delivery", ()),
                "append": False,
                "subset": list(self.about.get("subset", ())),
                "text": known.text if known is not None else False,
            },
        }

    def _own_bytes(self) -> bool:
        """Whether its bytes are a layout of its own, which nothing else of the format reads."""
        by = _OWN_BYTES.get(_plain(self.text))
        return by is not None and (
            not by or not by.isdisjoint((name, str(value)) for name, value in self.options.items())
        )

    def refusal(self, labels: Mapping[str, str], kind: str | None) -> str | None:
        """Why its worker cannot measure these labels; None if it can.

        Args:
            labels: Level of each factor.
            kind: Kind of the data; None if that is not known yet.
        """
        if self.found.reason:
            return self.found.reason
        if fault := self.fault():
            return fault
        name, about = _plain(self.text), self.about
        if not about:
            return f"not installed: {self.found.missing[name]}"
        medium, delivery = labels.get("medium", "memory"), labels.get("delivery", "whole")
        held = "tcp" if medium == "link" else medium
        if kind is not None and kind not in about.get("kinds", ()):
            return f"{name} holds {' and '.join(f'{one}s' for one in about['kinds'])}, not {kind}s"
        if held not in about.get("media", ()):
            return f"{name} is not measured on {medium} by the {name_of(self.language)} worker"
        if delivery != "whole" and medium not in _TWO_ENDS:
            return f"{name} has no {delivery} delivery: the medium has one end"
        if delivery not in about.get("delivery", ("whole",)):
            return f"{name} has no {delivery} delivery in the {name_of(self.language)} worker"
        if labels.get("threads") == "all" and "all" not in about.get("threads", ()):
            return f"{name} uses one thread only"
        for factor, only in _ONLY.items():
            if factor == "sync" and self.language in _FLUSH:
                continue
            if labels.get(factor, only) != only:
                return f"the {name_of(self.language)} worker measures {factor}={only}"
        return None

    def fault(self) -> str | None:
        """What is wrong with the id, whatever is measured with it; None if nothing is, as far as its worker says."""
        name, plus, compressor = _plain(self.text).partition("+")
        if name not in self.found.codecs and name not in self.found.missing:
            return f"the {name_of(self.language)} worker has no codec {name[:80]}"
        if plus:
            return (
                f"{name} takes no +{compressor[:80]}: that is for Python's codecs, "
                "those of other languages compress by options, if they do"
            )
        return self._option_fault(name) if name in self.found.codecs else None

    def may_follow(self, rest: str) -> bool:
        """Whether its id may go on so: with an option or its value, or how these begin.

        What a codec that is not installed has, nobody can say.

        Args:
            rest: A comma, and what follows.
        """
        known, choices = self.about.get("options", {}), self.about.get("choices", {})
        option, equals, value = rest[1:].partition("=")
        if not self.about or not option:
            return True
        if not equals:
            return any(name.startswith(option) for name in (*known, *choices))
        told = list(map(spelled, choices.get(option, ())))
        return (option in known or option in choices) and (
            not told or any(one.startswith(value) for one in told)
        )

    def _option_fault(self, name: str) -> str | None:
        """What is wrong with the options of the id; the worker's own defaults are its own matter."""
        known, choices = self.about.get("options", {}), self.about.get("choices", {})
        met: set[str] = set()
        for part in self.text.split(",")[1:]:
            option, equals, value = part.partition("=")
            if not equals or not option:
                return f"{name}: expected key=value after a comma, not {part[:80]!r}"
            if option in met:
                return f"{name}: the option {option[:80]!r} is given twice"
            met.add(option)
            if option not in known and option not in choices:
                return f"{name} has no option {option!r}; it has {', '.join({**known, **choices}) or 'none'}"
            told = list(map(spelled, choices.get(option, ())))
            if told and value not in told:
                return f"{name}: {option} is one of {', '.join(told)[:200]}, not {value!r}"
        return None


_FLUSH = frozenset({"node", "java", "mono", "rust"})
_ONLY = {
    "cache": "warm",
    "sync": "none",
    "materialise": "full",
    "subset": "all",
    "kind": "own",
    "grain": "whole",
    "order": "insertion",
}


def language_of(codec: str, given: Collection[str] = ()) -> str:
    """The language whose worker has the codec; empty for Python's own.

    Args:
        codec: Its id.
        given: Names of further workers, which the run was given commands of.

    >>> language_of("json:r-jsonlite"), language_of("rds:r,version=2"), language_of("json:rapidjson")
    ('r', 'r', '')
    >>> language_of("json:perl"), language_of("json:perl-xs", {"perl": "perl worker.pl"})
    ('', 'perl')
    """
    library = _plain(codec.partition("+")[0]).partition(":")[2]
    name = library.partition("-")[0]
    return name if name in LANGUAGES or name in given else ""


def languages_begun(pattern: str, given: Collection[str] = ()) -> list[str]:
    """The languages that may have a codec whose id begins so; no other needs to be started and asked.

    Args:
        pattern: How an id begins, and ``*``.
        given: Names of further workers, which the run was given commands of.

    >>> languages_begun("json:r-*"), languages_begun("json:j*"), languages_begun("json:orjson*")
    (['r'], ['java'], [])
    >>> languages_begun("bitcode:*"), languages_begun("bson*"), languages_begun("pickle*")
    (['r', 'node', 'java', 'mono', 'rust'], ['node', 'java', 'mono', 'rust'], [])
    >>> languages_begun("pickle,*"), languages_begun("pickle*", ["perl"])
    ([], ['perl'])
    """
    stem = pattern.removesuffix("*")
    if "," in stem or "+" in stem:  # what workers list are ids without options
        return []
    format, colon, library = stem.partition(":")
    spoken = _spoken(format, whole=bool(colon))
    return [
        name
        for name in dict.fromkeys((*LANGUAGES, *given))
        if name.startswith(library) or library.startswith(f"{name}-")
        if not spoken or name in given or _SPOKEN.get(name, name) in spoken
    ]


def _spoken(stem: str, *, whole: bool) -> set[str]:
    """Languages with a library for what begins as a format of Python's; empty for others, of which nobody knows.

    Args:
        stem: Id of the format, or how it begins.
        whole: Whether it ends there; else ``qs`` is ``qs2`` too. No format of other languages alone begins as one of these.
    """
    from tare import formats

    known = [one for one in formats.FORMATS if one.id == stem or (not whole and one.id.startswith(stem))]
    if not any(one.id == stem for one in known):
        return set()
    return {language for one in known for language in one.languages}


def found_here(given: Collection[str] = ()) -> list[str]:
    """Languages whose programs are found, without starting any.

    Args:
        given: Names of further workers, which the run was given commands of.
    """
    return [
        name
        for name in dict.fromkeys((*LANGUAGES, *given))
        if name in given or shutil.which(_PROGRAMS[name][0]) is not None
    ]


def name_of(language: str) -> str:
    """What a language is called in sentences.

    >>> name_of("r"), name_of("perl")
    ('R', 'Perl')
    """
    return LANGUAGES.get(language) or language.capitalize()


def refusal_of_name(language: str) -> str:
    """Why a worker cannot have this name, so that ids name it and nothing else; empty if it can.

    >>> refusal_of_name("perl"), refusal_of_name("orjson")
    ('', 'orjson is a library of Python')
    """
    from tare import formats

    if language in LANGUAGES:
        return ""
    if not _NAME.fullmatch(language):
        return "a name is 1 to 20 lower-case letters and digits, a letter first"
    libraries = {one.name.partition("-")[0] for format in formats.FORMATS for one in format.libraries}
    if language == "python" or language in libraries:
        return f"{language} is {'known' if language == 'python' else 'a library of Python'}"
    return ""


def command_of(language: str, given: Mapping[str, str]) -> tuple[str, ...]:
    """The program and arguments of a language's worker.

    Args:
        language: Its name in ids.
        given: Commands by name, as ``--worker`` gave them; they go first.

    Raises:
        UsageError: There is no such language, or its program is not installed; with what to do.

    >>> command_of("node", {"node": "node my-worker.js"})
    ('node', 'my-worker.js')
    """
    if given.get(language):
        return located(given[language])
    name = name_of(language)
    if language not in _PROGRAMS:
        raise UsageError(f"no language {language[:40]!r}: there are workers of {', '.join(LANGUAGES)}")
    program, command, install = _PROGRAMS[language]
    if shutil.which(program) is None:
        wanted = f"{name} worker" if program.startswith("tare-") else name
        raise UsageError(
            f"needs {'the ' if wanted != name else ''}{wanted}, which is not installed: {install}"
        )
    return (*command, *node_folders()) if language == "node" else command


def located(command: str) -> tuple[str, ...]:
    """A command line as a worker is started with it: in a folder of its own, so that files have their whole paths.

    The program is looked for as a shell does: without a slash on PATH alone, since the current folder may
    have come with the data.

    Raises:
        UsageError: It is empty, or its quotes do not end.

    >>> located("perl -w /nowhere/worker.pl")
    ('perl', '-w', '/nowhere/worker.pl')
    """
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the worker's command {command[:80]!r} cannot be read: {error}") from None
    if not parts or not parts[0]:
        raise UsageError("the worker's command is empty: give a program and its arguments")
    program, *arguments = parts
    return (
        os.path.abspath(program) if "/" in program else program,
        *(os.path.abspath(part) if os.path.isfile(part) else part for part in arguments),
    )


def node_folders() -> tuple[str, ...]:
    """Where the Node worker looks for packages, in this order; the last is where its install lines put them.

    ``TARE_NODE_MODULES`` alone if it is set. Else what ``npm install --prefix workers/node`` left in
    the repository that this program runs from, and then the user's own folder of data. Never the current
    folder: loading a package runs it, and the folder may have come with the data.
    """
    if given := os.environ.get("TARE_NODE_MODULES"):
        return (os.path.abspath(given),)
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    own = [str(_REPOSITORY_PACKAGES)] if _REPOSITORY_PACKAGES.is_dir() else []
    return (*own, str(data / "tare" / "node" / "node_modules"))


def inventory(language: str, given: Mapping[str, str], stop: Callable[[], bool] | None = None) -> Inventory:
    """What the worker of a language has; it is started and asked once.

    Args:
        language: Its name in ids.
        given: Commands by name.
        stop: Whether to end the worker and wait no longer; what is said of it then is not remembered.

    >>> inventory("node", {"node": "false"}).reason
    'the Node worker does not run: exited with code 1'
    """
    try:
        command = command_of(language, given)
    except UsageError as error:
        return Inventory(language, reason=str(error), absent=not given.get(language))
    known = _remembered.get((language, command))
    if known is not None:
        return known
    found = _asked(language, command, stop)
    if stop is None or not stop():
        _remembered[language, command] = found
    return found


def inventories(
    languages: Iterable[str], given: Mapping[str, str], check: Callable[[], None] = lambda: None
) -> list[Inventory]:
    """What the workers of several languages have, in that order; all are started at once, as each takes its time.

    Args:
        languages: Their names in ids.
        given: Commands by name.
        check: Called again and again meanwhile. What it raises is raised, as Ctrl-C is, and the workers end.

    >>> [found.language for found in inventories(["node", "perl"], {"node": "false", "perl": "false"})]
    ['node', 'perl']
    """
    ended = threading.Event()
    answers = [_aside(partial(inventory, language, given, ended.is_set)) for language in languages]
    try:
        while wait(answers, _SLICE_S).not_done:
            check()
    finally:
        ended.set()
        wait(answers, _ENDING_S)
    return [answer.result() for answer in answers]


def _aside(call: Callable[[], Inventory]) -> Future[Inventory]:
    """What a call in a thread of its own gives. A pool's threads would be waited for at the end of the program."""
    answer: Future[Inventory] = Future()

    def work() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return answer


def _asked(language: str, command: tuple[str, ...], stop: Callable[[], bool] | None) -> Inventory:
    from tare.measure.worker_client.client import Worker

    name = name_of(language)
    try:
        with Worker(language, command, stop=stop) as worker:
            hello = worker.hello
    except TareError as error:
        tail = str(getattr(error, "log_tail", "") or "").strip().splitlines()
        said = f" ({tail[-1][:120]})" if tail else ""
        return Inventory(language, reason=f"the {name} worker does not run: {str(error)[:200]}{said}")
    codecs = [one for one in _dicts(hello.get("codecs")) if isinstance(one.get("id"), str)]
    missing = _dicts(hello.get("missing"))
    return Inventory(
        language,
        version=str(hello.get("version") or ""),
        codecs={one["id"]: {**_sound(one), "gc": hello.get("gc")} for one in codecs},
        missing={str(one.get("id")): str(one.get("install", "")) for one in missing},
    )


def _dicts(found: object) -> list[dict[str, Any]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _sound(about: dict[str, Any]) -> dict[str, Any]:
    """What a worker says of a codec, with nothing in place of what is not of the type it must be."""
    found = dict(about)
    for name in ("kinds", "media", "delivery", "threads", "subset"):
        if not isinstance(found.get(name), list):
            found[name] = []
    for name in ("options", "choices"):
        if not isinstance(found.get(name), dict):
            found[name] = {}
    found["version"] = str(found.get("version") or "")
    found["choices"] = {name: some for name, some in found["choices"].items() if isinstance(some, list)}
    return found


def spelled(choice: Any) -> str:
    """A choice of an option as ids have it.

    >>> spelled(True), spelled(6), spelled("on")
    ('true', '6', 'on')
    """
    return str(choice).lower() if isinstance(choice, bool) else str(choice)


def _plain(codec: str) -> str:
    """The id without its options."""
    return codec.partition(",")[0]
