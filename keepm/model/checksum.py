"""The checksum of a file: a strong validator, as an ETag is."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from keepm.errors import InvalidInput, Problem

_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Checksum:
    """The SHA-256 (64 lower-case hex digits) of a file's exact bytes, as read from disk."""

    hex: str

    @classmethod
    def of(cls, data: bytes) -> Checksum:
        """Compute the checksum of these bytes."""
        return cls(hashlib.sha256(data).hexdigest())

    @classmethod
    def parse(cls, text: str, *, field: str = "expected_checksum") -> Checksum:
        """Read a checksum from an argument or a record.

        Raises:
            InvalidInput: it isn't 64 hex digits.
        """
        value = text.strip().lower()
        if not _HEX.fullmatch(value):
            message = "must be the 64 hex digits that a read returned"
            raise InvalidInput(f"{field}: {message}", problems=[Problem(field, message)])
        return cls(value)

    def __str__(self) -> str:
        return self.hex
