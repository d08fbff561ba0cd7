"""Transactions in flight: a record that says what will be, written before anything is.

`draft` writes the record under a temporary name before the first file is staged, so that even a
crash before the commit point leaves a list of what to clear away; `seal` renames it, and that is
the commit point.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from keepm.errors import KeepMError
from keepm.model import layout
from keepm.store.disk import RECORD_MODE
from keepm.store.event import LedgerEvent, canonical
from keepm.store.paths import is_of_vault
from keepm.store.root import Root, is_id

FOLDER = f"{layout.RECORDS}/journal"
# What opening a link, a folder, a pipe or something huge says: no record of ours.
_NO_FILE = frozenset({errno.ELOOP, errno.EISDIR, errno.EINVAL, errno.ENXIO, errno.EFBIG})
_FORMAT = 1
_LARGEST = 1 << 26


@dataclass(frozen=True, slots=True)
class FileIntent:
    """What becomes of one file.

    `to` is set for a move, `before` is None for a new file, `after` None for one that goes.
    """

    path: str
    to: str | None
    before: str | None
    after: str | None

    @property
    def target(self) -> str:
        """Where the new version goes."""
        return self.to or self.path

    @property
    def is_new(self) -> bool:
        """Tell whether the target's name must be free."""
        return self.to is not None or self.before is None

    @property
    def is_well_formed(self) -> bool:
        """Tell whether each field is of its sort: another program may have written the record."""
        texts = (self.to, self.before, self.after)
        return (
            isinstance(self.path, str)
            and all(each is None or isinstance(each, str) for each in texts)
            and all(map(is_of_vault, self.touched))
        )

    @property
    def touched(self) -> tuple[str, ...]:
        """The paths this changes."""
        return (self.path,) if self.to is None else (self.path, self.to)


