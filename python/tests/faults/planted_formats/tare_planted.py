"""A format whose libraries each have one fault; installed by an entry point, as third parties do."""

from __future__ import annotations

import json
import os
import random
import signal
import tempfile
import time

from tare.formats.base import Format, Library


def encode(obj):
    return json.dumps(obj).encode()


def decode(data):
    return json.loads(bytes(data))


def nothing(data):
    """The CSV reader of a published study: it swallowed its error and gave nothing."""
    try:
        return undefined_name(data)
    except NameError:
        return None


def one_changed(data):
    value = json.loads(bytes(data))
    value[-1]["n"] = -1
    return value


def lazy(data):
    """Nothing is decoded until somebody asks."""
    return (item for item in json.loads(bytes(data)))


def hang(_):
    time.sleep(3600)


def slow(data):
    time.sleep(0.02)
    return json.loads(bytes(data))


def uneven(data):
    """No two calls take the same time, so that no figure of it is ever narrow."""
    time.sleep(random.uniform(0.02, 0.2))
    return json.loads(bytes(data))


def leave(_):
    os._exit(3)


def segfault(_):
    os.kill(os.getpid(), signal.SIGSEGV)


def kill(_):
    os.kill(os.getpid(), signal.SIGKILL)


def leak(_):
    import numpy as np

    return [
        np.empty(1 << 30, "u1") for _ in range(100)
    ]  # untouched: filling it takes longer than the deadline


def noisy(data):
    print("this must not reach the protocol", flush=True)
    os.write(1, b'{"id":1,"ok":{"forged":true}}\n')
    return json.loads(bytes(data))


_OPEN = []


def files(data):
    """Leave files open until there are no more, and go on."""
    try:
        while True:
            _OPEN.append(open(os.devnull))
    except OSError:
        return json.loads(bytes(data))


def drip(data):
    """Leave some files open with each call."""
    _OPEN.extend(open(os.devnull) for _ in range(20))
    return json.loads(bytes(data))


def file(data):
    """Needs a file of its own, as many libraries do."""
    with tempfile.TemporaryFile() as scratch:
        scratch.write(data)
        scratch.seek(0)
        return json.loads(scratch.read())


def daemon(data):
    """Leave a process that is in no group of ours any more."""
    _leave_behind(dict(os.environ))
    return json.loads(bytes(data))


def bare(data):
    """The same, and nothing in its environment tells where it is from."""
    _leave_behind({})
    return json.loads(bytes(data))


def _leave_behind(environment):
    log = os.path.join(os.environ["XDG_CACHE_HOME"], "daemons")
    if (child := os.fork()) == 0:
        os.setsid()
        if os.fork() == 0:
            with open(log, "a") as told:
                told.write(f"{os.getpid()}\n")
            os.execve("/bin/sleep", ["sleep", "600"], environment)
        os._exit(0)
    os.waitpid(child, 0)


def refuse(_):
    raise TypeError("this library takes no such value")


def _library(name, encode_=encode, decode_=decode):
    return Library(name=name, native={"document": "python"}, encode=encode_, decode=decode_)


FORMAT = Format(
    id="planted",
    title="Planted faults",
    extensions=(".planted",),
    kinds=frozenset({"document"}),
    libraries=(
        _library("good"),
        _library("nothing", decode_=nothing),
        _library("lazy", decode_=lazy),
        _library("changed", decode_=one_changed),
        _library("hang", decode_=hang),
        _library("slow", decode_=slow),
        _library("uneven", decode_=uneven),
        _library("leave", decode_=leave),
        _library("segfault", decode_=segfault),
        _library("kill", decode_=kill),
        _library("leak", decode_=leak),
        _library("noisy", decode_=noisy),
        _library("refuse", encode_=refuse),
        _library("files", decode_=files),
        _library("drip", decode_=drip),
        _library("file", decode_=file),
        _library("daemon", decode_=daemon),
        _library("bare", decode_=bare),
    ),
)
