"""Python's garbage collector, kept from looking at much that is no garbage."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Collect nothing for the time of the `with`.

    For work that makes many objects which all stay for a while: they would be looked at again and
    again, for 6 % of the time at 10,000 notes. What isn't in a circle goes as ever.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
