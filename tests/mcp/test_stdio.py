"""What comes in from a client is mended so that the SDK can answer it."""

from __future__ import annotations

import io
import json
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm.mcp.stdio import Incoming, mended


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (rb'"a\ud83d b"', "a\ufffd b"),
        (rb'"\udc00\ud800"', "\ufffd\ufffd"),
        (rb'"\uD83D\uDE80"', "🚀"),
        (rb'"\ud83d\ud83d\ude80"', "\ufffd🚀"),
        (rb'"\\ud83d"', "\\ud83d"),
        (rb'"\\\ud83d"', "\\\ufffd"),
        (rb'"\n\"\u00e9"', '\n"é'),
    ],
)
def test_only_lone_surrogates_are_replaced(sent: bytes, read: str) -> None:
    assert json.loads(mended(sent)) == read


@given(st.text(st.characters(exclude_categories=[])))
def test_every_string_can_be_read_and_sound_ones_are_kept(text: str) -> None:
    line = json.dumps(text).encode()
    read = json.loads(mended(line))
    read.encode("utf-8")
    sound = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert len(read) == len(sound)
    if "\ufffd" not in sound:
        assert mended(line) == line


@given(st.lists(st.binary(max_size=20000).map(lambda data: data.replace(b"\\", b"/"))))
def test_the_input_is_passed_on_whole(parts: list[bytes]) -> None:
    data = b"\n".join(parts)
    assert io.TextIOWrapper(opened(data), "latin-1", newline="").read().encode("latin-1") == data
    lines = io.TextIOWrapper(opened(data), "latin-1", newline="\n")
    assert "".join(lines).encode("latin-1") == data


def opened(data: bytes) -> BinaryIO:
    return cast(BinaryIO, Incoming(io.BytesIO(data)))
