"""What git says about a folder, read without trusting the repository.

Finding the work tree takes a few looks at files and starts no program. Only `primary_remote` and
`first_commits` run git: with a time limit, none of the user's or the repository's hooks, no
network and no lazy fetching. Everything works without git installed, just knows less.
"""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from keepm import config
from keepm.store import marks

_GIT_SECONDS = 3.0
_SMALL_FILE = 64 * 1024
_SCP = re.compile(r"(?:[^@/:]+@)?(\[[^\]]+\]|[^/:\[\]]+):(?!//)(.*)")
_DEFAULT_PORTS = {"ssh": 22, "https": 443, "http": 80, "git": 9418}
_PACK_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_PACK_NAMES = 8 + 256 * 4  # magic, version and the fan-out table come before the sorted names


@dataclass(frozen=True, slots=True)
class Repository:
    """The work tree that a folder belongs to, or the folder itself where there is no git."""

    top: Path
    home: Path  # what all its work trees share: the main work tree, or a bare repository
    git_dir: Path | None  # the shared git directory; none when it can't be trusted to be ours
    under_git: bool


def locate(folder: Path) -> Repository | None:
    """Return the repository of a folder, or nothing when the folder is not there."""
    try:
        here = Path(os.path.realpath(folder))
        if not os.path.isdir(here):
            return None
    except ValueError:  # a NUL in the path
        return None
    for candidate in (here, *here.parents):
        mark = candidate / ".git"
        try:
            kind = marks.kind(os.lstat(mark))
        except OSError:
            continue
        if kind == stat.S_IFREG:
            return _linked(candidate, mark)
        if kind in (stat.S_IFLNK, 0):
            # An archive can hold a link to anybody's .git: it makes a top, but proves nothing.
            return Repository(candidate, candidate, None, under_git=True)
        if _is_git_dir(mark):
            return Repository(candidate, candidate, mark, under_git=True)
    return Repository(here, here, None, under_git=False)


def _linked(top: Path, mark: Path) -> Repository:
    """Follow a `.git` file, and believe it only where the other end points back.

    An unpacked archive can hold a `.git` file that names anybody's repository. Only git itself
    writes into that repository, so a work tree counts when it is listed there.
    """
    unproven = Repository(top, top, None, under_git=True)
    text = read_small(mark) or ""
    if not text.startswith("gitdir:"):
        return unproven
    git_dir = Path(os.path.realpath(top / text.removeprefix("gitdir:").strip()))
    shared = read_small(git_dir / "commondir")
    if shared is None:
        inside = any(git_dir.is_relative_to(up / ".git" / "modules") for up in top.parents)
        return Repository(top, top, git_dir, under_git=True) if inside else unproven
    common = Path(os.path.realpath(git_dir / shared.strip()))
    back = read_small(git_dir / "gitdir")
    if (
        back is None
        or os.path.realpath(git_dir / back.strip()) != str(mark)
        or git_dir.parent != common / "worktrees"
        or not _is_git_dir(common)
    ):
        return unproven
    home = common.parent if common.name == ".git" else common
    return Repository(top, home, common, under_git=True)


def _is_git_dir(path: Path) -> bool:
    return (
        os.path.lexists(path / "HEAD")
        and os.path.isdir(path / "objects")
        and os.path.isdir(path / "refs")
    )


def read_small(path: Path) -> str | None:
    """Return a small regular file's text; nothing for a link, a FIFO, or what can't be read."""
    try:
        seen = os.lstat(path)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > _SMALL_FILE:
            return None
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError):
        return None


# ---- remotes ---------------------------------------------------------------------------------


def primary_remote(repository: Repository) -> str | None:
    """Return the normalised address of `origin`, or of the only remote there is."""
    output = _git(
        repository,
        "config",
        "-z",
        "--no-includes",
        "--get-regexp",
        r"^remote\..*\.url$",
        local=True,
    )
    found: dict[str, str] = {}
    for entry in (output or "").split("\0"):
        key, _, address = entry.partition("\n")
        found.setdefault(key.removeprefix("remote.").removesuffix(".url"), address)
    found.pop("", None)
    if "origin" in found:
        return normalise(found["origin"], top=repository.home)
    return normalise(*found.values(), top=repository.home) if len(found) == 1 else None


