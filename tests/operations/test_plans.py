"""Plans that are confirmed in a second call."""

from __future__ import annotations

import pytest

from keepm.errors import ConfirmationRequired
from keepm.operations import plans
from keepm.operations.vault import Vault
from tests.operations.support import Machine


def test_a_plan_is_read_until_it_is_spent(vault: Vault) -> None:
    token = plans.keep(vault, "gc", {"days": "30"}, digest="d")

    for _ in range(2):
        kept = plans.read(vault, "gc", token)
        assert (dict(kept.request), kept.digest) == ({"days": "30"}, "d")
    plans.spend(vault, token)
    with pytest.raises(ConfirmationRequired):
        plans.read(vault, "gc", token)


def test_a_token_never_looks_like_a_flag(vault: Vault) -> None:
    assert not any("-" in plans.keep(vault, "gc", {}, digest="d") for _ in range(50))


def test_a_plan_lives_ten_minutes(vault: Vault, machine: Machine) -> None:
    token = plans.keep(vault, "gc", {}, digest="d")
    machine.clock.forward(seconds=599)
    assert plans.read(vault, "gc", token).digest == "d"
    machine.clock.forward(seconds=1)

    with pytest.raises(ConfirmationRequired):
        plans.read(vault, "gc", token)
    plans.keep(vault, "gc", {}, digest="e")
    assert len(list((machine.folder / "data/plans").iterdir())) == 1


def test_a_plan_is_of_one_command(vault: Vault) -> None:
    token = plans.keep(vault, "gc", {}, digest="d")

    with pytest.raises(ConfirmationRequired):
        plans.read(vault, "undo", token)


def test_a_plan_is_of_one_vault(vault: Vault, machine: Machine) -> None:
    token = plans.keep(vault, "gc", {}, digest="d")
    other = Machine(machine.folder / "other")
    other.folder.mkdir()
    (other.folder / "data").symlink_to(machine.folder / "data")
    opened = other.open()

    with pytest.raises(ConfirmationRequired):
        plans.read(opened, "gc", token)
    opened.close()


def test_a_damaged_plan_confirms_nothing(vault: Vault, machine: Machine) -> None:
    token = plans.keep(vault, "gc", {}, digest="d")
    for path in (machine.folder / "data/plans").iterdir():
        path.write_bytes(b'{"format":')

    with pytest.raises(ConfirmationRequired):
        plans.read(vault, "gc", token)
