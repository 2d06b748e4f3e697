"""What a renderer does with a record whose parts do not fit together: an error in words, never one of Python's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

from tare.errors import RecordError, TareError

__all__ = ["rendering"]

_P = ParamSpec("_P")
_UNFIT = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError)


def rendering(render: Callable[_P, str]) -> Callable[_P, str]:
    """Returns a renderer that refuses a record that its schema allows and whose parts contradict each other.

    Args:
        render: The renderer.

    Raises:
        RecordError: By the renderer that is returned: its parts do not fit together.
    """

    @functools.wraps(render)
    def refusing(*args: _P.args, **keywords: _P.kwargs) -> str:
        try:
            return render(*args, **keywords)
        except TareError:
            raise
        except _UNFIT as error:
            text = f"the record cannot be shown: its parts do not fit together: {error}"
            raise RecordError(text[:300]) from error

    return refusing
