"""The ledger: one hash chain of events per writing machine, appended to and never trimmed.

One line per event, in the order in which they happened; `event` says what a line looks like.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from keepm.model import layout
from keepm.store.disk import reporting
from keepm.store.event import FIRST as FIRST
from keepm.store.event import Digests as Digests
from keepm.store.event import EventDraft as EventDraft
from keepm.store.event import Head as Head
from keepm.store.event import LedgerEvent as LedgerEvent
from keepm.store.event import is_time
from keepm.store.root import Root, is_id

FOLDER = f"{layout.RECORDS}/ledger"
_TAIL = 1 << 13
_LINE = 1 << 12  # more than most events have


@dataclass(frozen=True, slots=True)
class LedgerProblem:
    """One thing wrong with a ledger: where, and what kind.

    Codes: `unreadable`, `edited`, `gap`, `fork`, `reordered`, `torn_tail`; against an anchor also
    `cut` (events that were there are gone) and `rewritten` (others stand in their place).
    """

    code: str
    writer: str
    line: int


@dataclass(frozen=True, slots=True)
class Tail:
    """How a chain ends in its file."""

    head: Head
    torn: bytes = b""  # what stands behind the last newline
    line: bytes = b""  # the line before it, with its newline
    time: str = ""  # of the last event


def head(root: Root) -> Head:
    """Return the last event's place in this writer's chain.

    Raises:
        StorageFailed: the ledger can't be read.
    """
    with reporting(f"{FOLDER}/{_file_name(root.writer_id)}"):
        return tail(root).head


def heads(root: Root) -> dict[str, Head]:
    """Return the end of every writer's chain.

    Raises:
        StorageFailed: a ledger can't be read.
    """
    found: dict[str, Head] = {}
    for writer in writers(root):
        with reporting(f"{FOLDER}/{_file_name(writer)}"):
            found[writer] = tail(root, writer).head
    return found


def anchored(root: Root, writer: str, anchor: Head) -> bool:
    """Tell whether a chain still holds the event that ended it when the anchor was taken.

    Raises:
        StorageFailed: the ledger can't be read.
    """
    if anchor.sequence == 0:
        return True
    with reporting(f"{FOLDER}/{_file_name(writer)}"):
        place = _place(root, writer)
        seen = root.disk.state(place)
        if seen is None or seen.st_size < anchor.size_bytes:
            return False
        event, _, _ = _last_event(root, place, anchor.size_bytes, reach=_LINE)
    return event is not None and (event.sequence, event.hash) == (anchor.sequence, anchor.hash)


def tail(root: Root, writer: str | None = None) -> Tail:
    """Return how a chain ends, this writer's own without `writer`.

    Raises:
        OSError: the ledger can't be read.
    """
    place = root.paths.locate(FOLDER) / _file_name(writer or root.writer_id)
    seen = root.disk.state(place)
    if seen is None or seen.st_size == 0:
        return Tail(Head(0, FIRST, 0))
    event, line, torn = _last_event(root, place, seen.st_size, reach=_TAIL)
    if event is None:
        return Tail(Head(0, FIRST, seen.st_size), torn)
    return Tail(Head(event.sequence, event.hash, seen.st_size), torn, line, event.time)


def _last_event(
    root: Root, place: Path, end: int, *, reach: int
) -> tuple[LedgerEvent | None, bytes, bytes]:
    """Return the last event before an offset, the last line, and what stands behind its newline.

    What is no event is passed over; `reach` is how far is looked back at first.
    """
    while True:
        start = max(0, end - reach)
        data = root.disk.read_at(place, start, limit=end - start)
        complete, newline, torn = data.rpartition(b"\n")
        lines = complete.split(b"\n") if newline else []
        if start > 0:
            lines = lines[1:]  # its beginning lies before what was read
        for line in reversed(lines):
            event = _event(line)
            if event is not None:
                return event, lines[-1] + b"\n", torn
        if start == 0:
            return None, b"", torn
        reach *= 4


def next_time(root: Root, now: str) -> str:
    """Return the time of this writer's next event: now, but never before its last one.

    What counts is told by the order of events, also after a clock was set back.

    Raises:
        StorageFailed: the ledger can't be read.
    """
    with reporting(f"{FOLDER}/{_file_name(root.writer_id)}"):
        last = tail(root).time
    return max(now, last) if is_time(last) else now


def find(root: Root, event: LedgerEvent) -> tuple[LedgerEvent, bool] | None:
    """Return this transaction's event as it is in this writer's ledger, and whether it is the last.

    Raises:
        OSError: the ledger can't be read.
    """
    if event.sequence > tail(root).head.sequence:
        return None
    data, _ = _lines(root, root.writer_id, 0)
    events = [each for _, each in _parsed(data) if each is not None]
    for each in reversed(events):
        if each.transaction_id == event.transaction_id:
            return each, each is events[-1]
    return None


@dataclass(frozen=True, slots=True)
class Written:
    """An event in its ledger, not durable yet: `unsynced` is to be synced for it."""

    event: LedgerEvent
    head: Head
    unsynced: tuple[Path, ...]


def append(root: Root, event: LedgerEvent, last: Tail | None = None) -> Written:
    """Put an event at the end of this writer's chain, for the caller to sync.

    A torn beginning of the very event is completed; other torn bytes are left for `verify` and
    closed with a newline: nothing that stands in a ledger is ever cut. An event whose place in
    the chain was taken meanwhile (it waited behind a stranger's version) is chained anew.
    The caller holds the lock, and may say how the chain ends.

    Raises:
        OSError: it couldn't be written; the journal still holds the event.
    """
    last = last or tail(root)
    if (event.sequence, event.previous) != (last.head.sequence + 1, last.head.hash):
        event = event.relinked(last.head)
    at, line = _fitted(event, last)
    folder = root.paths.locate(FOLDER)
    place = folder / _file_name(root.writer_id)
    root.disk.write_at(place, line, at, sync=False)
    head = Head(event.sequence, event.hash, at + len(line))
    return Written(event, head, (place, folder) if at == 0 else (place,))


def head_after(last: Tail, event: LedgerEvent) -> Head:
    """Return how a chain ends once the event that follows its end is appended."""
    at, line = _fitted(event, last)
    return Head(event.sequence, event.hash, at + len(line))


def _fitted(event: LedgerEvent, last: Tail) -> tuple[int, bytes]:
    """Return where in the file an event goes, and what is to be written there."""
    line = event.line()
    if line.startswith(last.torn):
        return last.head.size_bytes - len(last.torn), line
    return last.head.size_bytes, b"\n" + line


def rewrite_last(root: Root) -> tuple[Path, ...]:
    """Write the last event once more in its place; return what is to be synced for it.

    After a failed fsync the kernel may take the pages for clean; only new writes reach the disk.

    Raises:
        OSError: it couldn't be written.
    """
    last = tail(root)
    if not last.line or last.torn:
        return ()
    at = last.head.size_bytes - len(last.line)
    folder = root.paths.locate(FOLDER)
    place = folder / _file_name(root.writer_id)
    root.disk.write_at(place, last.line, at, sync=False)
    return place, folder


def sizes(root: Root) -> dict[str, int]:
    """Return how many bytes each writer's ledger has; a longer one than last time has news.

    Raises:
        StorageFailed: a ledger can't be looked at.
    """
    found: dict[str, int] = {}
    for writer in writers(root):
        path = f"{FOLDER}/{_file_name(writer)}"
        with reporting(path):
            seen = root.disk.state(root.paths.locate(path))
        if seen is not None:
            found[writer] = seen.st_size
    return found


def read_all(root: Root) -> Iterator[LedgerEvent]:
    """Yield every readable event, writer by writer, each in its order.

    Raises:
        StorageFailed: a ledger can't be read.
    """
    yield from events_since(root, {})[0]


def read(root: Root, writer: str) -> Iterator[LedgerEvent]:
    """Yield every readable event of one writer, in its order.

    Raises:
        StorageFailed: the ledger can't be read.
    """
    with reporting(f"{FOLDER}/{_file_name(writer)}"):
        data, _ = _lines(root, writer, 0)
    yield from (event for _, event in _parsed(data) if event is not None)


def events_since(
    root: Root, offsets: Mapping[str, int], of: Iterable[str] | None = None
) -> tuple[list[LedgerEvent], dict[str, int]]:
    """Return the events behind each writer's byte offset, and the offsets to go on from.

    A ledger shorter than its offset was replaced, and is read from its beginning. `of` are the
    writers, for a caller that has just listed them.

    Raises:
        StorageFailed: a ledger can't be read.
    """
    events: list[LedgerEvent] = []
    reached: dict[str, int] = {}
    for writer in writers(root) if of is None else of:
        with reporting(f"{FOLDER}/{_file_name(writer)}"):
            data, start = _lines(root, writer, offsets.get(writer, 0))
        events += [event for _, event in _parsed(data) if event is not None]
        reached[writer] = start + len(data)
    return events, reached


def verify(root: Root, anchors: Mapping[str, Head] | None = None) -> list[LedgerProblem]:
    """Check every chain and return what is wrong, nothing for whole ones.

    `anchors` are the last known ends, kept outside the vault: only they can tell that a chain
    lacks its end.

    Raises:
        StorageFailed: a ledger can't be read.
    """
    problems: list[LedgerProblem] = []
    known = dict(anchors or {})
    for writer in sorted({*writers(root), *known}):
        with reporting(f"{FOLDER}/{_file_name(writer)}"):
            whole, _ = _read(root, writer, 0)
        complete, _, torn = whole.rpartition(b"\n")
        lines = complete + b"\n" if complete else b""
        problems += [LedgerProblem(code, writer, line) for code, line in _chain_problems(lines)]
        if torn:
            problems.append(LedgerProblem("torn_tail", writer, whole.count(b"\n") + 1))
        if writer in known and (code := _against(known[writer], lines)):
            problems.append(LedgerProblem(code, writer, known[writer].sequence))
    return problems


def _against(anchor: Head, lines: bytes) -> str | None:
    """Say how a chain fails its anchor, or nothing."""
    if anchor.sequence == 0:
        return None
    there = [event for _, event in _parsed(lines) if event is not None]
    if any((e.sequence, e.hash) == (anchor.sequence, anchor.hash) for e in there):
        return None
    return "rewritten" if any(e.sequence >= anchor.sequence for e in there) else "cut"


def writers(root: Root) -> list[str]:
    """Return the ids of all machines that wrote into this vault."""
    return sorted(name.removesuffix(".jsonl") for name in _names(root) if _is_ledger(name))


def strangers(root: Root) -> list[str]:
    """Return the names of files beside the ledgers that are none, such as a sync program's copies.

    Raises:
        StorageFailed: the folder can't be read.
    """
    return sorted(name for name in _names(root) if name[0] != "." and not _is_ledger(name))


def _names(root: Root) -> list[str]:
    with reporting(FOLDER):
        try:
            return root.disk.names(root.paths.locate(FOLDER))
        except FileNotFoundError:
            return []


def _is_ledger(name: str) -> bool:
    return name.endswith(".jsonl") and is_id(name.removesuffix(".jsonl"))


def _chain_problems(data: bytes) -> Iterator[tuple[str, int]]:
    sequence, previous = 0, FIRST
    seen = {FIRST}
    for number, (line, event) in enumerate(_parsed(data), start=1):
        if event is None:
            yield "unreadable", number
            continue
        if event.line() != line + b"\n" or event.rehashed().hash != event.hash:
            yield "edited", number
        elif event.previous != previous or event.sequence != sequence + 1:
            if event.sequence > sequence + 1:
                yield "gap", number
            elif event.previous in seen and event.hash not in seen:
                yield "fork", number
            else:
                yield "reordered", number
        sequence, previous = event.sequence, event.hash
        seen.add(event.hash)


def _lines(root: Root, writer: str, offset: int) -> tuple[bytes, int]:
    """Return the complete lines behind an offset and where they begin."""
    data, start = _read(root, writer, offset)
    return data[: data.rfind(b"\n") + 1], start


def _read(root: Root, writer: str, offset: int) -> tuple[bytes, int]:
    """Return what stands behind an offset, or all of a ledger that is shorter."""
    place = _place(root, writer)
    seen = root.disk.state(place)
    if seen is None:
        return b"", 0
    start = offset if offset <= seen.st_size else 0
    if seen.st_size == start:
        return b"", start
    return root.disk.read_at(place, start, limit=seen.st_size - start), start


def _parsed(data: bytes) -> Iterator[tuple[bytes, LedgerEvent | None]]:
    for line in data.split(b"\n")[:-1]:
        yield line, _event(line)


# The end of a chain is read several times in one change.
@functools.lru_cache(maxsize=16)
def _event(line: bytes) -> LedgerEvent | None:
    try:
        return LedgerEvent.parse(line)
    except ValueError:
        return None


def _place(root: Root, writer: str) -> Path:
    return root.paths.locate(f"{FOLDER}/{_file_name(writer)}")


def _file_name(writer: str) -> str:
    return f"{writer}.jsonl"
