"""A note's versions: listed, read, and never another project's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from keepm.errors import AmbiguousIdentifier, InvalidIdentifier, KeepMError, NotFound
from keepm.model.memory import GLOBAL, Memory
from keepm.operations import history, memories, recording, sync
from keepm.operations.history import FIRST_SEEN
from keepm.operations.vault import Vault
from tests.operations.support import AGENT, Machine, claim, edit, proof

HEAD = "---\nid: 6f0c1c9e-0000-4000-8000-000000000001\nname: build-command\ndescription: d\n"
Open = Callable[[Path | None], Vault]


def change(vault: Vault, name: str = "build-command", **fields: object) -> str:
    written = memories.update(vault, AGENT, name, edit(**fields), proof(vault, name))
    return written.document.checksum.hex


def body(vault: Vault, digest: str) -> str:
    old = history.version(vault, "build-command", digest).document.content
    assert isinstance(old, Memory)
    return old.claim.body.strip()


def test_versions_are_listed_newest_first(machine: Machine, vault: Vault) -> None:
    """Fault 6: a text that was updated over could not be had again."""
    first = memories.create(vault, AGENT, claim()).document
    machine.clock.forward(seconds=60)
    second = change(vault, body="Second.\n")
    (machine.root / first.path).write_bytes(first.data + b"\nBy hand.\n")
    machine.clock.forward(seconds=60)
    sync.reconcile(vault)
    recording.record(vault)

    known = history.history(vault, "build-command")

    assert [(each.operation, each.channel, each.client) for each in known.versions] == [
        ("external-edit", "owner-edit", ""),
        ("update", "relayed", "tester"),
        ("create", "relayed", "tester"),
    ]
    assert [each.time for each in known.versions] == [
        "2026-11-29T18:17:00Z",
        "2026-11-29T18:16:00Z",
        "2026-11-29T18:15:00Z",
    ]
    assert known.versions[1].digest == second
    assert body(vault, second) == "Second."
    assert body(vault, first.checksum.hex[:8]) == "The text of build-command."


def test_a_version_that_comes_back_stands_twice(vault: Vault, machine: Machine) -> None:
    first = memories.create(vault, AGENT, claim()).document
    second = change(vault, body="Second.\n")
    (machine.root / first.path).write_bytes(first.data)
    sync.reconcile(vault)
    recording.record(vault)

    versions = history.history(vault, "build-command").versions
    digests = [each.digest for each in versions]
    assert digests == [first.checksum.hex, second, first.checksum.hex]


def test_what_was_there_before_any_event_is_listed_last(machine: Machine, vault: Vault) -> None:
    text = f"{HEAD}---\nOld.\n"
    machine.put("Memory/global/build-command.md", text)
    change(vault, body="New.\n")

    versions = history.history(vault, "build-command").versions
    assert [each.operation for each in versions] == ["update", FIRST_SEEN]
    assert body(vault, versions[1].digest) == "Old."


def test_an_edit_that_is_not_on_record_yet_is_listed(machine: Machine, vault: Vault) -> None:
    first = memories.create(vault, AGENT, claim()).document
    (machine.root / first.path).write_bytes(first.data + b"\nBy hand.\n")
    sync.reconcile(vault)

    versions = history.history(vault, "build-command").versions
    assert [each.operation for each in versions] == [FIRST_SEEN, "create"]


def test_the_present_version_is_marked(vault: Vault) -> None:
    first = memories.create(vault, AGENT, claim()).document

    assert history.version(vault, "build-command", first.checksum.hex).current


@pytest.mark.parametrize(
    ("digest", "refusal"),
    [
        ("0123456", InvalidIdentifier),
        ("not-a-digest", InvalidIdentifier),
        ("../../../etc", InvalidIdentifier),
        ("0" * 64, NotFound),
    ],
)
def test_what_is_no_version_of_it_is_refused(
    digest: str, refusal: type[KeepMError], vault: Vault
) -> None:
    memories.create(vault, AGENT, claim())
    memories.create(vault, AGENT, claim("other"))

    with pytest.raises(refusal):
        history.version(vault, "build-command", digest)


def test_another_note_s_version_is_not_read(vault: Vault) -> None:
    memories.create(vault, AGENT, claim())
    other = memories.create(vault, AGENT, claim("other")).document

    with pytest.raises(NotFound):
        history.version(vault, "build-command", other.checksum.hex)


def test_versions_from_another_project_are_not_seen(machine: Machine, opened: Open) -> None:
    """A note that moved to global keeps to itself what it said in its project."""
    widgets = opened(machine.folder / "work/widgets")
    secret = memories.create(widgets, AGENT, claim(body="Canary of widgets.\n")).document
    change(widgets, body="For everyone.\n", scope=GLOBAL)
    gadgets = opened(machine.project("gadgets"))

    seen = history.history(gadgets, "build-command").versions
    assert [each.operation for each in seen] == ["update"]
    with pytest.raises(NotFound):
        history.version(gadgets, "build-command", secret.checksum.hex)
    assert len(history.history(widgets, "build-command").versions) == 2


def test_a_moved_note_of_before_the_ledger_keeps_its_project_s_text(
    machine: Machine, opened: Open
) -> None:
    widgets = opened(machine.folder / "work/widgets")
    old = f"{HEAD}scope: project\nproject_id: widgets\n---\nCanary of widgets.\n"
    machine.put("Memory/projects/widgets/build-command.md", old)
    change(widgets, body="For everyone.\n", scope=GLOBAL)
    gadgets = opened(machine.project("gadgets"))

    assert len(history.history(widgets, "build-command").versions) == 2
    assert len(history.history(gadgets, "build-command").versions) == 1


def test_a_diff_says_what_each_version_changed(vault: Vault) -> None:
    memories.create(vault, AGENT, claim())
    change(vault, body="Second.\n")

    (_, newer), (_, older) = history.diffs(vault, history.history(vault, "build-command"))
    assert "+Second." in newer
    assert "-The text of build-command." in newer
    assert "+The text of build-command." in older


def test_a_version_that_is_gone_is_said_to_be_so(machine: Machine, vault: Vault) -> None:
    first = memories.create(vault, AGENT, claim()).document
    change(vault, body="Second.\n")
    digest = first.checksum.hex
    (machine.root / f"Memory/.keepm/objects/{digest[:2]}/{digest}").unlink()

    with pytest.raises(NotFound):
        history.version(vault, "build-command", digest)
    (_, newest), _ = history.diffs(vault, history.history(vault, "build-command"))
    assert newest == "(no longer kept)"


def test_a_beginning_that_fits_several_versions_is_ambiguous() -> None:
    twins = [history.Version(f"abcdef01{end * 56}", "update") for end in "12"]

    assert history.choose(twins, "abcdef011") == twins[0]
    with pytest.raises(AmbiguousIdentifier):
        history.choose(twins, "abcdef01")
