"""What style.md asks of every file, checked."""

from __future__ import annotations

import ast
import contextlib
import importlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.source_imports import PACKAGE, module_name, sources

import tare
from tare import compress, formats

ROOT = PACKAGE.parents[1]
LINES = 600
TEXT = {".py", ".pyi", ".rs", ".toml", ".sh", ".R", ".js", ".mjs", ".java", ".cs", ".c", ".h", ".json"}
# Data that is not written by hand, and texts about characters.
NOT_ASCII = ("fuzz/corpus/", "vectors/", "python/tests/data/", "python/tare/report/vendor/")
VENDORED = ("python/tare/report/vendor/",)
# How a test would ask itself whether this machine can run it.
ASKING = re.compile(
    r"\bwhich\(|\bimport[o]rskip\b|\bpytest\.skip\(|\bskip[i]f\b|\bmark\.skip\b|TARE_REQUIRE[_]ALL"
)
ASKS = {"python/tests/conftest.py", "python/tests/support/capabilities.py"}


def tracked() -> list[Path]:
    """The files of the repository; without git, those of the package."""
    names: list[str] = []
    with contextlib.suppress(OSError):  # as where there is no program git
        done = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=False)
        names = done.stdout.decode().split("\0")[:-1]
    files = [ROOT / name for name in names] or [*PACKAGE.rglob("*.*"), *(ROOT / "src").rglob("*.rs")]
    return [file for file in files if file.is_file()]


def inside(file: Path, folders: tuple[str, ...]) -> bool:
    """Whether a file lies in one of the folders."""
    return file.relative_to(ROOT).as_posix().startswith(folders)


def public_functions(text: str) -> list[ast.FunctionDef]:
    """Functions of a module's top level that its ``__all__`` names."""
    tree = ast.parse(text)
    named = exported(tree)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in named]
    return [node for node in functions if not any(is_overload(mark) for mark in node.decorator_list)]


def is_overload(mark: ast.expr) -> bool:
    """Whether a decorator says that a function only has types: its documented twin follows."""
    return isinstance(mark, ast.Name) and mark.id == "overload"


def exported(tree: ast.Module) -> set[str]:
    """What ``__all__`` names; empty without one."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets
        ):
            return set(ast.literal_eval(node.value))
    return set()


def test_no_file_is_longer_than_six_hundred_lines() -> None:
    """One idea a file: most have below 400 lines, none more than 600."""
    long = {}
    for file in tracked():
        if file.suffix in {".py", ".rs", ".R", ".js"} and not inside(file, VENDORED):
            count = len(file.read_text(encoding="utf-8").splitlines())
            if count > LINES:
                long[str(file.relative_to(ROOT))] = count
    assert long == {}


def test_sources_are_ascii() -> None:
    """Sources are ASCII, so that no look-alike character hides in them."""
    found = []
    for file in tracked():
        if file.suffix not in TEXT or inside(file, NOT_ASCII):
            continue
        for number, line in enumerate(file.read_bytes().splitlines(), 1):
            if not line.isascii():
                found.append(f"{file.relative_to(ROOT)}:{number}")
    assert found == []


def test_modules_say_what_they_are_and_what_they_export() -> None:
    """Each module has a docstring, lazy annotations and an ``__all__`` that is true."""
    found = [
        f"{module_name(path)}: {wrong}"
        for path in sources()
        for wrong in wrong_with_module(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def wrong_with_module(text: str) -> Iterator[str]:
    """Yield what a module's text lacks of what every module has."""
    tree = ast.parse(text)
    if not ast.get_docstring(tree):
        yield "no docstring"
    if "from __future__ import annotations" not in text and len(tree.body) > 1:
        yield "no lazy annotations"
    defined = {name for node in ast.walk(tree) for name in bound(node)}
    if len(tree.body) > 1 and "__all__" not in defined:
        yield "no __all__"
    missing = exported(tree) - defined
    if missing and not re.search(r"^def __getattr__", text, re.MULTILINE):
        yield f"__all__ names {missing}"