def normalise(address: str, *, top: Path) -> str | None:
    """Return a remote's address without protocol, credentials and `.git`: `host/owner/name`.

    The same repository over https and ssh is one address. A local path is made absolute and
    starts with `file:`. Nothing comes back for what is no address.
    """
    import urllib.parse

    text = address.strip()
    if "://" in text:
        try:
            parts = urllib.parse.urlsplit(text)
            host, port = (parts.hostname or "").lower(), parts.port
        except ValueError:
            return None
        path = urllib.parse.unquote(parts.path)
        if parts.scheme == "file":
            return _local(path, top)
        if port and port != _DEFAULT_PORTS.get(parts.scheme.split("+")[-1]):
            host = f"{host}:{port}"
    elif re.match(r"\w+::", text):
        return None  # a remote helper's own notation
    elif (match := _SCP.fullmatch(text)) and not re.match(r"[A-Za-z]:[\\/]", text):
        host, path = match.group(1).lower(), match.group(2)
    else:
        return _local(text, top)
    path = _bare(path).strip("/")
    return f"{host}/{path}" if host and path else None


def _local(path: str, top: Path) -> str | None:
    bare = _bare(path)
    return f"file:{os.path.normpath(top / bare)}" if bare else None


def _bare(path: str) -> str:
    return path.rstrip("/").removesuffix("/.git").removesuffix(".git").rstrip("/")


# ---- first commits -----------------------------------------------------------------------------


def first_commits(repository: Repository) -> tuple[str, ...]:
    """Return the commits without parents that HEAD descends from, sorted.

    Nothing for a shallow clone (its first commit is only where it was cut), without commits, or
    when git takes too long.
    """
    if repository.git_dir is None or is_shallow(repository):
        return ()
    output = _git(repository, "rev-list", "--max-parents=0", "HEAD", "--")
    return tuple(sorted((output or "").split()))[:16]


def is_shallow(repository: Repository) -> bool:
    """Tell whether this clone lacks the beginning of its history."""
    return repository.git_dir is not None and os.path.lexists(repository.git_dir / "shallow")


def holds_any(repository: Repository, commits: tuple[str, ...]) -> bool:
    """Tell whether the repository's own objects include one of these commits; starts no program."""
    if repository.git_dir is None:
        return False
    names = [commit for commit in commits if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", commit)]
    try:
        return any(
            _in_store(store, name)
            for store in _object_stores(repository.git_dir / "objects")
            for name in names
        )
    except OSError:
        return False


def _object_stores(objects: Path) -> Iterator[Path]:
    """Yield the object folder and those it borrows from (`git clone --shared`)."""
    waiting, seen = [objects], set[Path]()
    while waiting and len(seen) < 8:
        store = waiting.pop()
        if store in seen:
            continue
        seen.add(store)
        yield store
        for line in (read_small(store / "info" / "alternates") or "").splitlines():
            if line and not line.startswith("#"):
                waiting.append(Path(os.path.normpath(store / line)))


def _in_store(store: Path, name: str) -> bool:
    if os.path.lexists(store / name[:2] / name[2:]):
        return True
    packs = store / "pack"
    if not os.path.isdir(packs):
        return False
    return any(_in_pack(path, bytes.fromhex(name)) for path in packs.glob("pack-*.idx"))


def _in_pack(index: Path, name: bytes) -> bool:
    """Look a name up in the sorted table of a pack's index (version 2)."""
    with index.open("rb") as file:
        head = file.read(_PACK_NAMES)
        if len(head) < _PACK_NAMES or not head.startswith(_PACK_MAGIC):
            return False
        counts = [int.from_bytes(head[8 + 4 * i : 12 + 4 * i]) for i in range(256)]
        first = counts[name[0] - 1] if name[0] else 0
        number = counts[name[0]] - first
        if number <= 0:
            return False
        file.seek(_PACK_NAMES + first * len(name))
        table = file.read(number * len(name))
    place = bisect_left(range(number), name, key=lambda i: _nth(table, i, len(name)))
    return place < number and _nth(table, place, len(name)) == name


def _nth(table: bytes, position: int, size: int) -> bytes:
    return table[position * size : (position + 1) * size]


# ---- running git -------------------------------------------------------------------------------


def _git(repository: Repository, command: str, *arguments: str, local: bool = False) -> str | None:
    """Run one reading command of git; nothing when there is no git, it fails or takes too long.

    `local` reads the repository's own config file and nothing else.
    """
    # Only here, and so not in a server's or hook's start in a folder that is set up.
    import shutil
    import subprocess

    git_dir = repository.git_dir
    program = shutil.which("git")
    # A PATH with the current folder in it must not make a repository's file our git.
    if git_dir is None or program is None or _inside(Path(program), repository.top):
        return None
    where = ("--file", str(git_dir / "config")) if local else ()
    line = [program, f"--git-dir={git_dir}", "-c", "core.fsmonitor=false", command, *where]
    try:
        done = subprocess.run(  # noqa: S603 - an absolute program, no shell
            [*line, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=git_dir,
            env=_environment(),
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def _inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(folder)


def _environment() -> dict[str, str]:
    """Return an environment in which git reads no other settings and opens no connection."""
    given = config.environment()
    kept = {name: given[name] for name in ("PATH", "SYSTEMROOT", "TEMP") if name in given}
    return kept | {
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }
