"""Reading one document as it is on disk now, whole or in part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from keepm.errors import NotFound, WrongState
from keepm.markdown import documents
from keepm.model.document import AnyDocument
from keepm.operations import holding, sync, withheld
from keepm.operations.vault import Vault
from keepm.store import reader

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a text, in characters; `complete` when it is the whole."""

    text: str
    offset: int
    total: int

    @property
    def complete(self) -> bool:
        """Tell whether nothing was left out."""
        return len(self.text) == self.total


def part(text: str, *, max_chars: int, offset: int = 0) -> Part:
    """Return at most `max_chars` characters of a text from `offset` on."""
    return Part(text[offset : offset + max_chars], offset, len(text))


def current(
    vault: Vault, identifier: str | None, find: Callable[[Vault, str | None], str]
) -> AnyDocument:
    """Read the file that an identifier names now; look at the vault again if it moved.

    Raises:
        NotFound, AmbiguousIdentifier, InvalidIdentifier: as `find` says.
        RootUnavailable, LimitExceeded: the file can't be read.
        IndexUnavailable: it is being filled, so nobody can tell yet whether there is such a one.
        WrongState: it is written again and again meanwhile, so that nobody knows whether it is
            withheld.
    """
    sync.refresh(vault)
    holding.refuse_another(vault)  # also when the last look is young enough
    try:
        document = _read(vault, find(vault, identifier))
    except NotFound:
        sync.look_again(vault)
        document = _read(vault, find(vault, identifier))
    for _ in range(_ATTEMPTS):
        if withheld.is_settled(vault, document):
            return document
        sync.refresh_paths(vault, (document.path,))
        document = _read(vault, find(vault, identifier))
    raise WrongState("the file is being changed", hint="Read it again in a moment.")


def _read(vault: Vault, path: str) -> AnyDocument:
    return documents.read(path, reader.read(vault.root, path, limit=vault.policy.document_bytes))
