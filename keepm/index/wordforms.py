"""English words whose other forms no rule of the stemmer reaches, and spellings of both sides of
the Atlantic: `woken` and `wakes`, `indices` and `index`, `colours` and `color`. Pure.

Forms that are as often another word (`left`, `saw`, `found` a company, `bound`) stay as they are.
"""

from __future__ import annotations

import re

_VERBS = """
    begin began begun; bend bent; break broke broken; bring brought; build built; buy bought;
    catch caught; choose chose chosen; cling clung; come came; deal dealt; draw drew drawn;
    drive drove driven; fall fell fallen; feed fed; fight fought; fly flew flown;
    forbid forbade forbidden; forget forgot forgotten; freeze froze frozen; give gave given;
    grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; know knew known;
    lend lent; lose lost; meet met; overwrite overwrote overwritten; override overrode overridden;
    pay paid; prove proven; rebuild rebuilt; rewrite rewrote rewritten; run ran; say said;
    seek sought; sell sold; send sent; shake shook shaken; show shown; shrink shrank shrunk;
    sink sank sunk; sleep slept; speak spoke spoken; spend spent; steal stole stolen; stick stuck;
    take took taken; teach taught; tear tore torn; tell told; think thought; throw threw thrown;
    understand understood; undo undid undone; wake woke woken; win won; withdraw withdrew withdrawn;
    write wrote written
"""
_NOUNS = """
    child children; criterion criteria; hypothesis hypotheses; index indices; matrix matrices;
    person people; schema schemata; vertex vertices
"""
_SPELLINGS = """
    analog analogue; artifact artefact; catalog catalogue; center centre; defense defence;
    dialog dialogue; fiber fibre; gray grey; license licence; liter litre; meter metre;
    offense offence; program programme; theater theatre; analyze analyse analysis analyses;
    paralyze paralyse
"""


def _table(text: str) -> dict[str, str]:
    """Return the base form, each group's first, of every other one."""
    groups = [group.split() for group in text.split(";")]
    return {form: base for base, *forms in groups for form in forms}


def _inflected(table: dict[str, str]) -> dict[str, str]:
    """Return the regular forms of spellings as well: with -s, of those that end in e -d, -ing."""
    found = {f"{form}s": base for form, base in table.items()}
    for form, base in table.items():
        if form.endswith("e"):
            found |= {f"{form}d": base, f"{form[:-1]}ing": base}
    return found


_IRREGULAR = {
    **_inflected(_table(_SPELLINGS)),
    **_table(_VERBS),
    **_table(_NOUNS),
    **_table(_SPELLINGS),
}
_ISE = re.compile(r"(?<=[a-z]{3}i)s(?=(?:e[ds]?|er|ers|ing|able|ation|ations)$)")
_OUR = re.compile(r"(?<=[a-z]{3}o)u(?=r(?:s|ed|ing|al|able|ite|ites|ful|less)?$)")


def irregular_forms() -> tuple[str, ...]:
    """Return the words that may begin otherwise than their base form."""
    return tuple(_IRREGULAR)


def base_form(word: str) -> str:
    """Return the form of a lower-case ASCII word that its other forms and spellings share."""
    found = _IRREGULAR.get(word)
    if found is not None:
        return found
    if "our" in word:
        return _OUR.sub("", word)
    return _ISE.sub("z", word) if "is" in word else word
