"""The protocol's pipes, kept apart from everything else that reads stdin or prints.

The SDK takes the pipes from `sys.stdin.buffer` and `sys.stdout.buffer`. Whoever prints, logs or
writes to the descriptors before, meanwhile or below it reaches stderr. What comes in is mended
where the SDK would give no answer at all: bytes that aren't UTF-8 and lone surrogates, which
are no characters, become U+FFFD.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from typing import BinaryIO, TextIO, cast

_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair: one character
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\."
)


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Leave the pipes to the SDK: stdout's descriptor leads to stderr, stdin's to nothing."""
    stdin, stdout = sys.stdin, sys.stdout
    incoming, outgoing = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    stdout.flush()  # what was printed before and still waits goes to stderr too
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # Left open at the end: a thread may still wait for a line.
    sys.stdin = io.TextIOWrapper(Incoming(os.fdopen(incoming, "rb", closefd=False)))
    sys.stdout = cast(TextIO, _Printed(os.fdopen(outgoing, "wb", closefd=False)))
    try:
        yield
    finally:
        sys.stdin, sys.stdout = stdin, stdout
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)


class Incoming(io.BufferedIOBase):
    """The lines of a client, with lone surrogates mended."""

    def __init__(self, wire: BinaryIO) -> None:
        self._wire = wire
        self._rest = b""

    def readable(self) -> bool:
        """Tell that this can be read from."""
        return True

    def read1(self, size: int = -1, /) -> bytes:
        """Return the next part of the input, at most to a line's end; nothing at the end."""
        if not self._rest:
            self._rest = mended(self._wire.readline())
        if size < 0:
            size = len(self._rest)
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the rest of the input, or its next part."""
        if size is None or size < 0:
            return b"".join(iter(self.read1, b""))
        return self.read1(size)


class _Printed(io.TextIOBase):
    """What others take for stdout: it leads to stderr. Only `buffer` is the pipe."""

    def __init__(self, wire: BinaryIO) -> None:
        self.buffer = wire

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def mended(line: bytes) -> bytes:
    """Return a line of JSON with every lone surrogate's escape as that of U+FFFD."""
    if b"\\u" not in line:
        return line
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found["lone"] else found.group(), line)
