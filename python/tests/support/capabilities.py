"""Capabilities that tests need: the one place that decides whether a test can run on this machine.

A program on the path is not a capability: R may lack a package, Node its modules, a compiler its
runtime. Each ``need_...`` asks for what the test uses, skips it by name where that is missing, and
fails it under ``TARE_REQUIRE_ALL=1``, as in CI. ``test_house_rules.py`` keeps ``shutil.which``,
``pytest.skip`` and their like out of every other test file.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from types import ModuleType

import pytest

from tare.codec import Codec
from tare.measure.worker_client.languages import Inventory, inventory

__all__ = [
    "NODE_MODULES",
    "ROOT",
    "need",
    "need_chromium",
    "need_codec",
    "need_command",
    "need_descriptors",
    "need_end",
    "need_ipv6",
    "need_language",
    "need_linux",
    "need_module",
    "need_namespaces",
    "need_node_modules",
    "need_openssl",
    "need_perl",
    "need_posix",
    "need_r",
    "need_root",
    "need_script",
    "need_sshd",
    "need_unpublished_r",
    "need_worker_codec",
    "unavailable",
]

ROOT = Path(__file__).resolve().parents[3]
NODE_MODULES = ROOT / "workers" / "node" / "node_modules"


def need(condition: object, reason: str) -> None:
    """Skip the test with the reason unless the condition holds; fail if nothing may be skipped.

    With ``TARE_REQUIRE_ALL=1``, as in CI, a missing tool or folder fails the test:
    a suite that skips what is not installed is green for years.
    """
    if condition:
        return
    if os.environ.get("TARE_REQUIRE_ALL") == "1":
        pytest.fail(f"TARE_REQUIRE_ALL=1, but {reason}", pytrace=False)
    unavailable(reason)


def unavailable(reason: str) -> None:
    """Skip the test even in CI, or the module that is being imported: nothing to install would help.

    For shared data that a lone clone has not, and for peers that no registry has.
    """
    pytest.skip(reason, allow_module_level=True)


# Packages of Debian whose name is not that of the program.
_PACKAGES = {
    "Rscript": "r-base-core",
    "chromedriver": "chromium-driver",
    "ip": "iproute2",
    "javac": "default-jdk-headless",
    "java": "default-jdk-headless",
    "mcs": "mono-mcs",
    "mono": "mono-runtime",
    "node": "nodejs",
    "nsenter": "util-linux",
    "ps": "procps",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "unshare": "util-linux",
    "xz": "xz-utils",
}


def need_command(*names: str) -> str:
    """Require programs on the path; the path of the first."""
    for name in names:
        install = f"apt-get install {_PACKAGES.get(name, name)}"
        need(shutil.which(name), f"the command {name} is not installed: {install}")
    return str(shutil.which(names[0]))


def need_script(name: str) -> str:
    """Require a program that a Python package brings, beside the interpreter or on the path; its path."""
    found = shutil.which(name, path=Path(sys.executable).parent) or shutil.which(name)
    need(found, f"the command {name} is not installed: pip install '.[test]'")
    return str(found)


def need_module(name: str, install: str = "pip install '.[all,test]'") -> ModuleType:
    """Require a Python module, imported with whatever it needs itself."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        need(False, f"the Python module {error.name or name} is not installed: {install}")
        raise


def need_codec(id: str) -> Codec:
    """Require the library and the compressor of a codec of Python's."""
    codec = Codec.parse(id)
    need(codec.installed, f"{id} is not installed: {codec.install_line}")
    return codec


def need_language(language: str) -> Inventory:
    """Require a language whose worker starts and answers; what that worker has."""
    found = inventory(language, {})
    need(not found.reason, f"the worker of {language} does not start: {found.reason}")
    return found


def need_worker_codec(*ids: str, language: str) -> Inventory:
    """Require codecs of a language's worker, whatever options follow their names."""
    found = need_language(language)
    for id in ids:
        name = id.partition(",")[0]
        need(
            name in found.codecs,
            f"{language} has no library for {name}: {found.missing.get(name, 'unknown')}",
        )
    return found


