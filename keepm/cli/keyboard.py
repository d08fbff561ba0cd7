"""One key at a time from a person at a terminal, without Enter where the terminal can do that."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

END = ""
"""What stands for the end of input, as after Ctrl-D."""
_CTRL_D = b"\x04"
_LONGEST = 64


class Keyboard:
    """A person's keys. Where a terminal can't give single ones, a key is a line of one letter."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdin
        self._fd = _terminal(self._stream)

    @property
    def gives_single_keys(self) -> bool:
        """Tell whether no Enter is needed."""
        return self._fd is not None

    def key(self) -> str:
        """Wait for one key; return it, `\\n` for Enter, `END`, or `?` for what is no single key.

        What was typed before is thrown away: it can't have meant what is shown only now.
        """
        if self._fd is None:
            line = self._stream.readline()
            if not line:
                return END
            word = line.strip()
            return word.lower() if len(word) == 1 else ("?" if word else "\n")
        with _single_keys(self._fd):
            # An arrow key or a paste comes as several bytes at once, and means none of them.
            typed = os.read(self._fd, _LONGEST)
        if typed in (b"", _CTRL_D):
            return END
        if typed in (b"\n", b"\r"):
            return "\n"
        return typed.decode("ascii", "replace").lower() if len(typed) == 1 else "?"

    def line(self) -> str | None:
        """Wait for a line; nothing at the end of input."""
        line = self._stream.readline()
        return line.strip() if line else None


def _terminal(stream: TextIO) -> int | None:
    """Return the descriptor of a terminal that can give single keys."""
    try:
        import termios

        descriptor = stream.fileno()
        termios.tcgetattr(descriptor)
    except (ImportError, OSError, ValueError, AttributeError):
        return None
    except termios.error:
        return None
    return descriptor


@contextmanager
def _single_keys(descriptor: int) -> Iterator[None]:
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    # Flushed: see `key`. Ctrl-C stays what it is.
    tty.setcbreak(descriptor, termios.TCSAFLUSH)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
