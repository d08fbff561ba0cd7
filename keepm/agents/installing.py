"""Writing our parts into a project, all or none, and restoring what was there before.

Everything is planned in memory first: a file that can't be changed safely stops the plan before
a byte is written. Files are replaced whole, by rename; a failure half way puts back what was
there. Links are followed to their target inside the project and nowhere else.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from keepm.agents import blocks
from keepm.agents.hosts.host import Part
from keepm.agents.merging import Merge
from keepm.agents.record import FileRecord
from keepm.agents.textfile import LARGEST, Refused, TextFile
from keepm.errors import ConfigurationError, Detail, KeepMError, Problem
from keepm.model.checksum import Checksum
from keepm.store.disk import Disk


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file before and after; nothing means that it is not there."""

    path: str  # of the file itself, relative to the project, links resolved
    before: bytes | None
    after: bytes | None

    @property
    def is_one(self) -> bool:
        """Tell whether anything changes at all."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Plan:
    """All changes of one setup, and what the files were without us.

    `places` says in which file each part ended up; `elsewhere` names parts that another file
    already brings.
    """

    changes: tuple[FileChange, ...]
    originals: Mapping[str, bytes | None]
    places: Mapping[str, str]
    elsewhere: frozenset[str] = frozenset()


class _Problems:
    """What is wrong with the files of a plan, told all at once."""

    def __init__(self) -> None:
        self._found: list[Problem] = []
        self._hint = ""

    @contextlib.contextmanager
    def about(self, path: str) -> Iterator[None]:
        try:
            yield
        except Refused as error:
            self._hint = self._hint or error.next_step
            place: dict[str, str | int] = {"line": error.line, "column": error.column}
            self._found.append(Problem(path, error.message, "configuration_error", place))

    def raise_any(self) -> None:
        if self._found:
            rows: list[dict[str, str | int | float | bool | None]] = [
                {"path": each.field, "message": each.message, **each.details}
                for each in self._found
            ]
            details: dict[str, Detail] = {"problems": rows}
            message = "; ".join(f"{each.field}: {each.message}" for each in self._found)
            raise ConfigurationError(message, hint=self._hint, details=details)


def plan(top: Path, parts: Sequence[Part], record: Mapping[str, FileRecord]) -> Plan:
    """Return what setup would write.

    Raises:
        ConfigurationError: a file can't be changed safely; every such file is named.
    """
    problems = _Problems()
    now: dict[str, bytes | None] = {}
    texts: dict[str, TextFile] = {}
    places: dict[str, str] = {}
    merges: dict[str, list[Merge]] = {}
    elsewhere: set[str] = set()
    written = {part.path for part in parts}
    for part in parts:
        with problems.about(part.path):
            path = locate(top, part.path)
            if path not in now:
                now[path] = read(top, path)
                texts[path] = TextFile.parse(now[path] or b"")
            file = texts[path]
            if part.imports and part.imports[1] in written and _imports(file, part.imports[0]):
                elsewhere.add(part.path)
                continue
            texts[path] = file.with_text(part.merge.add(file))
            places[part.path] = path
            merges.setdefault(path, []).append(part.merge)
    originals: dict[str, bytes | None] = {}
    changes = []
    for path in dict.fromkeys(places.values()):
        change = FileChange(path, now[path], texts[path].encode())
        with problems.about(path):
            originals[path] = _original(change, record.get(path), merges[path])
        changes.append(change)
    problems.raise_any()
    return Plan(tuple(changes), originals, places, frozenset(elsewhere))


def plan_removal(
    top: Path, parts: Sequence[Part], record: Mapping[str, FileRecord]
) -> tuple[FileChange, ...]:
    """Return what takes our parts out again.

    A file nobody changed since setup gets its old bytes; of any other only our part goes.

    Raises:
        ConfigurationError: a file can't be changed safely; every such file is named.
    """
    problems = _Problems()
    merges: dict[str, list[Merge]] = {path: [] for path in record}
    for part in parts:
        with problems.about(part.path):
            merges.setdefault(locate(top, part.path), []).append(part.merge)
    changes = []
    for path, own in merges.items():
        with problems.about(path):
            present = read(top, path)
            if present is not None:
                known = record.get(path)
                changes.append(FileChange(path, present, _without(present, known, own)))
    problems.raise_any()
    return tuple(change for change in changes if change.is_one)


def _imports(file: TextFile, line: str) -> bool:
    return blocks.has(file.text, line) and not blocks.has(file.text, blocks.BEGIN)


def _original(
    change: FileChange, record: FileRecord | None, merges: Sequence[Merge]
) -> bytes | None:
    """Return what a file would be if setup had never run."""
    if change.before is None or (record is None and change.is_one):
        return change.before
    return _without(change.before, record, merges)


def _without(present: bytes, record: FileRecord | None, merges: Sequence[Merge]) -> bytes | None:
    if record is not None and Checksum.of(present) == record.written:
        return record.original
    file = TextFile.parse(present)
    before = None if record is None else TextFile.parse(record.original or b"").text
    text = file.text
    for merge in merges:
        text = merge.take_out(file.with_text(text), before)
    was_absent = text != file.text if record is None else record.original is None
    return None if not text and was_absent else file.with_text(text).encode()


# ---- files -------------------------------------------------------------------------------------


def locate(top: Path, path: str) -> str:
    """Return where a file of the project really is, relative to its top, links followed.

    Raises:
        Refused: it leads out of the project or into git's own folder.
    """
    home = Path(os.path.realpath(top))
    target = Path(os.path.realpath(home / path))
    if not target.is_relative_to(home) or target == home:
        raise Refused("it is a link that leads out of the project")
    relative = target.relative_to(home)
    if any(part.lower() == ".git" for part in relative.parts):
        raise Refused("it is a link that leads into git's own folder")
    return relative.as_posix()


def read(top: Path, path: str) -> bytes | None:
    """Return a file's bytes, or nothing when it isn't there.

    Raises:
        Refused: it is no regular file, too large, or can't be read.
    """
    try:
        descriptor = os.open(
            top / path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Refused(f"it can't be opened: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refused("it is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        return file.read(LARGEST + 1)


def missing_folders(top: Path, changes: Iterable[FileChange]) -> tuple[str, ...]:
    """Return the folders that writing these files makes, outermost first."""
    found: dict[str, None] = {}
    for change in changes:
        if change.after is not None:
            parents = [each.as_posix() for each in PurePosixPath(change.path).parents][:-1]
            found |= {each: None for each in reversed(parents) if not os.path.isdir(top / each)}
    return tuple(found)


def write(top: Path, changes: Sequence[FileChange], *, disk: Disk) -> None:
    """Bring all files into their new state, or, at the first failure, all back into their old.

    Raises:
        ConfigurationError: a file was changed since the plan was made, or the disk refuses.
    """
    folders = missing_folders(top, changes)
    done: list[FileChange] = []
    try:
        for change in changes:
            if change.is_one:
                # Before the write: one that fails may have taken effect all the same.
                done.append(change)
                _apply(top, change, disk=disk)
    except (OSError, KeepMError) as error:
        for change in reversed(done):
            with contextlib.suppress(OSError, KeepMError):
                _apply(top, FileChange(change.path, change.after, change.before), disk=disk)
        remove_folders(top, folders)
        if isinstance(error, KeepMError):
            raise
        raise ConfigurationError(
            f"{done[-1].path}: it can't be written: {error.strerror}",
            hint="Everything written so far was put back. Mend that and run setup again.",
        ) from error


def remove_folders(top: Path, folders: Iterable[str]) -> None:
    """Remove these folders, innermost first, where nothing is in them."""
    for folder in sorted(folders, key=len, reverse=True):
        with contextlib.suppress(OSError):
            (top / folder).rmdir()


def _apply(top: Path, change: FileChange, *, disk: Disk) -> None:
    target = top / change.path
    if locate(top, change.path) != change.path or read(top, change.path) != change.before:
        raise Refused(f"{change.path} was changed while setup ran")
    if change.after is None:
        disk.unlink(target)
        return
    disk.make_folders(target.parent)
    mode = None if change.before is None else stat.S_IMODE(target.stat().st_mode)
    fresh = target.with_name(f".{target.name}.keepm-new")
    fresh.unlink(missing_ok=True)
    disk.create(fresh, change.after, mode=mode)
    try:
        disk.rename_over(fresh, target)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    disk.sync_folder(target.parent)


def diff(changes: Iterable[FileChange]) -> str:
    """Return the changes as one unified diff."""
    return "".join(_diff(change) for change in changes if change.is_one)


def _diff(change: FileChange) -> str:
    old, new = (
        [] if data is None else re.findall(r"[^\n]*\n|[^\n]+\Z", data.decode("utf-8", "replace"))
        for data in (change.before, change.after)
    )
    # An absolute path (of a file outside the project) gets no a/ and b/ before it.
    sides = ("", "") if Path(change.path).is_absolute() else ("a/", "b/")
    names = (
        "/dev/null" if change.before is None else f"{sides[0]}{change.path}",
        "/dev/null" if change.after is None else f"{sides[1]}{change.path}",
    )
    lines = difflib.unified_diff(old, new, *names)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
