from __future__ import annotations

import pytest

from keepm.errors import InvalidInput
from keepm.model.checksum import Checksum


def test_a_checksum_is_of_the_exact_bytes() -> None:
    assert Checksum.of(b"a\n") != Checksum.of(b"a\r\n")
    assert str(Checksum.of(b"")).startswith("e3b0c442")


def test_a_checksum_reads_back_in_any_case() -> None:
    checksum = Checksum.of(b"x")
    assert Checksum.parse(f" {checksum.hex.upper()} ") == checksum


@pytest.mark.parametrize("text", ["", "abc", "g" * 64, "a" * 65])
def test_what_is_no_checksum_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Checksum.parse(text)
    assert caught.value.problems[0].field == "expected_checksum"