def bound(node: ast.AST) -> list[str]:
    """Names that a statement binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    return []


def test_public_functions_are_documented() -> None:
    """Each exported function has a docstring, and one that raises says what."""
    found = [
        f"{module_name(path)}: {wrong}"
        for path in sources()
        if not module_name(path).startswith("tare.cli")  # a command's docstring is its help text
        for wrong in undocumented(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def undocumented(text: str) -> Iterator[str]:
    """Yield what the docstrings of a module's public functions lack."""
    for function in public_functions(text):
        doc = ast.get_docstring(function) or ""
        if not doc:
            yield f"{function.name} has no docstring"
        raises = any(
            isinstance(node, ast.Raise)
            and isinstance(node.exc, ast.Call)
            and not function.name.startswith("_")
            for node in ast.walk(function)
        )
        said = "Raises:" in doc or "raise" in doc.lower()
        if raises and not said:
            yield f"{function.name} raises and does not say what"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\ny = 2", ["no docstring", "no lazy annotations", "no __all__"]),
        ("'Text.'\nfrom __future__ import annotations\n__all__ = ['no']", ["__all__ names {'no'}"]),
        ("'Text.'", []),
    ],
)
def test_what_a_module_lacks_is_found(text: str, expected: list[str]) -> None:
    assert list(wrong_with_module(text)) == expected


def test_what_a_function_lacks_is_found() -> None:
    planted = "__all__ = ['f', 'g']\ndef f(): 1\ndef g():\n    'Text.'\n    raise ValueError('x')\n"
    assert list(undocumented(planted)) == ["f has no docstring", "g raises and does not say what"]


def test_the_front_door_is_small_and_complete() -> None:
    """`tare` exports at most 20 names, sorted, and each of them is there."""
    assert len(tare.__all__) <= 20
    assert set(tare.__all__) <= set(dir(tare))
    for name in tare.__all__:
        assert getattr(tare, name) is not None


def test_format_ids_are_their_modules() -> None:
    """Registry id = module = name on the command line."""
    for format in formats.FORMATS:
        module = importlib.import_module(f"tare.formats.{format.id}")
        assert module.FORMAT is format


def test_compressor_ids_are_their_core_files() -> None:
    """Every compressor has a file or folder of its name in the core."""
    files = {path.stem for path in (ROOT / "src" / "compress").glob("*")}
    longer = {"bz2": "bzip2"}
    assert {longer.get(known.name, known.name) for known in compress.COMPRESSORS} <= files


def test_lint_exceptions_have_reasons() -> None:
    """A ``noqa`` or ``type: ignore`` names its rule and says why."""
    bare = []
    for path in sources():
        text = path.read_text(encoding="utf-8")
        for mark in re.finditer(r"# ?(noqa|type: ignore)(.*)", text):
            if not re.match(r"(: ?[A-Z]+[0-9]+|\[[a-z-]+)", mark[2]):
                bare.append(f"{module_name(path)}: {mark[0]}")  # noqa: PERF401 - a nest is clearer
    assert bare == []


def test_no_machine_of_ours_is_named() -> None:
    """Committed text speaks of the project alone, not of the paths of one machine."""
    found = []
    private = re.compile(rb"/(?:work|root)/[a-z]")
    for file in tracked():
        if (
            file.suffix in TEXT | {".md", ""}
            and not inside(file, NOT_ASCII)
            and file.name != Path(__file__).name
        ):
            for number, line in enumerate(file.read_bytes().splitlines(), 1):
                if private.search(line):
                    found.append(f"{file.relative_to(ROOT)}:{number}")
    assert found == []


def test_the_package_that_measures_tells_each_of_its_modules() -> None:
    """Its `__init__.py` lists modules and folders in a comment, a line each; no folder has more than 20 modules."""
    folder = PACKAGE / "measure"
    listed = (folder / "__init__.py").read_text(encoding="utf-8")
    told = re.findall(r"^# {5}(\w+) {2,}\S", listed, re.MULTILINE)
    there = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    there |= {path.name for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert sorted(there) == sorted(told)
    for one in (folder, *filter(Path.is_dir, folder.iterdir())):
        assert len(list(one.glob("*.py"))) <= 21, one.name


def asking(text: str) -> list[int]:
    """List the lines that ask the machine without `support/capabilities.py`."""
    return [number for number, line in enumerate(text.splitlines(), 1) if ASKING.search(line)]


def test_tests_ask_what_a_machine_can_by_capability() -> None:
    """Finds other ways to ask: a program may lack its libraries, and CI does not see such a skip."""
    found = []
    for path in sorted((ROOT / "python" / "tests").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name not in ASKS:
            found += [f"{name}:{number}" for number in asking(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "need(shutil.wh~ich('R'), 'R is not installed')",
        "pd = pytest.importor~skip('pandas')",
        "pytest.sk~ip('no R here')",
        "@pytest.mark.ski~pif(os.geteuid() == 0, reason='root')",
        "@pytest.mark.sk~ip",
        "if os.environ.get('TARE_REQUIRE~_ALL'):",
    ],
)
def test_a_test_that_asks_by_itself_is_found(line: str) -> None:
    planted = line.replace("~", "")
    assert asking(f"need_command('git')\n    {planted}\nneed(path.exists(), 'which is skipped')") == [2]
