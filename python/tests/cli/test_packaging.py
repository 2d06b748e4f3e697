"""What is shipped: the source distribution holds what a build needs, and nothing of this machine."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from support.capabilities import need_command, need_script

import tare


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files of a source distribution made now, below its top folder."""
    root = Path(__file__).resolve().parents[3]
    maturin = need_script("maturin")
    need_command("cargo", "rustc")
    folder = tmp_path_factory.mktemp("sdist")
    command = [maturin, "sdist", "--manifest-path", "crates/tare-python/Cargo.toml", "--out", folder]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_a_build_finds_everything(names: set[str]) -> None:
    """Sources of core, glue and package, the lock file, licences, the readme, types and plans."""
    assert names >= {
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "crates/tare-python/build.rs",
        "crates/tare-python/src/lib.rs",
        "pyproject.toml",
        "python/tare/_tare.pyi",
        "python/tare/measure/plans/files.toml",
        "python/tare/workers/probes-values-1.json",
        "python/tare/workers/r/tare-worker-r.sh",
        "python/tare/workers/r/worker.R",
        "python/tare/py.typed",
        "src/lib.rs",
    }


def test_nothing_else_is_shipped(names: set[str]) -> None:
    """No environment, build, cache, compiled file or test data of the machine that made it."""
    tops = {name.partition("/")[0] for name in names}
    assert tops <= {
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "PKG-INFO",
        "README.md",
        "clippy.toml",
        "crates",
        "fuzz",
        "pyproject.toml",
        "python",
        "src",
        "tests",
    }
    assert not {name for name in names if name.endswith((".so", ".pyc", ".pyd")) or "__pycache__" in name}
    assert not {name for name in names if name.startswith("python/") and not name.startswith("python/tare/")}


def test_the_version_stands_in_one_place(root: Path) -> None:
    """The package's version is Cargo.toml's."""
    manifest = tomllib.loads((root / "Cargo.toml").read_text())
    assert tare.__version__ == manifest["workspace"]["package"]["version"]


def test_the_package_runs_without_its_script() -> None:
    """As a job of a batch system runs it, where no script is on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "tare", "codecs", "nothing"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("tare: there is no format 'nothing'"), done.stderr


def test_version_names_commit_and_features() -> None:
    """``tare --version`` is one line: version, commit, compressors of the core."""
    code = "from tare.cli import main; main(['--version'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    from tare import _tare

    assert not _tare.__debug_build__, "build the core with make setup"
    assert done.stdout == f"tare {tare.__version__} ({_tare.__commit__}; core: zstd, lz4, gzip, bz2, xz)\n"
