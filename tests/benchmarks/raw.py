"""The raw operations that KeepM's own are compared with: what anyone would have to pay."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from keepm.markdown import documents
from tests.benchmarks.vaults import Place

BARE_SERVER = """\
from fastmcp import FastMCP
FastMCP("bare").run(transport="stdio", show_banner=False)
"""


def walk(place: Place) -> int:
    """Look at the state of every file below `Memory`; return how many there are."""
    return sum(1 for _ in _files(str(place.root / "Memory")))


def size(place: Place) -> int:
    """Return how many bytes all documents have."""
    files = _files(str(place.root / "Memory"))
    return sum(Path(path).stat().st_size for path in files if path.endswith(".md"))


def read_and_parse(place: Place) -> int:
    """Read, hash and parse every document once; return how many there are."""
    paths = _documents(place)
    for path in paths:
        _parse(place, path)
    return len(paths)


def parser_of_one(place: Place) -> Callable[[], None]:
    """Return what reads, hashes and parses one document, another one each time."""
    paths = itertools.cycle(_documents(place))
    return lambda: _parse(place, next(paths))


def _documents(place: Place) -> list[str]:
    return [path for path in _files(str(place.root / "Memory")) if path.endswith(".md")]


def _parse(place: Place, path: str) -> None:
    data = Path(path).read_bytes()
    hashlib.sha256(data).hexdigest()
    documents.read(Path(path).relative_to(place.root).as_posix(), data)


def durable_write(folder: Path, number: int, data: bytes) -> None:
    """Write one file so that it survives a power cut, and nothing more."""
    draft, target = folder / f".draft-{number}", folder / f"{number}.md"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    draft.rename(target)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _files(folder: str) -> Iterator[str]:
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield entry.path
