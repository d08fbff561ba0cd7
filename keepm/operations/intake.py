"""From files to a batch for the index: read, parsed, and compared with what was known.

What differs from what the index knew is noted as a hand edit; whether it is one is judged later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from keepm.errors import KeepMError, LimitExceeded, NotFound
from keepm.index.handmade import HandEdit
from keepm.index.writing import Batch, Entry, FileRow
from keepm.markdown import documents, memories
from keepm.model import layout
from keepm.model.checksum import Checksum
from keepm.model.document import Document
from keepm.model.links import WikiLink
from keepm.model.memory import Memory
from keepm.operations.news import News
from keepm.operations.vault import Vault
from keepm.store import reader
from keepm.store.reader import FileState

_BATCH = 200
_RACY_NS = 3_000_000_000  # coarser than any file system's stamps
_NOT_SERVED = (f"{layout.TRASH}/", f"{layout.RECORDS}/")  # what a change writes beside documents


def is_proven(state: FileState, row: FileRow | None) -> bool:
    """Tell whether the stamps alone prove that the index holds this version."""
    return (
        row is not None
        and (row.size, row.mtime_ns) == (state.size, state.mtime_ns)
        and state.mtime_ns < row.scanned_ns - _RACY_NS
    )


def edit(path: str, row: FileRow | None) -> HandEdit:
    """Note that a file isn't what the index knew; whether a person did it is judged later."""
    return HandEdit(path, row.checksum if row is not None and row.reason is None else None)


@dataclass(frozen=True, slots=True)
class OnRecord:
    """What the ledgers tell, for a look that has no index to compare with."""

    versions: frozenset[str]
    documents: frozenset[str]

    def misses(self, entry: Entry) -> bool:
        """Tell whether a document on record has a version that isn't."""
        document = entry.document
        return document.content.id in self.documents and document.checksum.hex not in self.versions


def on_record_of(told: News) -> OnRecord:
    """Return what all events together name."""
    return OnRecord(
        versions=frozenset(row.new for row in told.versions if row.new),
        documents=frozenset(row.object_id for row in told.versions),
    )


def batches(
    vault: Vault,
    unread: Sequence[FileState],
    known: Mapping[str, FileRow],
    *,
    scanned_ns: int,
    on_record: OnRecord | None,
) -> Iterator[Batch]:
    """Yield the files in batches; `on_record` where there is no index to compare with."""
    for start in range(0, len(unread), _BATCH):
        if vault.progress.stopping.is_set():
            return
        paths = [s.path for s in unread[start : start + _BATCH]]
        batch = read_batch(vault, paths, known, scanned_ns)
        if on_record is not None:
            # The first look at a vault finds nothing changed but what the ledgers know better.
            found = (entry.file.path for entry in batch.entries if on_record.misses(entry))
            batch = replace(batch, edits=tuple(HandEdit(path, None) for path in found))
        yield batch
        vault.progress.left = max(0, len(unread) - start - _BATCH)


def read_batch(
    vault: Vault, paths: Iterable[str], known: Mapping[str, FileRow], scanned_ns: int
) -> Batch:
    """Read these files into one batch, with what differs from `known` noted as edits.

    A file that can't be read becomes a row with its reason.
    """
    entries: list[Entry] = []
    skipped: list[FileRow] = []
    touched: list[FileRow] = []
    removed: list[str] = []
    edits: list[HandEdit] = []
    for path in paths:
        if layout.place(path) is None:
            if not path.startswith(_NOT_SERVED):
                skipped.append(unread_row(path, "place", scanned_ns))
            continue
        try:
            data, state = reader.read_with_state(
                vault.root, path, limit=vault.policy.document_bytes
            )
        except NotFound:
            removed.append(path)
            if path in known:
                edits.append(edit(path, known[path]))
            continue
        except LimitExceeded:
            skipped.append(unread_row(path, "too_large", scanned_ns))
            continue
        except KeepMError as error:
            skipped.append(unread_row(path, error.code, scanned_ns))
            continue
        row = known.get(path)
        checksum = Checksum.of(data).hex
        file = FileRow(path, state.size, state.mtime_ns, checksum, scanned_ns, None)
        if row is not None and row.checksum == checksum and row.reason is None:
            touched.append(file)
            continue
        entries.append(entry(path, data, file))
        edits.append(edit(path, row))
    return Batch(
        entries=tuple(entries),
        skipped=tuple(skipped),
        removed=tuple(removed),
        touched=tuple(touched),
        edits=tuple(edits),
    )


def entry(path: str, data: bytes, file: FileRow) -> Entry:
    """Parse one file's bytes for the index."""
    document = documents.read(path, data)
    links: tuple[WikiLink, ...] = ()
    if isinstance(document.content, Memory):
        links = memories.relations(_as_memory(document))
    return Entry(document=document, file=file, links=links)


def _as_memory(document: object) -> Document[Memory]:
    assert isinstance(document, Document)
    return document


def unread_row(path: str, reason: str, scanned_ns: int) -> FileRow:
    """Return what the index remembers of a file that can't be served."""
    return FileRow(path, 0, 0, "", scanned_ns, reason)
