"""Tars that a stranger made for `tare store import`: nothing is written outside, and each fault is told in words."""

from __future__ import annotations

import contextlib
import io
import os
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tare import open_store
from tare.errors import Malformed
from tare.store.unpacking import unpack_store

MIB = 1 << 20


def member(
    name: str, kind: bytes = tarfile.REGTYPE, to: str = "", data: bytes = b"x"
) -> tuple[tarfile.TarInfo, bytes]:
    """Make a member of an archive."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, to, 0o755
    info.size = len(data) if kind == tarfile.REGTYPE else 0
    return info, data if kind == tarfile.REGTYPE else b""


def archive(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    """Write an archive."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return path


def long_links(target: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    """Links whose resolved path is longer than a path may be, so that checks that resolve them stop early."""
    folder, found, path = "d" * 247, [], "store"
    for step in "abcdefghijklmnop":
        found += [
            member(f"{path}/{folder}", tarfile.DIRTYPE),
            member(f"{path}/{step}", tarfile.SYMTYPE, folder),
        ]
        path = f"{path}/{folder}"
    chain = "store/" + "/".join("abcdefghijklmnop") + "/" + "l" * 254
    found.append(member(chain, tarfile.SYMTYPE, "../" * 16))
    found.append(
        member("store/escape", tarfile.SYMTYPE, f"{chain}/" + "../" * 12 + str(target.parent).lstrip("/"))
    )
    found.append(member("store/flag", tarfile.LNKTYPE, f"store/escape/{target.name}"))
    return [*found, member("store/flag"), member(f"store/escape/{target.name}.new")]


def everything(folder: Path) -> dict[str, bytes | None]:
    """Every path below a folder, and what the files hold."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


HOSTILE: dict[str, Callable[[Path], list[tuple[tarfile.TarInfo, bytes]]]] = {
    "links beyond the longest path": long_links,
    "a link, and a file through it": lambda target: [
        member("store/out", tarfile.SYMTYPE, str(target.parent)), member("store/out/flag"),
    ],
    "a hard link to a file, which is then written": lambda target: [
        member("store/a", tarfile.LNKTYPE, str(target)), member("store/a"),
    ],
    "a hard link to nothing": lambda _: [member("store/a", tarfile.LNKTYPE, "store/none")],
    "the folder itself a link": lambda target: [
        member("store", tarfile.SYMTYPE, str(target.parent)), member("store/flag"),
    ],
    "an absolute path": lambda target: [member(str(target))],
    "a path upwards": lambda _: [member("store/../../victim/flag")],
    "a path of dots": lambda _: [member("store/./a")],
    "an empty part": lambda _: [member("store//a")],
    "another folder": lambda _: [member("store", tarfile.DIRTYPE), member("victim/flag")],
    "a file at the top": lambda _: [member("store")],
    "a fifo": lambda _: [member("store/f", tarfile.FIFOTYPE)],
    "a device": lambda _: [member("store/d", tarfile.CHRTYPE)],
    "a name twice": lambda _: [member("store/a"), member("store/a")],
    "a file that is a folder": lambda _: [member("store/a"), member("store/a/b")],
    "a folder that is a file": lambda _: [member("store/a/b"), member("store/a")],
    "folders without end": lambda _: [member("store/" + "a/" * 40 + "b")],
    "a name that no file has": lambda _: [member("store/" + "n" * 256)],
    "nothing": lambda _: [],
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_nothing_but_files_below_the_folder_is_written(kind: str, tmp_path: Path) -> None:
    """Each is refused in words, and a file outside stays as it was."""
    victim = tmp_path / "victim"
    victim.mkdir()
    flag = victim / "flag"
    flag.write_bytes(b"as it was")
    path = archive(tmp_path / "hostile.tar", HOSTILE[kind](flag))
    with open_store(tmp_path / "kept") as store:
        before = everything(victim)
        with pytest.raises(Malformed, match=r"not an archive of a store: .+") as caught:
            store.archive_import(str(path))
        assert str(path) in str(caught.value)
        assert everything(victim) == before
        assert store.namespaces() == []
    assert sorted(os.listdir(tmp_path)) == ["hostile.tar", "kept", "victim"]


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    """It could claim more than the disk holds."""
    info, data = member("store/a")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 60)}
    (tmp_path / "to").mkdir()
    body = b"1\n0\n1\n".ljust(512, b"\0") + data
    info.size = len(body)
    with pytest.raises(Malformed, match="neither a file nor a folder"):
        unpack_store(str(archive(tmp_path / "a.tar", [(info, body)])), str(tmp_path / "to"))
    assert os.listdir(tmp_path / "to") == []


def numbered(size: int) -> bytes:
    """A size in base 256, which may be anything up to 2^95, or negative."""
    return (b"\x80" if size >= 0 else b"\xff") + size.to_bytes(11, "big", signed=True)


def with_size(size: int, kind: bytes) -> bytes:
    """A header that claims a size, with a right checksum."""
    block = bytearray(member("store/a", tarfile.REGTYPE)[0].tobuf(tarfile.USTAR_FORMAT))
    block[124:136], block[156:157], block[148:156] = numbered(size), kind, b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + b"7 a=b\n".ljust(512, b"\0") * 3


@pytest.mark.parametrize("size", [-1, -512, -(1 << 40), 1 << 30, 1 << 40, 1 << 62, 1 << 80])
@pytest.mark.parametrize("kind", [b"0", b"x", b"g", b"L", b"K", b"S"])
def test_a_claimed_size_reserves_nothing(size: int, kind: bytes, tmp_path: Path) -> None:
    """No header takes memory that it does not fill, or sends the reader back to where it was."""
    path = tmp_path / "a.tar"
    path.write_bytes(with_size(size, kind) + bytes(10240))
    (tmp_path / "to").mkdir()
    with limited_memory(), pytest.raises(Malformed):
        unpack_store(str(path), str(tmp_path / "to"))


class limited_memory:  # noqa: N801 - used as a function
    """At most 256 MiB more of address space."""

    def __enter__(self) -> None:
        import resource

        self._before = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 256 * MIB, self._before[1]))

    def __exit__(self, *_: object) -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, self._before)


def test_damage_anywhere_is_told_in_words(tmp_path: Path) -> None:
    """Any change of an archive, or any cut, is read as another archive or is an error of Tare's."""
    with open_store(tmp_path / "made") as store:
        store.set("a", [1, 2])
        store.set("b", b"\1" * 70_000)
        store.archive_export(str(tmp_path / "whole.tar"))
    whole = (tmp_path / "whole.tar").read_bytes()
    choose = random.Random(0)
    (headers := [at for at in range(0, len(whole), 512) if whole[at : at + 5] == b"store"]).sort()
    assert len(headers) > 4
    path = tmp_path / "damaged.tar"
    for number in range(300):
        data = bytearray(whole)
        at = choose.choice(headers)
        for _ in range(choose.randint(1, 4)):
            data[at + choose.randrange(512)] = choose.randrange(256)
        block = data[at : at + 512]
        if choose.random() < 0.7:  # or the checksum stops all
            block[148:156] = b" " * 8
            data[at + 148 : at + 156] = b"%06o\0 " % sum(block)
        path.write_bytes(data[: choose.randrange(len(data))] if choose.random() < 0.2 else data)
        folder = tmp_path / f"to{number}"
        folder.mkdir()
        with contextlib.suppress(Malformed):
            unpack_store(str(path), str(folder))
        assert all(place.is_file() or place.is_dir() for place in folder.rglob("*"))
        assert os.listdir(folder) in ([], ["store"])
