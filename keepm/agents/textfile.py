"""A file that belongs to someone else, as text, with what must survive a change of it.

The byte order mark and the line ending are kept; what isn't plain UTF-8 text is refused with the
place, so that no file is ever written back damaged.
"""

from __future__ import annotations

from dataclasses import dataclass

from keepm.errors import ConfigurationError

_MARK = "\ufeff".encode()
LARGEST = 4 * 1024 * 1024
"""Bytes; a host's configuration file is nowhere near this."""


class Refused(ConfigurationError):
    """A file of another program that can't be changed safely; its bytes are untouched."""

    code = "configuration_error"
    hint = "Mend that place by hand and run setup again; the file was not changed."

    def __init__(self, message: str, *, text: str = "", at: int | None = None) -> None:
        self.line, self.column = (0, 0) if at is None else position(text, at)
        place = "" if at is None else f" (line {self.line}, column {self.column})"
        super().__init__(message + place, details={"line": self.line, "column": self.column})


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file without its byte order mark, and how its lines end."""

    text: str
    mark: bool = False
    newline: str = "\n"

    @classmethod
    def parse(cls, data: bytes) -> TextFile:
        """Decode a file's bytes.

        Raises:
            Refused: it is too large, not UTF-8, or holds NUL characters.
        """
        if len(data) > LARGEST:
            raise Refused(f"it is larger than {LARGEST} bytes")
        mark = data.startswith(_MARK)
        body = data[len(_MARK) :] if mark else data
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError as error:
            before = body[: error.start].decode("utf-8", "replace")
            raise Refused("it is not UTF-8 text", text=before, at=len(before)) from error
        if "\x00" in text:
            raise Refused("it holds a NUL character", text=text, at=text.index("\x00"))
        windows = text.count("\r\n")
        return cls(text, mark, "\r\n" if windows * 2 > text.count("\n") else "\n")

    def with_text(self, text: str) -> TextFile:
        """Return the same file with another text."""
        return TextFile(text, self.mark, self.newline)

    def encode(self) -> bytes:
        """Return the bytes to write."""
        return (_MARK if self.mark else b"") + self.text.encode("utf-8")


def position(text: str, at: int) -> tuple[int, int]:
    """Return line and column, both from 1, of an offset."""
    start = text.rfind("\n", 0, at) + 1
    return text.count("\n", 0, at) + 1, at - start + 1
