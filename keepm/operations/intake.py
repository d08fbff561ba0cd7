"""From files to a batch for the index: read, parsed, and compared with what was known.

What differs from what the index knew is noted as a hand edit; whether it is one is judged later.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from keepm.errors import KeepMError, LimitExceeded, NotFound
from keepm.index import lookalikes
from keepm.index.handmade import HandEdit
from keepm.index.lookalikes import Lookalike
from keepm.index.writing import Batch, Entry, FileRow
from keepm.markdown import documents
from keepm.model import copies, layout
from keepm.model.checksum import Checksum
from keepm.model.document import AnyDocument, Damaged
from keepm.operations import entering, parsing
from keepm.operations.entering import Source
from keepm.operations.news import News
from keepm.operations.parsing import Parser
from keepm.operations.vault import Vault
from keepm.store import history, reader
from keepm.store.reader import FileState

_FEW = 1500  # files: they are read within the second that an answer waits
_FIRST_BATCH = 200
_BATCH = 800
_LARGEST_BYTES = 8_000_000  # of a batch, whatever the files' number
_NOT_SERVED = (f"{layout.TRASH}/", f"{layout.RECORDS}/")  # what a change writes beside documents


def edit(path: str, row: FileRow | None, *, review: bool = False) -> HandEdit:
    """Note that a file isn't what the index knew; whether a person did it is judged later."""
    before = row.checksum if row is not None and row.reason is None else None
    return HandEdit(path, before, review=review)


@dataclass(frozen=True, slots=True)
class OnRecord:
    """What the ledgers tell, for a look that has no index to compare with."""

    versions: frozenset[str]
    documents: frozenset[str]
    kept: frozenset[str] | None = None  # by digest, where hand edits are reviewed

    def misses(self, entry: Entry) -> bool:
        """Tell whether a document on record has a version that isn't.

        Where hand edits are reviewed, also whether a vault that has a ledger never saw it:
        deleting the index lets nothing in.
        """
        digest = entry.file.checksum
        if digest in self.versions:
            return False
        unseen = self.kept is not None and bool(self.versions) and digest not in self.kept
        return unseen or entry.id in self.documents


def on_record_of(vault: Vault, told: News) -> OnRecord:
    """Return what all events together name."""
    kept = frozenset(each.digest for each in history.objects(vault.root) if each.size)
    return OnRecord(
        versions=frozenset(row.new for row in told.versions if row.new),
        documents=frozenset(row.object_id for row in told.versions),
        kept=kept if vault.reviews_edits else None,
    )


def batches(
    vault: Vault,
    unread: Sequence[FileState],
    known: Mapping[str, FileRow],
    *,
    scanned_ns: int,
    on_record: OnRecord | None,
) -> Generator[Batch, None, None]:
    """Yield the files in batches; `on_record` where there is no index to compare with."""
    # A copy is told by the note that it is a copy of, so the notes come first.
    ordered = sorted((s.path for s in unread), key=lambda path: copies.base(path) is not None)
    left = len(ordered)
    # Some of many notes can be found soon. Otherwise few transactions write few pages twice, but
    # while one is written the next one's files are parsed.
    size = _FEW if left <= _FEW else _FIRST_BATCH
    paths = iter(ordered)
    readings: deque[_Reading] = deque()
    with Parser(apart=parsing.pays_apart(len(ordered))) as parser:
        while not vault.progress.stopping.is_set():
            reading = _Reading(vault, known, scanned_ns)
            with vault.root.paths.looking_once():
                for path in itertools.islice(paths, size):
                    reading.take(path)
                    if reading.is_large:
                        break
            size = _BATCH
            if reading.seen:
                readings.append(reading)
                parser.give(reading.sources)
                if not parser.is_full:
                    continue
            elif not readings:
                return
            first = readings.popleft()
            batch = first.batch(parser.take())
            if on_record is not None:
                # The first look at a vault finds nothing changed but what the ledgers know better.
                found = (entry.file.path for entry in batch.entries if on_record.misses(entry))
                review = vault.reviews_edits
                edits = tuple(HandEdit(path, None, review=review) for path in found)
                batch = replace(batch, edits=edits)
            yield batch
            left -= first.seen
            vault.progress.left = left


def read_batch(
    vault: Vault,
    paths: Iterable[str],
    known: Mapping[str, FileRow],
    scanned_ns: int,
) -> Batch:
    """Read these files into one batch, with what differs from `known` noted as edits.

    A file that can't be read becomes a row with its reason.
    """
    reading = _Reading(vault, known, scanned_ns)
    for path in paths:
        reading.take(path)
    return reading.batch(entering.parse(reading.sources))


