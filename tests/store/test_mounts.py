"""Looking at what a folder lies on."""

from __future__ import annotations

from pathlib import Path

from keepm.store import mounts

LOCAL = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"


def test_a_marker_above_the_folder_counts(tmp_path: Path) -> None:
    vault = tmp_path / "shared/notes/vault"
    assert mounts.look(vault, mountinfo=LOCAL).label == "ext4"  # not there yet
    vault.mkdir(parents=True)
    (tmp_path / "shared/.stfolder").mkdir()
    assert mounts.look(vault, mountinfo=LOCAL).synced_by == "Syncthing"


def test_a_root_behind_a_symlink_is_looked_at_where_it_really_is(tmp_path: Path) -> None:
    (tmp_path / "Dropbox/vault").mkdir(parents=True)
    (tmp_path / "vault").symlink_to("Dropbox/vault")
    assert mounts.look(tmp_path / "vault", mountinfo=LOCAL).synced_by == "Dropbox"


def test_a_circle_of_links_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert mounts.look(tmp_path / "loop", mountinfo=LOCAL).type == "ext4"


def test_this_machine_has_some_type() -> None:
    assert mounts.look(Path(__file__)).type
