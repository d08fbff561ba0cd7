"""Documents into index entries, for many of them in a process of its own.

Filling an index is as much parsing and stemming as writing. In a second process the two go on at
once, and the threads that answer here meanwhile needn't share the interpreter with a parser. That
process is given bytes and gives back plain values; it opens neither the vault nor the index.
Whatever becomes of it, the documents are parsed: here, if it can't be started or ends too early.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple

from keepm.index import entries as indexed
from keepm.index.writing import Entry, FileRow
from keepm.markdown import documents, memories
from keepm.model import layout
from keepm.model.document import AnyDocument, Document
from keepm.model.links import WikiLink
from keepm.model.memory import Memory
from keepm.store.changes import Change, Delete, Move

LEAST_APART = 2000
"""So many documents are worth a process of their own: fewer are read before it has begun."""

_AHEAD = 2  # portions that are on their way: one is parsed, one waits
_PARTS = 8  # of which one is parsed here: writing all takes a little less time than parsing
_PIPE_BYTES = 1 << 19  # where it can be chosen: fewer turns until a portion is through
_PATIENCE_SECONDS = 60.0  # for one portion
_TURN_SECONDS = 0.0002
_START = (
    "import sys; sys.path[:] = sys.argv[1:]; from keepm.operations import parsing as p; p.serve()"
)
_BROKEN = (EOFError, OSError, ValueError, pickle.PickleError, ImportError, AttributeError)


class Source(NamedTuple):
    """The bytes of one file, and what the index is to remember of it."""

    data: bytes
    file: FileRow


def parse(sources: Iterable[Source], ahead: Ahead | None = None) -> tuple[Entry, ...]:
    """Parse files for the index, but those that were parsed `ahead`."""
    if ahead is not None:
        return tuple([ahead.take(source) or parse([source])[0] for source in sources])
    read = [(documents.read(file.path, data), file) for data, file in sources]
    # One after the other: each finds its code and its tables in the processor's caches.
    return tuple([entry(document, file) for document, file in read])


def entry(document: AnyDocument, file: FileRow) -> Entry:
    """Return what a document leaves in the index."""
    links: tuple[WikiLink, ...] = ()
    if isinstance(document.content, Memory):
        links = memories.relations(_as_memory(document))
    return indexed.entry(document, file, links)


def _as_memory(document: object) -> Document[Memory]:
    assert isinstance(document, Document)
    return document


class Ahead:
    """What a change is about to write, parsed while the disk is waited for."""

    def __init__(self, changes: Iterable[Change]) -> None:
        self._changes = tuple(changes)
        self._entries: dict[str, Entry] = {}

    def parse(self) -> None:
        """Parse the documents that will be there."""
        for change in self._changes:
            if isinstance(change, Delete):
                continue
            path = change.to if isinstance(change, Move) else change.path
            if layout.place(path) is not None:
                document = documents.read(path, change.data)
                file = FileRow(path, len(change.data), 0, document.checksum.hex, 0)
                self._entries[path] = entry(document, file)

    def take(self, source: Source) -> Entry | None:
        """Return what these very bytes leave in the index, if they were parsed."""
        known = self._entries.get(source.file.path)
        if known is None or known.file.checksum != source.file.checksum:
            return None
        return indexed.restamped(known, source.file)


class Parser:
    """Takes portions of files and gives them back parsed, in their order. A context manager."""

    def __init__(self, *, apart: bool) -> None:
        self._portions: deque[tuple[Sequence[Source], int]] = deque()
        self._child = _start() if apart else None
        self._is_starting = True

    def __enter__(self) -> Parser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    @property
    def is_full(self) -> bool:
        """Tell whether a portion should be taken before another is given."""
        return len(self._portions) > (0 if self._child is None else _AHEAD)

    def give(self, sources: Sequence[Source]) -> None:
        """Take a portion of files to be parsed."""
        away = 0  # so many of them, from the first on, are parsed by the other process
        if sources and self._child is not None and not self._is_starting:
            away = len(sources) - len(sources) // _PARTS
            try:
                _send(self._child, sources[:away])
            except _BROKEN:
                self._end()
        # While the process starts, the first portion is parsed here.
        self._is_starting = False
        self._portions.append((sources, away))

    def take(self) -> tuple[Entry, ...]:
        """Return the portion that was given first of those that weren't taken."""
        sources, away = self._portions.popleft()
        rest = parse(sources[away:])
        return (*self._parsed_apart(sources[:away]), *rest) if away else rest

    def _parsed_apart(self, sources: Sequence[Source]) -> tuple[Entry, ...]:
        if self._child is not None:
            try:
                return _received(self._child)
            except _BROKEN:
                self._end()
        return parse(sources)

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()


def _start() -> subprocess.Popen[bytes] | None:
    """Start the process that parses; nothing where that can't be done."""
    if not sys.executable or getattr(sys, "frozen", False):
        return None
    try:
        return subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-P", "-c", _START, *(path or os.curdir for path in sys.path)],
            # Its own pipes: the server's output is the protocol's.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pipesize=_PIPE_BYTES,
            creationflags=_no_window(),
        )
    except OSError:
        return None


def _no_window() -> int:
    if sys.platform == "win32":
        return subprocess.CREATE_NO_WINDOW
    return 0


def _send(child: subprocess.Popen[bytes], sources: Sequence[Source]) -> None:
    assert child.stdin is not None
    with _in_time(child):
        pickle.dump(sources, child.stdin, pickle.HIGHEST_PROTOCOL)
        child.stdin.flush()


def _received(child: subprocess.Popen[bytes]) -> tuple[Entry, ...]:
    assert child.stdout is not None
    with _in_time(child):
        found = pickle.load(child.stdout)  # noqa: S301 - of our own process
    if not isinstance(found, tuple):
        raise EOFError
    return found


@contextlib.contextmanager
def _in_time(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Kill a process that neither takes nor gives for long: who waits for a pipe goes on."""
    giving_up = threading.Timer(_PATIENCE_SECONDS, child.kill)
    giving_up.daemon = True
    giving_up.start()
    try:
        yield
    finally:
        giving_up.cancel()


# ---- within that process ---------------------------------------------------------------------


def serve() -> None:
    """Parse what comes in, until it ends; the process ends with it.

    Reading and writing have threads of their own, so that neither side ever waits for the other
    to make room in a pipe.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for whoever started us
    sys.setswitchinterval(_TURN_SECONDS)  # a pipe takes little at once, and is to be emptied soon
    waiting: queue.SimpleQueue[Sequence[Source]] = queue.SimpleQueue()
    done: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        with contextlib.suppress(*_BROKEN):
            while True:
                waiting.put(pickle.load(sys.stdin.buffer))  # noqa: S301 - of our own process
        os._exit(0)

    def write() -> None:
        with contextlib.suppress(*_BROKEN):
            while True:
                sys.stdout.buffer.write(done.get())
                sys.stdout.buffer.flush()
        os._exit(0)

    for work in (read, write):
        threading.Thread(target=work, daemon=True).start()
    while True:
        done.put(pickle.dumps(parse(waiting.get()), pickle.HIGHEST_PROTOCOL))
