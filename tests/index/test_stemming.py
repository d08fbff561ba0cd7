from __future__ import annotations

import pytest

from keepm.index.stemming import stem


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        # Porter's own examples, one or more for each step.
        *[("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("caress", "caress")],
        *[("feed", "feed"), ("agreed", "agre"), ("plastered", "plaster"), ("bled", "bled")],
        *[("motoring", "motor"), ("sing", "sing"), ("conflated", "conflat")],
        *[("troubled", "troubl"), ("sized", "size"), ("hopping", "hop"), ("falling", "fall")],
        *[("hissing", "hiss"), ("filing", "file"), ("happy", "happi"), ("sky", "sky")],
        *[("relational", "relat"), ("conditional", "condit"), ("digitizer", "digit")],
        *[("operator", "oper"), ("feudalism", "feudal"), ("decisiveness", "decis")],
        *[("triplicate", "triplic"), ("formative", "form"), ("electrical", "electr")],
        *[("revival", "reviv"), ("allowance", "allow"), ("adoption", "adopt")],
        *[("replacement", "replac"), ("probate", "probat"), ("rate", "rate")],
        *[("cease", "ceas"), ("controlling", "control"), ("roll", "roll"), ("is", "is")],
    ],
)
def test_words_have_the_stems_of_the_published_algorithm(word: str, expected: str) -> None:
    assert stem(word) == expected
