"""A format whose libraries each have one fault; installed by an entry point, as third parties do."""

from __future__ import annotations

import json
import os
import random
import signal
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
    ),
)
