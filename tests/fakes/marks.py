"""A file system that marks entries, as macOS' and Windows' do, on one that doesn't."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from keepm.store import marks
from keepm.store.disk import OSDisk

Marks = Mapping[str, int]
"""What `lstat` says beside the usual: st_flags, st_file_attributes, st_reparse_tag."""


class _Marked:
    """What the system says of an entry, and its marks."""

    def __init__(self, seen: os.stat_result, told: Marks) -> None:
        self._seen = seen
        self.__dict__.update(told)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._seen, name)


class MarkedDisk(OSDisk):
    """The real disk, with marks on the entries of these names; what is opened is noted."""

    def __init__(self, told: Mapping[str, Marks]) -> None:
        self.told = dict(told)
        self.opened: list[str] = []

    def _mark(self, name: str, seen: os.stat_result) -> os.stat_result:
        told = self.told.get(name)
        return cast(os.stat_result, _Marked(seen, told)) if told else seen

    def scan(self, folder: Path) -> Iterator[tuple[str, os.stat_result]]:
        for name, seen in super().scan(folder):
            yield name, self._mark(name, seen)

    def state(self, path: Path) -> os.stat_result | None:
        seen = super().state(path)
        return None if seen is None else self._mark(path.name, seen)

    def read(self, path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
        self.opened.append(path.name)
        return super().read(path, limit=limit)


def install(monkeypatch: pytest.MonkeyPatch, told: Mapping[str, Marks]) -> MarkedDisk:
    """Let this system be one that marks, by the disk that is returned and by `os.lstat`."""
    disk, plain = MarkedDisk(told), os.lstat

    def lstat(path: Any, **more: Any) -> os.stat_result:
        return disk._mark(os.path.basename(os.fspath(path)), plain(path, **more))

    monkeypatch.setattr(marks, "MARKED", True)
    monkeypatch.setattr(os, "lstat", lstat)
    return disk