def need_end(format: str, ids: Collection[str] = (), *, language: str, kind: str = "document") -> list[str]:
    """Require codecs by which a language takes part in an exchange of a format: those named, or one at least.

    Returns:
        Every codec of the language that takes part.
    """
    from tare.measure.exchange.documents import ends_of

    missing = {} if language == "python" else need_language(language).missing
    found = [str(one) for one in ends_of(format, languages=[language], kind=kind)[0]]
    why = "; ".join(dict.fromkeys(text for id, text in missing.items() if id.startswith(f"{format}:")))
    need(found, f"{language} has no library for {format}: {why or 'its worker has no codec of it'}")
    for id in ids:
        need(
            id in found,
            f"{language} has no library for {id}: {missing.get(id, 'its worker has no such codec')}",
        )
    return found


def need_node_modules() -> Path:
    """Require Node and every package of ``workers/node``; their folder."""
    need_language("node")
    wanted = json.loads((NODE_MODULES.parent / "package.json").read_text(encoding="utf-8"))["dependencies"]
    missing = [name for name in wanted if not (NODE_MODULES / name / "package.json").is_file()]
    need(
        not missing,
        f"Node has no package {', '.join(missing)}: npm install --prefix workers/node --ignore-scripts --no-save",
    )
    return NODE_MODULES


def need_r(*packages: str) -> str:
    """Require Rscript, and packages that R can load; the program."""
    program = need_command("Rscript")
    for package in packages:
        install = f"apt-get install r-cran-{package.lower()}"
        need(
            _r_loads(package),
            f"R's package {package} is not installed: {install}, or install.packages('{package}')",
        )
    return program


def need_unpublished_r(package: str) -> None:
    """Require a package of R that no system package provides: its tests are skipped in CI too."""
    need_r()
    if not _r_loads(package):
        unavailable(f"R's package {package} is not installed: install.packages('{package}')")


@functools.cache
def _r_loads(package: str) -> bool:
    code = f"quit(status = !requireNamespace('{package}', quietly = TRUE))"
    asked = ["Rscript", "--vanilla", "-e", code]
    return subprocess.run(asked, check=False, capture_output=True, timeout=120).returncode == 0


def need_perl(*modules: str) -> str:
    """Require Perl, and modules that it can load: some systems have the program alone; its path."""
    program = need_command("perl")
    for module in modules:
        need(_perl_loads(module), f"Perl has no module {module}")
    return program


@functools.cache
def _perl_loads(module: str) -> bool:
    asked = ["perl", f"-M{module}", "-e", "1"]
    return subprocess.run(asked, check=False, capture_output=True, timeout=60).returncode == 0


def need_openssl() -> str:
    """Require the command of OpenSSL; its path."""
    return need_command("openssl")


def need_sshd() -> tuple[str, str]:
    """Require an SSH server, which may be off the path, and its commands; paths of the server and of the client."""
    server = shutil.which("sshd") or "/usr/sbin/sshd"
    need(os.path.exists(server), "sshd is not installed: apt-get install openssh-server")
    need_command("ssh-keygen")
    return server, need_command("ssh")


def need_chromium() -> tuple[str, str]:
    """Require Chromium and what drives it; paths of the browser and of the driver."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    need(browser, "chromium is not installed: apt-get install chromium")
    return str(browser), need_command("chromedriver")


def need_posix() -> None:
    """Require a system with forks, named pipes and pseudo terminals."""
    need(os.name == "posix", "this is a test of Unix")


def need_ipv6() -> None:
    """Require an address of IPv6 on this machine."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError as error:
        unavailable(f"no IPv6 on this machine: {error}")


def need_descriptors(count: int) -> None:
    """Require that a process may have so many descriptors open, after its own limit is raised."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < count:
        unavailable(f"this machine allows {most} descriptors, not {count}")


def need_root() -> None:
    """Require the rights of root."""
    need(os.geteuid() == 0, "only root can do this")


def need_linux(*paths: str) -> None:
    """Require Linux, and files that its kernel shows."""
    need(sys.platform == "linux", "this is a test of Linux")
    for path in paths:
        need(os.path.exists(path), f"{path} does not exist")


def need_namespaces(*kinds: str, inside: str = "true") -> None:
    """Require namespaces of these kinds (options of ``unshare``), in which a shell command succeeds."""
    need_command("unshare")
    asked = ["unshare", *(f"--{kind}" for kind in kinds), "sh", "-c", inside]
    done = subprocess.run(asked, check=False, capture_output=True, text=True)
    need(done.returncode == 0, f"no namespaces of {' and '.join(kinds)} here: {done.stderr[:200]}")
