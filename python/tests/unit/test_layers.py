"""The import rule of ARCHITECTURE.md: who may import whom, who may know time, who may print."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from support.source_imports import PACKAGE, imports, module_name, sources

# Part of the package -> the parts it may import, beside itself and `errors`.
DATA = frozenset(
    {
        "_tare",
        "_version",
        "arrays",
        "atomic",
        "bare_arrays",
        "blit",
        "categories",
        "child_process",
        "collector",
        "compress",
        "fidelity",
        "frames",
        "kinds",
        "formats",
        "pandas_metadata",
        "r",
        "scalar_text",
        "table_text",
        "tagged",
        "unchanged",
    }
)
ALLOWED: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "atomic": frozenset(),
    "unchanged": frozenset(),
    "collector": frozenset(),
    "quantities": frozenset(),
    "_version": frozenset({"_tare"}),
    "compress": frozenset({"_tare", "atomic"}),
    "blit": frozenset({"_tare", "atomic", "compress"}),
    "compressed_files": frozenset({"compress", "atomic", "unchanged"}),
    "tagged": frozenset({"collector"}),
    "arrays": frozenset(),
    "bare_arrays": frozenset(),
    "pandas_metadata": frozenset(),
    "frames": frozenset({"arrays", "categories", "pandas_metadata"}),
    "categories": frozenset(),
    "kinds": frozenset({"arrays", "frames"}),
    "scalar_text": frozenset(),
    "table_text": frozenset({"_tare", "bare_arrays", "kinds", "scalar_text"}),
    "fidelity": frozenset({"bare_arrays", "categories", "kinds", "pandas_metadata", "scalar_text", "tagged"}),
    "r": frozenset({"_tare", "arrays", "atomic", "categories", "frames", "kinds"}),
    "child_process": frozenset({"formats"}),  # it imports the readers that are asked for by their names
    "formats": frozenset({"categories", "kinds", "blit", "r", "scalar_text", "table_text"}),
    "codec": DATA,
    "datasets": DATA | {"codec", "quantities"},
    "dataset": DATA | {"codec", "datasets"},
    "converting": DATA | {"codec", "datasets"},
    "inspecting": DATA | {"codec", "datasets"},
    "io": DATA | {"codec", "datasets", "dataset", "converting", "inspecting"},
    "store": DATA | {"codec"},
    "messages": DATA | {"codec"},
    "media": DATA | {"codec", "messages", "store"},
    "route": DATA | {"codec", "media", "messages", "io"},
    "measure": DATA | {"codec", "datasets", "dataset", "io", "media", "quantities", "route"},
    "report": DATA | {"codec", "measure"},
    "scale": DATA | {"codec", "datasets", "dataset", "converting", "io", "store", "measure"},
}
# A module that imports a part above its own, and why it may.
UPWARD = {
    ("tare.measure.result", "report"): "a Result shows itself; the report is imported when it does",
    ("tare.measure.progress", "report"): "progress is shown in the words of the report",
}
# `tare` itself only names where its names live; the command line may import everything.
FREE = frozenset({"", "__main__", "cli"})

KNOWS_TIME = frozenset({"measure", "report", "scale", "cli"})
CLOCKS = frozenset({"time", "timeit"})

# Modules below the command line that touch the process, and why they may.
TOUCHES = {
    (
        "tare.scale.executors.base",
        "os.environ",
    ): "gives a worker its number of threads, before libraries start theirs",
    ("tare.scale.executors.dask", "os.environ"): "the processes that it starts inherit it",
    ("tare.scale.executors.ray", "os.environ"): "turns off that Ray reports its use",
    ("tare.scale.place", "os.environ"): "an object store's endpoint, beside its credentials",
    ("tare.measure.worker_client.process", "os.environ"): "chooses what a worker's environment keeps",
    ("tare.measure.worker_client.languages", "os.environ"): "finds where packages of Node were installed",
    ("tare.measure.worker.main", "sys.stdout"): "its standard output is the worker protocol",
    ("tare.media.relay", "sys.stdout"): "a program of its own that tells its port to its parent",
}
PROCESS = frozenset({"os.environ", "os.getenv", "sys.argv", "sys.stdout", "sys.stderr", "print"})

KNOWN = frozenset(module_name(path) for path in sources()) | {"tare._tare"}
FORMATS = frozenset(
    module_name(path) for path in (PACKAGE / "formats").glob("*.py") if "\nFORMAT = " in path.read_text()
)


def part_of(module: str) -> str:
    """``formats`` for ``tare.formats.json``; empty for ``tare`` itself."""
    return module.partition(".")[2].partition(".")[0]


def violations(module: str, text: str) -> list[str]:
    """Every import of a source text that breaks the rule, as ``module:line: what``."""
    part = part_of(module)
    found = []
    for used in imports(text, KNOWN):
        place = f"{module}:{used.line}"
        if used.name in CLOCKS and part not in KNOWS_TIME | FREE:
            found.append(f"{place}: {part} must not know time")
        if used.name.split(".")[0] != "tare" or part in FREE:
            continue
        other = part_of(used.name)
        allowed = ALLOWED.get(part, frozenset()) | {part, "errors"}
        if other not in allowed and (module, other) not in UPWARD:
            found.append(f"{place}: {part} must not import {other or 'tare itself'}")
        if module in FORMATS and used.name in FORMATS:
            found.append(f"{place}: no format imports another: {used.name}")
    return found


def touches(module: str, text: str) -> list[str]:
    """Every print and every look at the process below the command line."""
    if part_of(module) == "cli" or not any(what.rpartition(".")[2] in text for what in PROCESS):
        return []
    found = []
    for node in ast.walk(ast.parse(text)):
        what = ""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            what = f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            what = node.func.id
        if what in PROCESS and (module, what) not in TOUCHES:
            found.append(f"{module}:{node.lineno}: {what} belongs to the command line")
    return found


def test_every_part_imports_only_what_it_may() -> None:
    """No source file imports a part above it, another format, or a clock below `measure`."""
    found = [line for path in sources() for line in violations(module_name(path), path.read_text())]
    assert found == []


def test_every_part_has_a_line_in_the_table() -> None:
    """A new module gets its place in the order before it gets users."""
    assert {part_of(module) for module in KNOWN} - FREE - ALLOWED.keys() <= {"_tare"}


def test_only_the_command_line_prints_and_reads_the_process() -> None:
    """No print, environment or argument below `cli`, but for the exceptions and their reasons."""
    found = [line for path in sources() for line in touches(module_name(path), path.read_text())]
    assert found == []


def test_exceptions_are_still_needed() -> None:
    """An exception whose reason has gone is removed."""
    texts = {module_name(path): path.read_text() for path in sources()}
    unused = [key for key in TOUCHES if key[1] not in texts.get(key[0], "")]
    unused += [key for key in UPWARD if f"from tare.{key[1]}" not in texts.get(key[0], "")]
    assert unused == []


@pytest.mark.parametrize(
    ("module", "text", "expected"),
    [
        (
            "tare.formats.json",
            "\nfrom tare import codec",
            "tare.formats.json:2: formats must not import codec",
        ),
        (
            "tare.formats.json",
            "def f():\n    import tare.formats.yaml",
            "tare.formats.json:2: no format imports another: tare.formats.yaml",
        ),
        ("tare.media.tcp", "from time import sleep", "tare.media.tcp:1: media must not know time"),
        (
            "tare.measure.run",
            "from tare.report.text import x",
            "tare.measure.run:1: measure must not import report",
        ),
        ("tare.codec", "import tare", "tare.codec:1: codec must not import tare itself"),
    ],
)
def test_a_planted_import_is_caught(module: str, text: str, expected: str) -> None:
    """Each kind of forbidden import is reported with its module and line."""
    assert expected in violations(module, text)


@pytest.mark.parametrize(
    "text",
    ["print('x')", "import os\nos.environ['A']", "import sys\nsys.argv[1]", "import os\nos.getenv('A')"],
)
def test_a_planted_touch_is_caught(text: str) -> None:
    """Printing and reading the process are reported."""
    assert len(touches("tare.codec", text)) == 1


def test_importing_tare_imports_no_third_party() -> None:
    """``import tare`` loads the standard library and `tare` only, and little of both."""
    code = "import sys; before = set(sys.modules); import tare; print('\\n'.join(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert loaded - set(sys.stdlib_module_names) == {"tare"}


def test_help_imports_click_alone() -> None:
    """``tare --help`` needs click and no data library."""
    code = (
        "import sys; from tare.cli import tare; tare(['--help'], standalone_mode=False);"
        "print('\\n'.join({n.split('.')[0] for n in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "click" in done.stderr.split()
    heavy = {"numpy", "pyarrow", "pandas", "polars", "orjson", "msgspec", "rich", "duckdb"}
    assert heavy & set(done.stderr.split()) == set()
