"""Documents into index entries: here, or as the process that does it for another one.

Light, since that process loads nothing else: it is worth starting only when it begins soon.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Iterable
from typing import IO, NamedTuple

from keepm.index import entries as indexed
from keepm.index.entries import Entry, FileRow
from keepm.markdown import documents, memories
from keepm.model.document import AnyDocument, Document
from keepm.model.links import WikiLink
from keepm.model.memory import Memory

BROKEN = (EOFError, OSError, ValueError, pickle.PickleError, ImportError, AttributeError)
"""What a pipe raises that leads nowhere, or out of which comes something else."""

_LENGTH = 8  # bytes that say how many follow
_LARGEST = 1 << 30
_TURN_SECONDS = 0.0002


class Source(NamedTuple):
    """The bytes of one file, and what the index is to remember of it."""

    data: bytes
    file: FileRow


def parse(sources: Iterable[Source]) -> tuple[Entry, ...]:
    """Parse files for the index."""
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


def send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(len(data).to_bytes(_LENGTH, "big") + data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes:
    """Return what was sent as one piece.

    Raises:
        EOFError: the other side has ended, or says something else.
    """
    size = int.from_bytes(_exactly(pipe, _LENGTH), "big")
    if size > _LARGEST:
        raise EOFError
    return _exactly(pipe, size)


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def serve() -> None:
    """Parse what comes in, until it ends; the process ends with it.

    Reading and writing have threads of their own, so that neither side ever waits for the other
    to make room in a pipe.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for whoever started us
    sys.setswitchinterval(_TURN_SECONDS)  # a pipe takes little at once, and is to be emptied soon
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    done: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    done.put(b"")  # we have begun

    def read() -> None:
        with contextlib.suppress(*BROKEN):
            while True:
                waiting.put(receive(sys.stdin.buffer))
        os._exit(0)

    def write() -> None:
        with contextlib.suppress(*BROKEN):
            while True:
                send(sys.stdout.buffer, done.get())
        os._exit(0)

    for work in (read, write):
        threading.Thread(target=work, daemon=True).start()
    while True:
        sources = pickle.loads(waiting.get())  # noqa: S301 - of the process that started us
        done.put(pickle.dumps(parse(sources), pickle.HIGHEST_PROTOCOL))