@dataclass(slots=True)
class _Reading:
    """A batch while it grows: read first, then, when its `sources` are parsed, complete."""

    vault: Vault
    known: Mapping[str, FileRow]
    scanned_ns: int
    seen: int = 0
    size: int = 0  # of what was read, in bytes
    sources: list[Source] = field(default_factory=list)
    named_as_copies: list[Source] = field(default_factory=list)
    skipped: list[FileRow] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    touched: list[FileRow] = field(default_factory=list)
    lookalikes: list[Lookalike] = field(default_factory=list)
    edits: list[HandEdit] = field(default_factory=list)

    @property
    def is_large(self) -> bool:
        """Tell whether it holds so much that memory asks for an end."""
        return self.size >= _LARGEST_BYTES

    def take(self, path: str) -> None:
        """Read one file."""
        self.seen += 1
        if layout.place(path) is None:
            if not path.startswith(_NOT_SERVED):
                self._skip(path, "place")
            return
        try:
            data, state = reader.read_with_state(
                self.vault.root, path, limit=self.vault.policy.document_bytes
            )
        except NotFound:
            self._gone(path)
        except LimitExceeded:
            # Opened again when its stamps change, and not before.
            self._skip(path, "too_large", reader.state(self.vault.root, path))
        except KeepMError as error:
            self._skip(path, error.code)
        else:
            self._read(path, data, state)

    def batch(self, parsed: Sequence[Entry]) -> Batch:
        """Return the batch, of which `sources` are parsed."""
        named = self._judged(parsed)
        return Batch(
            entries=(*parsed, *named),
            skipped=tuple(self.skipped),
            removed=tuple(self.removed),
            touched=tuple(self.touched),
            lookalikes=tuple(self.lookalikes),
            edits=tuple(self.edits),
        )

    def _read(self, path: str, data: bytes, state: FileState) -> None:
        self.size += len(data)
        row = self.known.get(path)
        checksum = Checksum.of(data).hex
        file = FileRow(path, state.size, state.mtime_ns, checksum, self.scanned_ns, None)
        if copies.base(path) is not None:
            self.named_as_copies.append(Source(data, file))
        elif _is_same(row, file):
            self.touched.append(file)
        else:
            self.sources.append(Source(data, file))
            self.edits.append(edit(path, row, review=self.vault.reviews_edits))

    def _judged(self, others: Sequence[Entry]) -> list[Entry]:
        """Return what is to be indexed of the files that have a copy's name."""
        entries: list[Entry] = []
        for data, file in self.named_as_copies:
            row = self.known.get(file.path)
            document = documents.read(file.path, data)
            if self._is_copy(document, itertools.chain(others, entries)):
                self.skipped.append(file._replace(reason=lookalikes.REASON))
            elif _is_same(row, file):
                self.touched.append(file)
            else:
                entries.append(entering.entry(document, file))
                self.edits.append(edit(file.path, row, review=self.vault.reviews_edits))
        return entries

    def _is_copy(self, document: AnyDocument, others: Iterable[Entry]) -> bool:
        """Tell whether a file with a copy's name is one, and remember its id."""
        if isinstance(document.content, Damaged):
            return False  # it has no id of its own
        place, path, own_id = layout.place(document.path), document.path, document.content.id
        assert place is not None  # `take` has looked
        self.lookalikes.append(Lookalike(path, place.scope, own_id))
        family = lookalikes.holders(self.vault.database, place.scope, own_id)
        family.update(other.file.path for other in others if other.id == own_id)
        return path in copies.among({path, *family})

    def _gone(self, path: str) -> None:
        if reader.is_evicted(self.vault.root, path):
            self._skip(path, "evicted")
            return
        self.removed.append(path)
        if path in self.known:
            self.edits.append(edit(path, self.known[path]))

    def _skip(self, path: str, reason: str, state: FileState | None = None) -> None:
        row = unread_row(path, reason, self.scanned_ns, state)
        known = self.known.get(path)
        if known is None or known[1:4] + known[5:] != row[1:4] + row[5:]:
            self.skipped.append(row)
        elif state is not None:
            self.skipped.append(row)  # seen again so much later, its stamps are proven


def _is_same(row: FileRow | None, file: FileRow) -> bool:
    """Tell whether the index holds a file's bytes as a document already."""
    return row is not None and row.checksum == file.checksum and row.reason is None


def unread_row(path: str, reason: str, scanned_ns: int, state: FileState | None = None) -> FileRow:
    """Return what the index remembers of a file that can't be served; `state` if it won't be
    looked into again before that changes."""
    if state is None:
        return FileRow(path, 0, 0, "", scanned_ns, reason)
    return FileRow(path, state.size, state.mtime_ns, "", scanned_ns, reason)
