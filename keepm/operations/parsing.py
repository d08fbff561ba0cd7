"""Many documents parsed at once, in a process of its own beside this one.

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
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from types import TracebackType

from keepm.index.entries import Entry
from keepm.operations.entering import BROKEN, Source, parse, receive, send

if sys.platform == "linux":
    import fcntl

LEAST_APART = 800
"""So many documents are worth a process of their own: fewer are read before it has begun."""

_PORTION = 25  # files: at the end of a group one side waits for the other's last one
_AHEAD = 2  # portions that are on their way: one is parsed, one waits
_PIPE_BYTES = 1 << 19  # where it can be chosen: fewer turns until a portion is through
_PATIENCE_SECONDS = 60.0  # for one portion
_START = (
    # Python's collector finds nothing there, neither amid imports nor among rows that go away.
    "import gc, sys; gc.disable(); sys.path[:] = sys.argv[1:];"
    "from keepm.operations.entering import serve; serve()"
)


def pays_apart(documents: int) -> bool:
    """Tell whether a process of its own makes so many documents ready sooner."""
    return documents >= LEAST_APART and _processors() > 1


def _processors() -> int:
    """Return how many processors this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Portion:
    """Some files: parsed by whoever claims them first, here or there."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.entries: tuple[Entry, ...] | None = None
        self.answer: bytes | None = None  # the entries as the other process gave them
        self.settled = threading.Event()
        self._claim = threading.Lock()

    def claimed(self) -> bool:
        """Claim the portion; tell whether nobody had."""
        return self._claim.acquire(blocking=False)


class Parser:
    """Takes groups of files and gives them back parsed, in their order. A context manager.

    A group is parsed from both ends: by the other process from its first file on, once that
    process has begun, and by whoever asks for the group from its last.
    """

    def __init__(self, *, apart: bool) -> None:
        self._groups: deque[list[_Portion]] = deque()
        self._child = _start() if apart else None
        self._given: queue.SimpleQueue[_Portion | None] = queue.SimpleQueue()
        self._talk = threading.Thread(target=self._talk_to, args=(self._child,), daemon=True)
        if self._child is not None:
            try:
                self._talk.start()
            except RuntimeError:  # no thread can be had, at the end, say
                self._end()

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
        """Tell whether a group should be taken before another is given."""
        return len(self._groups) > (0 if self._child is None else 1)

    def give(self, sources: Sequence[Source]) -> None:
        """Take a group of files to be parsed."""
        starts = range(0, len(sources), _PORTION)
        group = [_Portion(sources[start : start + _PORTION]) for start in starts]
        self._groups.append(group)
        for portion in group:
            self._given.put(portion)

    def take(self) -> tuple[Entry, ...]:
        """Return the group that was given first of those that weren't taken."""
        group = self._groups.popleft()
        for portion in reversed(group):
            if portion.claimed():
                portion.entries = parse(portion.sources)
        return tuple(entry for portion in group for entry in self._entries(portion))

    def _entries(self, portion: _Portion) -> tuple[Entry, ...]:
        if portion.entries is not None:
            return portion.entries
        if not portion.settled.wait(_PATIENCE_SECONDS):
            self._end()  # who is waited for neither takes nor gives
        try:
            return _unpacked(portion.answer)
        except BROKEN:
            self._end()
            return parse(portion.sources)

    def _talk_to(self, child: subprocess.Popen[bytes]) -> None:
        """Send the other process what nobody has claimed, a little ahead of what comes back."""
        sent: deque[_Portion] = deque()
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            receive(child.stdout)  # it has begun
            while True:
                while len(sent) < _AHEAD and (not sent or not self._given.empty()):
                    portion = self._given.get()
                    if portion is None:
                        return
                    if portion.claimed():
                        sent.append(portion)
                        send(child.stdin, pickle.dumps(portion.sources, pickle.HIGHEST_PROTOCOL))
                sent[0].answer = receive(child.stdout)
                sent.popleft().settled.set()
        except BROKEN:
            return  # what wasn't claimed is parsed here
        finally:
            for portion in sent:
                portion.settled.set()

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            self._given.put(None)
            if self._talk.is_alive():
                self._talk.join()
            with contextlib.suppress(*BROKEN):
                child.communicate()


def _unpacked(answer: bytes | None) -> tuple[Entry, ...]:
    if answer is None:
        raise EOFError
    found = pickle.loads(answer)  # noqa: S301 - of our own process
    if not isinstance(found, tuple):
        raise EOFError
    return found


def _start() -> subprocess.Popen[bytes] | None:
    """Start the process that parses; nothing where that can't be done."""
    if not sys.executable or getattr(sys, "frozen", False):
        return None
    try:
        child = subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-P", "-c", _START, *(path or os.curdir for path in sys.path)],
            # Its own pipes: the server's output is the protocol's.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=_no_window(),
        )
    except (OSError, RuntimeError):  # the latter where this process is ending
        return None
    _enlarge(child)
    return child


def _enlarge(child: subprocess.Popen[bytes]) -> None:
    """Let a process's pipes take more at once; a system may not grant it, and they do as well."""
    if sys.platform == "linux":
        for pipe in (child.stdin, child.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _no_window() -> int:
    if sys.platform == "win32":
        return subprocess.CREATE_NO_WINDOW
    return 0
