from __future__ import annotations

import pytest

from keepm.model.parameters import Parameter, parse

HEAD = "Text.\n\n## Reproducible parameters\n\n"


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("- port 9721", "port", "9721"),
        ("- port: 9721", "port", "9721"),
        ("* Port = `9721`.", "port", "9721"),
        ("1. **Port**: 9721 (dev)", "port", "9721"),
        ("- `node version`: 20.11", "node-version", "20.11"),
        ("- node_version 20.11", "node-version", "20.11"),
        ("- [x] tls: On", "tls", "on"),
        ("- 端口：9721（开发）", "端口", "9721"),
        ("- url: http://x:80/y", "url", "http://x:80/y"),
        ("  - nested: yes", "nested", "yes"),
    ],
)
def test_an_item_states_a_value(line: str, key: str, value: str) -> None:
    assert parse(HEAD + line) == (Parameter(key, value),)


@pytest.mark.parametrize(
    "text",
    [
        "port: 9721",
        "- pnpm, because of the workspace",
        "- port:",
        "- port: 1\n- port: 2",
        "- 1: 2",
        "- rule: a sentence that says at length what has to be done",
        "```\n- port: 9721\n```",
        "<!--\n- port: 9721\n-->",
        "## Other\n\n- port: 9721",
        "# Other\n\n- port: 9721",
    ],
)
def test_what_states_none_is_left_out(text: str) -> None:
    assert parse(HEAD + text) == ()
    assert parse(HEAD + "- control: 1\n" + text)[0] == Parameter("control", "1")


def test_only_the_section_counts_whatever_its_case() -> None:
    body = (
        "- a: 1\n\n## reproducible parameters:\n\n- b: 2\n\n### part\n\n- c: 3\n\n## Next\n- d: 4"
    )
    assert [each.key for each in parse(body)] == ["b", "c"]
    assert parse("- a: 1") == ()
