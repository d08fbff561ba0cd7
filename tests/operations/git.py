"""Real repositories for tests, made with the installed git and without its user's settings."""

from __future__ import annotations

import os
import secrets
import subprocess
from pathlib import Path


def run(folder: Path, *arguments: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return done.stdout.decode().strip()


def repository(folder: Path, *, remote: str | None = None, commits: int = 1) -> Path:
    """Make a repository whose first commit nobody else has."""
    folder.mkdir(parents=True)
    run(folder, "init", "-q", "-b", "main")
    for number in range(commits):
        (folder / "README.md").write_text(f"{secrets.token_hex()}\n", "utf-8")
        run(folder, "add", "-A")
        run(folder, "commit", "-q", "-m", f"Change {number}")
    if remote is not None:
        run(folder, "remote", "add", "origin", remote)
    return folder


def clone(source: Path, target: Path, *options: str, remote: str | None = None) -> Path:
    """Clone a repository; the clone's address is `remote`, as if it came from there."""
    run(source.parent, "clone", "-q", *options, f"file://{source}", str(target))
    if remote is not None:
        run(target, "remote", "set-url", "origin", remote)
    return target
