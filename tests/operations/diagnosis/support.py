"""Notes as people write them by hand, and what doctor says of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from keepm.model.diagnosis import Finding
from keepm.model.memory import Visibility
from keepm.operations import diagnosis, sync
from keepm.operations.vault import Vault
from tests.operations.support import OWNER

ID = "6f0c0a4e-51a5-4a7e-9a57-3d1f5a3c{:04}"


def note(number: int = 1, body: str = "Text.", /, **keys: str) -> str:
    """Write a note of the project `widgets` with everything in its place, or with other keys.

    An empty value leaves the key out.
    """
    fields = {
        "id": ID.format(number),
        "name": f"note-{number}",
        "description": "What it says",
        "scope": "project",
        "project_id": "widgets",
        "kind": "reference",
        "status": "active",
        "created": "'2026-11-01T00:00:00Z'",
        "updated": "'2026-11-01T00:00:00Z'",
        **keys,
    }
    head = "".join(f"{key}: {value}\n" for key, value in fields.items() if value)
    return f"---\n{head}---\n\n{body}\n"


def look(vault: Vault) -> tuple[Finding, ...]:
    """Let doctor look at everything there is now."""
    sync.reconcile(vault)
    return diagnosis.examine(vault, OWNER).findings


def found(vault: Vault) -> list[str]:
    """Return what doctor finds, as `code path:line`."""
    return [told(each) for each in look(vault)]


def told(each: Finding) -> str:
    place = (each.path or "-").removeprefix("Memory/").removeprefix("projects/widgets/")
    return f"{each.rule.code} {place}" + (f":{each.line}" if each.line else "")


def owners_view(vault: Vault) -> Vault:
    """Return the vault as `--all` opens it."""
    return replace(vault, visibility=Visibility(None, everything=True))


def case(folder: str, name: str) -> bytes:
    """Return an input of one of the cases."""
    return (Path(__file__).parents[2] / "cases" / folder / name).read_bytes()
