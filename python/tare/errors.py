"""The errors Tare raises.

```
TareError
+- EncodeError(ValueError)        a value that the format cannot hold
+- DecodeError(ValueError)        bytes that are not what they should be
|  +- Truncated(EOFError)         more bytes could make them valid
|  +- Malformed                   no further bytes can
|  +- ChecksumMismatch            well formed, but damaged
+- Unsupported(TypeError)         valid, but Tare or the library cannot do it
+- Limit                          a limit was reached; the text names the option that raises it
+- LossError(ValueError)          a strict conversion that would lose something
+- UsageError(ValueError)         an argument, an id or an option that does not exist
+- NotFound(KeyError)             nothing lies at a place, as at a JSON pointer
+- NotPatchable(ValueError)       a value that cannot be replaced where it lies
+- NotTrusted                     reading would run code, and nobody allowed it
+- PlanError(ValueError)          a plan file that cannot be carried out
+- RecordError(ValueError)        a record that cannot be read
+- NotComparable(ValueError)      two records of different machines or data
+- WorkerError                    a measuring process failed
+- MissingLibrary(ImportError)    an optional library; the text has the install line
```
Errors of the operating system stay ``OSError``.
"""

from __future__ import annotations

__all__ = [
    "ChecksumMismatch",
    "DecodeError",
    "EncodeError",
    "Limit",
    "LossError",
    "Malformed",
    "MissingLibrary",
    "NotComparable",
    "NotFound",
    "NotPatchable",
    "NotTrusted",
    "PlanError",
    "RecordError",
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
    """

    kind = "error"

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
