"""The owner's way out of a blocked transaction, as changes of its files.

`to_finish` brings the strangers' files to where the record expects them, so that it can be
finished; `to_withdraw` takes back what it did and removes it. A stranger's version never gets
lost: it stays where it is, or goes to the trash.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from itertools import pairwise

from keepm.errors import KeepMError, NotFound, WrongState
from keepm.model import layout
from keepm.model.checksum import Checksum
from keepm.store import history, journal
from keepm.store.changes import Change, Create, Delete, Move, Replace
from keepm.store.disk import reporting
from keepm.store.finishing import version
from keepm.store.journal import FileIntent, Intent
from keepm.store.root import Root


def to_finish(root: Root, intent: Intent, *, trash: str) -> tuple[Change, ...]:
    """Return what clears the way for a blocked record; `trash` is the folder for files in it.

    Raises:
        NotFound: a version that the record needs is no longer kept.
        WrongState: something that is no regular file stands in the way.
    """
    with reporting(intent.about):
        return tuple(
            change for file in intent.files for change in _cleared(root, file, trash=trash)
        )


def when_finished(root: Root, intent: Intent, clearing: tuple[Change, ...]) -> tuple[Change, ...]:
    """Return what `clearing` and the finished record come to, from how the files are now.

    For showing only: the record is finished by recovery, whose steps these are not.
    """
    aside = tuple(each for each in clearing if isinstance(each, Move))
    kept = [
        Move(replaced.path, copy.path, copy.data, replaced.expect)
        for copy, replaced in pairwise(clearing)
        if isinstance(copy, Create) and isinstance(replaced, Replace) and _is_trash(copy.path)
    ]
    with reporting(intent.about):
        coming = [each for file in intent.files for each in _coming(root, file, aside)]
    return (*aside, *kept, *coming)


def to_withdraw(root: Root, intent: Intent, *, trash: str) -> tuple[Change, ...]:
    """Return what takes a blocked record back: its files as they were, then the record itself.

    Raises:
        NotFound: a version that was there before is no longer kept.
    """
    with reporting(intent.about):
        changes = [change for file in intent.files for change in _reverted(root, file, trash=trash)]
        taken = {path for change in changes for path in _paths(change)}
        for number in range(len(intent.files)):
            staged = f"{_parent(intent.files[number].target)}/{intent.staged(root, number).name}"
            digest = version(root, staged)
            if digest is not None and staged not in taken:
                changes.append(Delete(staged, Checksum(digest)))
    return (*changes, remove_record(root, intent.id))


def remove_record(root: Root, intent_id: str) -> Delete:
    """Return the removal of a record from the journal, readable or not.

    Raises:
        NotFound: it isn't there.
        WrongState: it is no file.
    """
    path = f"{journal.FOLDER}/{intent_id}.json"
    with reporting(path):
        seen = root.disk.state(root.paths.locate(journal.FOLDER) / f"{intent_id}.json")
    if seen is not None and not stat.S_ISREG(seen.st_mode):
        raise WrongState(
            f"{path} is no file, and nothing of KeepM's",
            hint="Take it out of the vault by hand, then call again.",
        )
    with reporting(path):
        digest = version(root, path)
    if digest is None:
        raise NotFound("the record is gone")
    return Delete(path, Checksum(digest))


def _cleared(root: Root, file: FileIntent, *, trash: str) -> Iterator[Change]:
    if file.after is not None:
        history.get(root, Checksum(file.after))  # without it the record can never be finished
    target = version(root, file.target)
    if file.is_new or file.after is None:
        wanted = (None, file.after) if file.after is not None else (None, file.before)
        if target not in wanted:
            yield _to_trash(root, file.target, target, trash=trash)
    elif target not in (file.before, file.after):
        yield from _brought_back(root, file.path, target, file.before, trash=trash)
    if file.to is not None:
        source = version(root, file.path)
        if source != file.before and not (source is None and target == file.after):
            yield from _brought_back(root, file.path, source, file.before, trash=trash)


def _coming(root: Root, file: FileIntent, aside: tuple[Move, ...]) -> Iterator[Change]:
    if file.after is None:
        return  # only records of our own are removed so
    data = history.get(root, Checksum(file.after))
    target = version(root, file.target)
    source = version(root, file.path) if file.to is not None else None
    if file.to is not None and source is not None:
        yield Move(file.path, file.to, data, _regular(file.path, source))
    elif target is None or any(each.path == file.target for each in aside):
        yield Create(file.target, data)
    elif target != file.after:
        yield Replace(file.target, data, _regular(file.target, target))


def _brought_back(
    root: Root, path: str, there: str | None, wanted: str | None, *, trash: str
) -> Iterator[Change]:
    assert wanted is not None
    data = history.get(root, Checksum(wanted))
    if there is None:
        yield Create(path, data)
        return
    # The note's history doesn't name it if it says to be another note, or none: the trash does.
    aside = _to_trash(root, path, there, trash=trash)
    yield Create(aside.to, aside.data)
    yield Replace(path, data, aside.expect)


def _is_trash(path: str) -> bool:
    return path.startswith(f"{layout.TRASH}/")


def _reverted(root: Root, file: FileIntent, *, trash: str) -> Iterator[Change]:
    target = version(root, file.target)
    if file.after is None or target != file.after:
        return
    expect = Checksum(file.after)
    if file.before is None:
        yield _to_trash(root, file.target, target, trash=trash)
    elif file.to is None:
        yield Replace(file.path, history.get(root, Checksum(file.before)), expect)
    elif version(root, file.path) is None:
        yield Move(file.to, file.path, history.get(root, Checksum(file.before)), expect)
    else:
        yield _to_trash(root, file.target, target, trash=trash)


def _to_trash(root: Root, path: str, digest: str | None, *, trash: str) -> Move:
    expect = _regular(path, digest)
    data, _ = root.disk.read(root.paths.locate(path), limit=history.LARGEST)
    inner = path.removeprefix(f"{layout.MEMORY}/").removeprefix(".trash/")
    return Move(path, f"{trash}/{inner}", data, expect)


def _regular(path: str, digest: str | None) -> Checksum:
    try:
        return Checksum.parse(digest or "")
    except KeepMError as error:
        raise WrongState(
            f"{path} is no regular file", hint="Move it away by hand.", details={"path": path}
        ) from error


def _paths(change: Change) -> tuple[str, ...]:
    return (change.path, change.to) if isinstance(change, Move) else (change.path,)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
