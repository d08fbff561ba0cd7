"""What stands for a file whose metadata can't be read: its raw text under its file's name."""

from __future__ import annotations

import uuid

from keepm.errors import InvalidIdentifier, Problem
from keepm.markdown.header import BOM
from keepm.markdown.tree import Broken
from keepm.model import layout
from keepm.model.checksum import Checksum
from keepm.model.document import Damaged, Document, Finding, Standing

# Names the ids that are derived from paths; never change it.
_IDS = uuid.UUID("5d1b4c0e-0b63-5a53-9d0c-6b6f0a3f7c11")


def derived_id(path: str) -> str:
    """Return the id of a file that has none of its own; the same for the same path."""
    return str(uuid.uuid5(_IDS, path))


def place(path: str) -> layout.Place:
    """Return the place of a document's path.

    Raises:
        InvalidIdentifier: no document belongs there.
    """
    found = layout.place(path)
    if found is None:
        message = "is not a place where a document belongs"
        raise InvalidIdentifier(
            f"path: {message}", problems=[Problem("path", message, "invalid_identifier")]
        )
    return found


def damaged(
    path: str, data: bytes, findings: tuple[Finding, ...], standing: Standing
) -> Document[Damaged]:
    """Return the document that stands for a file that can't be read as what it should be."""
    content = Damaged(
        id=derived_id(path),
        name=layout.stem(path),
        scope=place(path).scope,
        text=data.removeprefix(BOM).decode("utf-8", "replace"),
        standing=standing,
    )
    return Document(path, Checksum.of(data), data, content, findings)


def from_broken(path: str, data: bytes, broken: Broken) -> Document[Damaged]:
    """Return the document for a file that the front matter's reader refused."""
    return damaged(path, data, broken.findings, broken.standing)
