"""The errors Tare raises.

```
TareError
+- EncodeError(ValueError)        a value that the format cannot hold
+- DecodeError(ValueError)        bytes that are not what they should be
|  +- Truncated(EOFError)         more bytes could make them valid
|  +- Malformed                   no further bytes can
|  +- ChecksumMismatch            well formed, but damaged
|  +- CodecMismatch               the other end of a connection sends another format
+- Unsupported(TypeError)         valid, but Tare or the library cannot do it
+- Limit                          a limit was reached; the text names the option that raises it
+- LossError(ValueError)          a strict conversion that would lose something
+- UsageError(ValueError)         an argument, an id or an option that does not exist
+- NotFound(KeyError)             nothing lies at a place, as at a JSON pointer
+- NotPatchable(ValueError)       a value that cannot be replaced where it lies
+- SourceChanged                  a file that changed while it was read, or since a plan was made
+- NotTrusted                     reading would run code, and nobody allowed it
+- PlanError(ValueError)          a plan file that cannot be carried out
+- RecordError(ValueError)        a record that cannot be read
+- NotComparable(ValueError)      two records of different machines or data
+- WorkerError                    a measuring process failed
+- MissingLibrary(ImportError)    an optional library; the text has the install line
+- StoreError                     what a store says, with key, namespace, store, hash, place
   +- KeyNotFound(KeyError)       no such key
   +- HashNotFound(KeyError)      no such object, though a key may name it
   +- Corrupt                     an object that is not what its hash says
   +- ConfigMismatch(ValueError)  an option against what an existing store was made with
   +- Busy(TimeoutError)          somebody else holds a lock for longer than was waited
   +- NoSpace(OSError)            the disk, a quota or a server's memory is full
   +- KeyInvalid(ValueError)      a key that the store cannot hold
   +- Collision                   other bytes have the same hash
   +- Conflict                    a key is not what the change expected
   +- ReadOnly                    writing to what was opened for reading
   +- StoreVersion                a store of a newer version
```
Errors of the operating system stay ``OSError``.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Any

__all__ = [
    "Busy",
    "ChecksumMismatch",
    "CodecMismatch",
    "Collision",
    "ConfigMismatch",
    "Conflict",
    "Corrupt",
    "DecodeError",
    "EncodeError",
    "HashNotFound",
    "KeyInvalid",
    "KeyNotFound",
    "Limit",
    "LossError",
    "Malformed",
    "MissingLibrary",
    "NoSpace",
    "NotComparable",
    "NotFound",
    "NotPatchable",
    "NotTrusted",
    "PlanError",
    "ReadOnly",
    "RecordError",
    "SourceChanged",
    "StoreError",
    "StoreVersion",
    "TareError",
    "Truncated",
    "Unsupported",
    "UsageError",
    "WorkerError",
]


class TareError(Exception):
    """Base of every error that Tare raises itself.

    Args:
        message: What was wrong, where, and what to do.
        format: Id of the format or compressor, if one was at work.
        offset: Byte offset in the encoded input, if known.
        path: File, or path inside the value, if known.
        message_number: Which message of a connection it was, the first being 0, if one was.
        item: Which item of a list it was, the first being 0, if known.
    """

    kind = "error"
    message_number: int | None = None
    item: int | None = None

    def __init__(
        self,
        message: str = "",
        *,
        format: str | None = None,
        offset: int | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.format = format
        self.offset = offset
        self.path = path

    @property
    def is_truncated(self) -> bool:
        """Whether more bytes could have made the input valid."""
        return isinstance(self, Truncated)


class EncodeError(TareError, ValueError):
    """A value that the format cannot hold, or that its library refuses."""

    kind = "encode"


class DecodeError(TareError, ValueError):
    """Bytes that are not what they should be."""

    kind = "decode"


class Truncated(DecodeError, EOFError):
    """The input ends too early; more bytes could make it valid."""

    kind = "truncated"


class Malformed(DecodeError):
    """No further bytes can make the input valid."""

    kind = "malformed"


class ChecksumMismatch(DecodeError):
    """The input is well formed, but its checksum says it was damaged."""

    kind = "checksum_mismatch"


class CodecMismatch(DecodeError):
    """The other end of a connection sends another format than this one expects; nothing was decoded."""

    kind = "codec_mismatch"


class Unsupported(TareError, TypeError):
    """A valid request or input that Tare, or the library, cannot serve."""

    kind = "unsupported"


class Limit(TareError):
    """A limit was reached; the message names the option that raises it."""

    kind = "limit"


class LossError(TareError, ValueError):
    """A conversion that was to keep everything would lose something; the text names the first."""

    kind = "loss"


class UsageError(TareError, ValueError):
    """An argument, an id or an option that does not exist."""

    kind = "usage"


class SourceChanged(TareError):
    """A source is no more what it was when reading it began, or when a plan was made."""

    kind = "source_changed"


class NotFound(TareError, KeyError):
    """Nothing lies at a place, as at a JSON pointer."""

    kind = "not_found"

    def __str__(self) -> str:
        return Exception.__str__(self)  # a `KeyError` would quote it


class NotPatchable(TareError, ValueError):
    """A value that cannot be replaced where it lies; change it by encoding anew."""

    kind = "not_patchable"


class NotTrusted(TareError):
    """Reading would run code from the file, and nobody allowed it."""

    kind = "not_trusted"


class PlanError(TareError, ValueError):
    """A plan that cannot be carried out: file, key and allowed values are named."""

    kind = "plan"


class RecordError(TareError, ValueError):
    """A record that cannot be read: version found and versions read are named."""

    kind = "record"


class NotComparable(TareError, ValueError):
    """Two records that differ in machine, data or versions."""

    kind = "not_comparable"


class WorkerError(TareError):
    """A measuring process answered with an error, died, or stopped answering.

    Args:
        message: What happened.
        worker: Name of the worker.
        type: The error's type as the worker named it; ``timeout``, ``killed``
            and ``protocol`` are the driver's own.
        phase: ``load``, ``encode``, ``decode``, ``open``, ``io`` or ``protocol``.
        log_tail: The end of what the worker wrote to its standard error.
    """

    kind = "worker"

    def __init__(
        self,
        message: str = "",
        *,
        worker: str = "",
        type: str = "error",
        phase: str = "protocol",
        log_tail: str = "",
    ) -> None:
        super().__init__(message)
        self.worker = worker
        self.type = type
        self.phase = phase
        self.log_tail = log_tail


class MissingLibrary(TareError, ImportError):
    """An optional library is not installed; the message has the install line."""

    kind = "missing_library"


class StoreError(TareError):
    """What a store says.

    Args:
        message: What was wrong, where, and what to do.
        format: The driver at work, if known.
        offset: Byte offset in the object, if known.
        path: File, if known.
        key: The key.
        keys: All keys, of a call that was about several.
        namespace: Their namespace.
        store: The store's URL, without secrets.
        hash: Hash of the object.
        place: Where the object lies, in the driver's words.
        expected: What should have been there.
        got: What was there.
    """

    kind = "store"

    def __init__(  # noqa: PLR0913 - each is a fact that callers act on
        self,
        message: str = "",
        *,
        format: str | None = None,
        offset: int | None = None,
        path: str | None = None,
        key: str | None = None,
        keys: Sequence[str] = (),
        namespace: str | None = None,
        store: str | None = None,
        hash: str | None = None,
        place: str | None = None,
        expected: str | None = None,
        got: str | None = None,
    ) -> None:
        super().__init__(message, format=format, offset=offset, path=path)
        self.key = key
        self.keys = tuple(keys) or (() if key is None else (key,))
        self.namespace = namespace
        self.store = store
        self.hash = hash
        self.place = place
        self.expected = expected
        self.got = got


class KeyNotFound(StoreError, KeyError):
    """The store has no such key; of several, `keys` has all that are missing."""

    kind = "key_not_found"

    def __str__(self) -> str:
        return Exception.__str__(self)  # a `KeyError` would quote it


class HashNotFound(StoreError, KeyError):
    """The store has no such object; `key` is the one that names it, if one was asked for."""

    kind = "hash_not_found"

    def __str__(self) -> str:
        return Exception.__str__(self)  # a `KeyError` would quote it


class Corrupt(StoreError):
    """An object is not what its hash says, or cannot be decompressed or decoded. Never told as not found."""

    kind = "corrupt"


class ConfigMismatch(StoreError, ValueError):
    """An option against what an existing store was made with; both values are named."""

    kind = "config_mismatch"


class Busy(StoreError, TimeoutError):
    """Somebody else holds a lock, or the database, for longer than was waited."""

    kind = "busy"


class NoSpace(StoreError, OSError):
    """The disk, a quota or a server's memory is full. No key was changed, and temporary files are gone."""

    kind = "no_space"

    def __init__(self, *args: Any, **facts: Any) -> None:
        super().__init__(*args, **facts)
        self.errno = errno.ENOSPC


class KeyInvalid(StoreError, ValueError):
    """A key that the store, or its driver, cannot hold; nothing was written."""

    kind = "key_invalid"


class Collision(StoreError):
    """Other bytes have the same hash; nothing was written."""

    kind = "collision"


class Conflict(StoreError):
    """A key is not what the change expected; nothing was changed."""

    kind = "conflict"


class ReadOnly(StoreError):
    """Writing to a store that was opened for reading."""

    kind = "read_only"


class StoreVersion(StoreError):
    """A store of a newer version, or with features that this one does not know."""

    kind = "store_version"
