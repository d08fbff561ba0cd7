"""A person at a real terminal: a program on a pty, what it shows, and the keys that are typed."""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fcntl import ioctl

_PATIENCE_SECONDS = 60
_SIZE = ("LINES", "COLUMNS")


class Terminal:
    """One program on a terminal of 80 columns."""

    def __init__(self, descriptor: int, process: int) -> None:
        self._descriptor = descriptor
        self._process = process
        self._seen = 0
        self.shown = ""
        """Everything that was shown, as the terminal received it."""

    def until(self, words: str) -> str:
        """Wait until it shows these words; return what came since the last time."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while words not in self.shown[self._seen :]:
            assert self._more(deadline), f"it ended without {words!r}:\n{self.shown}"
        end = self.shown.index(words, self._seen) + len(words)
        part, self._seen = self.shown[self._seen : end], end
        return part

    def type(self, keys: str) -> None:
        """Type keys once the program waits for them."""
        os.write(self._descriptor, keys.encode())

    def key(self, key: str) -> None:
        """Type one key when the program takes single keys; before that it throws keys away."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while termios.tcgetattr(self._descriptor)[3] & termios.ICANON:
            assert time.monotonic() < deadline, self.shown
            select.select([], [], [], 0.01)
        os.write(self._descriptor, key.encode())

    def ended(self) -> int:
        """Wait for the end; return the exit code."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._more(deadline):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])

    def _more(self, deadline: float) -> bool:
        left = deadline - time.monotonic()
        assert left > 0, f"too slow:\n{self.shown}"
        if not select.select([self._descriptor], [], [], left)[0]:
            return True
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:  # how Linux says that the other side is closed
            return False
        self.shown += data.decode("utf-8", "replace")
        return bool(data)

    def lines(self) -> list[str]:
        return re.split(r"\r*\n", self.shown)


@contextmanager
def running(
    arguments: Sequence[str], environ: Mapping[str, str], *, rows: int = 500
) -> Iterator[Terminal]:
    """Run `keepm …` on a terminal until the block ends."""
    # This terminal has a size of its own; what the one around the tests has may be in the
    # environment, and would be believed more.
    variables = {name: value for name, value in environ.items() if name not in _SIZE}
    process, descriptor = pty.fork()
    if process == 0:
        os.execve(sys.executable, [sys.executable, "-m", "keepm", *arguments], variables)
    ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    try:
        yield Terminal(descriptor, process)
    finally:
        os.close(descriptor)
