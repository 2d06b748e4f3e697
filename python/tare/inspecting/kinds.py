"""What a file of R can hold beside data: the names that reports and ``--fail-on`` use."""

from __future__ import annotations

__all__ = ["KINDS"]

# Name -> what it means to who loads the file into R.
KINDS = {
    "promise": "code that R runs as soon as somebody looks at the value",
    "closure": "functions, which run when they are called",
    "bytecode": "compiled code, which R does not check",
    "active-binding": "variables that run a function when they are read",
    "external-pointer": "addresses that meant something to the writer; NULL after reading",
    "unknown-altrep": "deferred vectors of a package, whose own code makes the values",
    "mmap-altrep": "deferred vectors that lie in a file whose path is stored; it is never opened here",
    "reference-hook": "values that a hook of the writer replaced by names",
}
