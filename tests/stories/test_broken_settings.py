"""A server that can't work says why on every tool; one that dies tells its host nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.operations.support import Machine
from tests.stories.server import serving

BROKEN = {
    "toml": "deep_reconcile_seconds = = 3",
    "value": '[approval]\nminimum = "anyone"',
    "kind": '[approval.kinds]\nconstrain = "host"',
    "bytes": "root = '\udcff'",
}


@pytest.mark.parametrize("sort", BROKEN)
def test_a_broken_settings_file_is_told_by_every_tool_until_it_is_mended(
    tmp_path: Path, sort: str
) -> None:
    """Fault 47: the bare message of the parser, and no way on."""
    machine = Machine(tmp_path)
    project = machine.project("widgets")
    sound = (tmp_path / "config.toml").read_bytes()
    broken = BROKEN[sort].encode("utf-8", "surrogateescape")
    (tmp_path / "config.toml").write_bytes(broken)
    with serving(machine, project) as server:
        assert server.initialize()["serverInfo"]["name"] == "keepm"
        assert len(server.ask("tools/list", {})["tools"]) > 20
        for tool, arguments in (
            ("status", {}),
            ("search", {"query": "x"}),
            ("read", {"identifier": "x"}),
            ("sync", {}),
        ):
            answer = server.call(tool, **arguments)
            assert answer.code == "configuration_error"
            assert answer["error"]["hint"]
        (tmp_path / "config.toml").write_bytes(sound)
        assert server.done("status")["project"] == "widgets"
        assert server.close() == 0
    assert b"configuration_error" in b"".join(server.errors)
    assert b"Traceback" not in b"".join(server.errors)