@dataclass(frozen=True, slots=True)
class Intent:
    """One transaction's record."""

    id: str
    writer_id: str
    files: tuple[FileIntent, ...]
    event: LedgerEvent

    def encode(self) -> bytes:
        """Return the record's bytes, with a checksum over them."""
        record = self._record()
        return canonical({**record, "checksum": _checksum(record)}) + b"\n"

    @classmethod
    def decode(cls, data: bytes) -> Intent:
        """Read a record.

        Raises:
            ValueError: it is torn, damaged or of another format.
        """
        try:
            record = json.loads(data)
            claimed = record.pop("checksum")
            if record.get("format") != _FORMAT or claimed != _checksum(record):
                raise ValueError("not a whole record")
            files = tuple(FileIntent(**each) for each in record["files"])
            if not all(each.is_well_formed for each in files):
                raise ValueError("not a record of this vault")
            return cls(
                id=record["id"],
                writer_id=record["writer"],
                files=files,
                event=LedgerEvent.parse(json.dumps(record["event"])),
            )
        except (TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError("not a whole record") from error

    def staged(self, root: Root, number: int) -> Path:
        """Return where the new version of file `number` is staged, beside its target."""
        parent = self.files[number].target.rpartition("/")[0]
        return root.paths.locate(f"{parent}/.keepm-{self.id}-{number}.tmp")

    @property
    def touched(self) -> tuple[str, ...]:
        """Every path the transaction changes."""
        return tuple(path for file in self.files for path in file.touched)

    @property
    def about(self) -> str:
        """The path to name when the transaction fails; one without files is an event alone."""
        return self.files[0].path if self.files else FOLDER

    def _record(self) -> dict[str, object]:
        return {
            "format": _FORMAT,
            "id": self.id,
            "writer": self.writer_id,
            "files": [
                # Not `asdict`, which copies each text.
                {"path": f.path, "to": f.to, "before": f.before, "after": f.after}
                for f in self.files
            ],
            "event": self.event.as_record(),
        }


@dataclass(frozen=True, slots=True)
class Listing:
    """What the journal holds."""

    intents: tuple[Intent, ...]  # ours, in the order of their events
    foreign: tuple[str, ...]  # ids of other machines' records, which are left alone
    damaged: tuple[str, ...]  # ids of records that nobody can read
    temporary: tuple[str, ...]  # names of this writer's unfinished files

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all records."""
        return tuple(sorted((*(i.id for i in self.intents), *self.foreign, *self.damaged)))


def draft(root: Root, intent: Intent) -> Path:
    """Write the record where it doesn't count yet, unsynced, and return its place.

    Raises:
        OSError: the file system refuses.
    """
    place = _draft(root, intent.id)
    root.disk.create(place, intent.encode(), mode=RECORD_MODE, sync=False)
    return place


def seal(root: Root, intent: Intent) -> None:
    """Pass the commit point: from here on the transaction is finished, whatever happens.

    Durable only after `sync`: else the folder may forget the rename after a power cut.

    Raises:
        OSError: the file system refuses, and the record doesn't count.
    """
    sealed = _sealed(root, intent.id)
    try:
        root.disk.rename_over(_draft(root, intent.id), sealed)  # the commit point
    except OSError:
        # A network file system may rename and lose the answer.
        with contextlib.suppress(OSError):
            if root.disk.state(sealed) is not None:
                return
        raise


def sync(root: Root) -> None:
    """Make the journal's names durable.

    Raises:
        OSError: the file system refuses.
    """
    root.disk.sync_folder(root.paths.locate(FOLDER))


def remove(root: Root, intent: Intent) -> None:
    """Take a finished record away. Not synced: a record that reappears is found in the ledger."""
    with contextlib.suppress(FileNotFoundError):
        root.disk.unlink(_sealed(root, intent.id))


def withdraw(root: Root, intent: Intent) -> None:
    """Take back a record of which nothing was applied, durably.

    Raises:
        OSError: the file system refuses.
    """
    root.disk.unlink(_sealed(root, intent.id))
    sync(root)


def read(root: Root) -> Listing:
    """Return what the journal holds.

    Raises:
        OSError: the journal can't be read.
    """
    folder = root.paths.locate(FOLDER)
    try:
        names = root.disk.names(folder)
    except FileNotFoundError:
        return Listing((), (), (), ())
    intents: list[Intent] = []
    foreign: list[str] = []
    damaged: list[str] = []
    for name in sorted(names):
        record_id = name.removesuffix(".json")
        if name == record_id or not is_id(record_id):
            continue
        intent = _load(root, folder / name)
        if intent is None or intent.id != record_id:
            damaged.append(record_id)
        elif intent.writer_id != root.writer_id:
            foreign.append(record_id)
        else:
            intents.append(intent)
    mine = tuple(sorted(n for n in names if n.startswith(f".{root.writer_id}.")))
    # What resolves a blocked record comes first: done after that record, it would meet its files.
    intents.sort(key=lambda intent: ("resolves" not in intent.event.extra, intent.event.sequence))
    return Listing(tuple(intents), tuple(foreign), tuple(damaged), mine)


def clear(root: Root, names: tuple[str, ...]) -> None:
    """Remove unfinished files of this writer, and what was staged for them.

    A file that can't be removed now stays for the next time.
    """
    folder = root.paths.locate(FOLDER)
    for name in names:
        with contextlib.suppress(OSError):
            intent = _load(root, folder / name) if name.endswith(".draft.tmp") else None
            if intent is None or clear_staged(root, intent):  # else its list is still needed
                root.disk.unlink(folder / name)


def discard(root: Root, intent: Intent) -> None:
    """Clear away a transaction that didn't reach the commit point, as far as possible."""
    with contextlib.suppress(OSError, KeepMError):
        if clear_staged(root, intent):
            root.disk.unlink(_draft(root, intent.id))


def clear_staged(root: Root, intent: Intent) -> bool:
    """Remove what was staged for a transaction; tell whether nothing of it is left."""
    gone = True
    for number in range(len(intent.files)):
        try:
            root.disk.unlink(intent.staged(root, number))
        except FileNotFoundError:
            continue
        except (OSError, KeepMError):
            gone = False
    return gone


def _load(root: Root, place: Path) -> Intent | None:
    try:
        return Intent.decode(root.disk.read(place, limit=_LARGEST)[0])
    except (FileNotFoundError, ValueError):
        return None
    except OSError as error:
        if error.errno not in _NO_FILE:
            raise
        return None


def _draft(root: Root, intent_id: str) -> Path:
    # By this writer's name recovery finds it again.
    return root.paths.locate(f"{FOLDER}/.{root.writer_id}.{intent_id}.draft.tmp")


def _sealed(root: Root, intent_id: str) -> Path:
    return root.paths.locate(f"{FOLDER}/{intent_id}.json")


def _checksum(record: dict[str, object]) -> str:
    return hashlib.sha256(canonical(record)).hexdigest()
