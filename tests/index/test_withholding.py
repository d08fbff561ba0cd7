"""What is withheld follows from events, rulings and files, whatever order they come in."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepm.config.sameness import load_sameness
from keepm.index import catalog, glance, graph, likeness, rulings, search, withheld, withholding
from keepm.index.database import Database
from keepm.index.handmade import HandEdit
from keepm.index.rulings import RulingRow
from keepm.index.versions import VersionRow
from keepm.index.writing import Batch, Entry, apply, rebuild
from keepm.model import similarity
from keepm.model.memory import GLOBAL, Claim, Kind, Status, Visibility
from keepm.model.quarantine import RULING, UNREVIEWED, Rule
from keepm.model.scope import Scope
from tests import strategies  # noqa: F401 (its profile: no deadlines)
from tests.index.building import GADGETS, WIDGETS, handoff, note, proposal
from tests.index.conftest import Fill
from tests.index.test_writing import contents

ALL = Visibility(everything=True)
RULES = load_sameness()
BAD = Rule(client="bad")


def step(
    number: int,
    old: str | None,
    new: str | None,
    *,
    client: str = "good",
    session: str = "s",
    channel: str | None = "relayed",
    operation: str = "update",
    object_id: str = "id",
    position: int = 0,
    scope: str = "",
) -> VersionRow:
    """Make the change of the event that came as the n-th."""
    return VersionRow(
        transaction_id=f"t{number}",
        position=position,
        sequence=number,
        time=f"2026-11-29T18:{number:02d}:00Z",
        operation=operation,
        surface="mcp",
        channel=channel,
        client=client,
        session=session,
        object_id=object_id,
        scope=scope,
        old=old,
        new=new,
    )


def ruled(number: int, ruling: str, subject: str, *, scope: str = "") -> RulingRow:
    at = f"2026-11-29T18:{number:02d}:00Z"
    return RulingRow(f"t{number}", number, at, ruling, scope, "x", subject, "owner-cli")


def quarantine(number: int, rule: Rule = BAD) -> RulingRow:
    return ruled(number, RULING, rule.as_subject())


def by(db: Database) -> dict[str, str]:
    """Return what is withheld, by path, and why."""
    return {each.path: each.by for each in withheld.listed(db, ALL)}


def of_bad(db: Database, *steps: VersionRow, rule: Rule = BAD, at: int = 30) -> set[str]:
    """Return the digests that a rule takes of these steps."""
    apply(db, Batch(versions=steps, rulings=(quarantine(at, rule),)))
    with db.reading() as connection:
        return {row[0] for row in connection.execute("SELECT digest FROM quarantined")}


# ---- what an origin's writing is -----------------------------------------------------------------


def test_what_others_made_of_it_is_of_that_origin_too(db: Database) -> None:
    steps = (step(1, None, "a", client="bad"), step(2, "a", "b"), step(3, "b", "c"))
    assert of_bad(db, *steps) == {"a", "b", "c"}


def test_what_it_was_made_of_is_not(db: Database) -> None:
    assert of_bad(db, step(1, None, "a"), step(2, "a", "b", client="bad")) == {"b"}


@pytest.mark.parametrize("channel", ["owner-cli", "owner-web", "owner-edit"])
def test_what_an_owner_approved_is_spared_and_what_follows_from_it(
    db: Database, channel: str
) -> None:
    steps = (
        step(1, None, "a", client="bad"),
        step(2, "a", "b", channel=channel),
        step(3, "b", "c"),
    )
    assert of_bad(db, *steps) == {"a"}


@pytest.mark.parametrize("channel", ["relayed", "host", "import", None])
def test_no_other_channel_spares(db: Database, channel: str | None) -> None:
    steps = (step(1, None, "a", client="bad"), step(2, "a", "b", channel=channel))
    assert of_bad(db, *steps) == {"a", "b"}


@pytest.mark.parametrize("operation", ["reject", "restore", "repair"])
def test_an_owners_act_that_says_nothing_for_the_text_spares_nothing(
    db: Database, operation: str
) -> None:
    steps = (
        step(1, None, "a", client="bad"),
        step(2, "a", "b", channel="owner-cli", operation=operation),
    )
    assert of_bad(db, *steps) == {"a", "b"}


def test_an_undo_makes_nothing_good_and_nothing_bad(db: Database) -> None:
    steps = (
        step(1, None, "fine", channel="owner-cli"),
        step(2, "fine", "poison", client="bad"),
        step(3, "poison", "fine", operation="undo", channel="owner-cli"),
        step(4, "fine", "poison", operation="undo", channel="owner-cli"),
    )
    assert of_bad(db, *steps) == {"poison"}


def test_a_hand_edit_after_the_rule_lets_nothing_out(db: Database) -> None:
    hand = {"channel": "owner-edit", "operation": "external-edit", "client": ""}
    steps = (step(1, None, "a", client="bad"), step(9, "a", "b", **hand))  # type: ignore[arg-type]
    assert of_bad(db, *steps, at=5) == {"a", "b"}


def test_what_is_removed_and_made_again_by_hand_is_still_of_that_origin(db: Database) -> None:
    hand = {"channel": "owner-edit", "operation": "external-edit", "client": ""}
    again = step(9, None, "b", **hand)  # type: ignore[arg-type]
    steps = (
        step(1, None, "a", client="bad"),
        step(8, "a", None, **hand),  # type: ignore[arg-type]
        dataclasses.replace(again, transaction_id="x", object_id="other", new="other"),
    )
    assert of_bad(db, *steps, at=5) == {"a"}
    apply(db, Batch(versions=(again,)))
    with db.reading() as connection:
        taken = {row[0] for row in connection.execute("SELECT digest FROM quarantined")}
    assert taken == {"a", "b"} == of_bad(db, at=6)


def test_what_was_made_by_hand_before_is_not_of_the_origin_that_changed_it(db: Database) -> None:
    hand = {"channel": "owner-edit", "operation": "external-edit", "client": ""}
    steps = (step(1, None, "mine", **hand), step(2, "mine", "bad", client="bad"))  # type: ignore[arg-type]
    named = dataclasses.replace(BAD, include=("id",))
    assert of_bad(db, *steps, rule=named) == {"bad"}


def test_within_a_second_the_order_of_the_ledger_tells_which_hand_edit_came_after(
    db: Database,
) -> None:
    hand = {"channel": "owner-edit", "operation": "external-edit", "client": ""}
    moment = quarantine(5).time
    steps = (
        step(1, None, "a", client="bad"),
        step(2, None, "b", client="bad"),
        dataclasses.replace(step(4, "a", "before", **hand), time=moment),  # type: ignore[arg-type]
        dataclasses.replace(step(6, "b", "after", **hand), time=moment),  # type: ignore[arg-type]
    )
    assert of_bad(db, *steps, at=5) == {"a", "b", "after"}


def test_a_hand_edit_that_waits_for_review_lets_nothing_out(db: Database) -> None:
    hand = {"channel": "owner-edit", "operation": "external-edit", "client": ""}
    apply(db, Batch(rulings=(ruled(2, UNREVIEWED, "memory:b"),)))
    steps = (step(1, None, "a", client="bad"), step(2, "a", "b", **hand))  # type: ignore[arg-type]
    assert of_bad(db, *steps) == {"a", "b"}


def test_a_promotion_hands_the_origin_on_to_the_note(db: Database) -> None:
    """The note comes first among an event's changes, the proposal last."""
    promoted = {"operation": "promote", "object_id": "note"}
    steps = (
        step(1, None, "idea", client="bad", operation="propose"),
        step(2, None, "note", **promoted),  # type: ignore[arg-type]
        step(2, "loser", "superseded", position=1, **promoted),
        step(2, "idea", "filed", position=2, **promoted),
    )
    assert of_bad(db, *steps) == {"idea", "note", "filed"}


def test_a_promotion_by_the_owner_spares_the_note_unless_it_is_named(db: Database) -> None:
    promoted = {"operation": "promote", "object_id": "note-id", "channel": "owner-cli"}
    steps = (
        step(1, None, "idea", client="bad", operation="propose"),
        step(2, None, "note", **promoted),  # type: ignore[arg-type]
        step(2, "idea", "filed", position=1, **promoted),
    )
    assert of_bad(db, *steps) == {"idea"}
    named = dataclasses.replace(BAD, include=("note-id",))
    assert of_bad(db, rule=named, at=31) == {"idea", "note", "filed"}


@pytest.mark.parametrize(
    ("rule", "taken"),
    [
        (Rule(session="one"), {"a"}),
        (Rule(client="bad"), {"a", "b"}),
        (Rule(since="2026-11-29T18:02:00Z", until="2026-11-29T18:03:00Z"), {"b", "c"}),
        (Rule(session="other"), set()),
    ],
)
def test_an_origin_is_a_session_a_client_or_a_span_of_time(
    db: Database, rule: Rule, taken: set[str]
) -> None:
    steps = (
        step(1, None, "a", client="bad", session="one"),
        step(2, None, "b", client="bad", session="two"),
        step(3, None, "c", session="two"),
    )
    assert of_bad(db, *steps, rule=rule) == taken


@pytest.mark.parametrize("subject", ["", "{}", "[1]", '{"client": ""}', '{"new": "x"}', "client"])
def test_a_rule_that_is_none_takes_nothing(db: Database, subject: str) -> None:
    apply(db, Batch(versions=(step(1, None, "a", client=""),)))
    apply(db, Batch(rulings=(ruled(2, RULING, subject),)))
    assert withholding.standing(db) == []


def test_a_rule_comes_back_as_it_was_written() -> None:
    for rule in (BAD, Rule(session="s x", reach="", include=("b", "a"))):
        back = Rule.from_subject(rule.as_subject())
        assert back == dataclasses.replace(rule, include=tuple(sorted(rule.include)))


# ---- settling ------------------------------------------------------------------------------------


def test_a_rule_that_comes_later_withholds_what_is_there_and_lifting_it_lets_it_back(
    filled: Fill,
) -> None:
    entry, other = note("poison", "zzword"), note("fine", "zzword")
    db = filled(entry, other)
    digest = entry.file.checksum
    apply(db, Batch(versions=(step(1, None, digest, client="bad"),), rulings=(quarantine(2),)))
    assert by(db) == {entry.file.path: "quarantine"}
    assert search.search(db, search.Query("zzword", Visibility())).total == 1

    apply(db, Batch(rulings=(ruled(3, rulings.LIFTED, "t2"),)))
    assert by(db) == {}
    assert search.search(db, search.Query("zzword", Visibility())).total == 2


def test_what_it_writes_later_is_withheld_from_its_first_row_on(filled: Fill) -> None:
    db = filled(note("fine"))
    apply(db, Batch(rulings=(quarantine(2),)))
    entry = note("poison")
    apply(db, Batch((entry,), versions=(step(3, None, entry.file.checksum, client="bad"),)))
    assert by(db) == {entry.file.path: "quarantine"}


def test_an_event_that_comes_late_withholds_and_one_that_approves_lets_back(filled: Fill) -> None:
    entry = note("touched")
    db = filled(entry)
    digest = entry.file.checksum
    apply(db, Batch(versions=(step(4, "a", digest),), rulings=(quarantine(9),)))
    assert by(db) == {}
    apply(db, Batch(versions=(step(1, None, "a", client="bad"),)))  # another machine's ledger
    assert by(db) == {entry.file.path: "quarantine"}
    apply(db, Batch(versions=(step(3, None, "a", channel="owner-cli", operation="confirm"),)))
    assert by(db) == {}


def test_a_hand_edit_that_is_not_on_record_counts_as_the_version_before_it(filled: Fill) -> None:
    entry, other = note("poison", id="p"), note("fine", id="f")
    db = filled(entry, other)
    taken = step(1, None, entry.file.checksum, client="bad", object_id="p")
    apply(db, Batch(versions=(taken,), rulings=(quarantine(2),)))
    edited = note("poison", "Longer.", id="p"), note("fine", "Longer.", id="f")
    apply(db, Batch(edited))
    assert by(db) == {entry.file.path: "quarantine"}


@pytest.mark.parametrize(("reach", "taken"), [(None, 3), ("widgets", 2), ("", 1)])
def test_a_rule_reaches_no_further_than_it_says(
    filled: Fill, reach: str | None, taken: int
) -> None:
    entries = (note("a"), note("b", scope=WIDGETS), note("c", scope=GADGETS))
    db = filled(*entries)
    steps = tuple(step(n, None, e.file.checksum, client="bad") for n, e in enumerate(entries))
    apply(db, Batch(versions=steps, rulings=(quarantine(9, Rule(client="bad", reach=reach)),)))
    assert len(by(db)) == taken


def test_a_noted_hand_edit_is_withheld_before_any_ledger_tells_of_it(filled: Fill) -> None:
    db = filled(note("fine"))
    entry = note("made by hand")
    path = entry.file.path
    apply(db, Batch((entry,), edits=(HandEdit(path, None, review=True),)))
    assert by(db) == {path: "review"}
    apply(db, Batch(recorded=(path,)))  # it needed no event
    assert by(db) == {}


def test_what_keepm_wrote_last_waits_for_nobody_though_a_look_noted_it(filled: Fill) -> None:
    entry = note("written")
    path, digest = entry.file.path, entry.file.checksum
    db = filled()
    apply(db, Batch((entry,), edits=(HandEdit(path, None, review=True),)))
    assert by(db) == {path: "review"}
    apply(db, Batch(versions=(step(1, None, digest, operation="create"),), recorded=(path,)))
    apply(db, Batch(edits=(HandEdit(path, None, review=True),)))
    assert by(db) == {}
    apply(db, Batch(versions=(step(2, digest, digest, operation="delete"),)))
    apply(db, Batch((entry,), edits=(HandEdit(path, None, review=True),)))
    assert by(db) == {path: "review"}  # put back by hand out of the trash


@pytest.mark.parametrize("again", [False, True])
def test_another_machines_ledger_ends_the_waiting_unless_it_was_known_before(
    filled: Fill, again: bool
) -> None:
    entry = note("synced")
    digest = entry.file.checksum
    subject = f"memory:{digest}:again" if again else f"memory:{digest}"
    db = filled(entry)
    apply(db, Batch(rulings=(ruled(2, UNREVIEWED, subject),)))
    assert by(db) == {entry.file.path: "review"}
    apply(db, Batch(versions=(step(1, None, digest, operation="create"),)))
    assert bool(by(db)) is again


def test_the_bytes_of_a_proposal_among_the_notes_are_no_note_of_ours(filled: Fill) -> None:
    entry = note("moved by hand")
    digest = entry.file.checksum
    db = filled(entry)
    apply(db, Batch(versions=(step(1, None, digest, operation="propose"),)))
    apply(db, Batch(rulings=(ruled(2, UNREVIEWED, f"memory:{digest}"),)))
    assert by(db) == {entry.file.path: "review"}


def test_an_undo_of_the_edit_is_no_acceptance(filled: Fill) -> None:
    entry = note("edited")
    db = filled(entry)
    subject = f"memory:{entry.file.checksum}"
    apply(db, Batch(rulings=(ruled(2, UNREVIEWED, subject), ruled(3, rulings.UNDONE, "t2"))))
    assert by(db) == {entry.file.path: "review"}
    apply(db, Batch(rulings=(ruled(4, rulings.LIFTED, "t2"),)))
    assert by(db) == {}
    apply(db, Batch(rulings=(ruled(5, rulings.UNDONE, "t4"),)))  # the acceptance is taken back
    assert by(db) == {entry.file.path: "review"}


def test_a_withheld_note_replaces_no_other_and_shadows_none(filled: Fill) -> None:
    old = note("old", id="one", scope=WIDGETS)
    new = note("new", id="two", scope=WIDGETS, supersedes=("one",))
    wide, own = note("shared"), note("shared", scope=WIDGETS)
    db = filled(old, new, wide, own)
    here = Visibility("widgets")
    assert {row.name for row in catalog.catalog(db, here)[0]} == {"new", "shared"}
    taken = tuple(
        step(n, None, each.file.checksum, client="bad") for n, each in enumerate((new, own))
    )
    apply(db, Batch(versions=taken, rulings=(quarantine(9),)))
    rows = catalog.catalog(db, here)[0]
    assert {(row.name, row.scope) for row in rows} == {("old", WIDGETS), ("shared", GLOBAL)}
    assert next(row for row in rows if row.name == "old").status is Status.ACTIVE
    apply(db, Batch(rulings=(ruled(10, rulings.LIFTED, "t9"),)))
    assert {row.name for row in catalog.catalog(db, here)[0]} == {"new", "shared"}


def test_no_query_of_this_room_meets_what_is_withheld(filled: Fill) -> None:
    """Every function that reads documents for an answer; who must know of all, says so."""
    entries = (
        note(
            "canary",
            "See [[other]].",
            id="canary-id",
            aliases=("alias",),
            sources=("src/a.py",),
            pinned=True,
            scope=WIDGETS,
        ),
        note("other", "See [[canary]].", scope=WIDGETS, aliases=("alias",)),
        proposal("canary idea", scope=WIDGETS),
        handoff("canary work"),
    )
    db = filled(*entries)
    here = Visibility("widgets")
    claim = Claim("canary", "", Kind.REFERENCE, "", scope=WIDGETS, aliases=("alias",))

    def met() -> str:
        taken = [catalog.find(db, each, here) for each in ("canary", "alias", "canary-id", "other")]
        keys = similarity.exact_keys(claim, RULES)
        return (
            repr(
                [
                    taken,
                    catalog.catalog(db, here),
                    catalog.catalog(db, here, source_path="src"),
                    catalog.find_proposals(db, "canary idea", here),
                    catalog.proposals(db, here),
                    catalog.find_handoffs(db, "canary work", here),
                    catalog.handoffs(db, here),
                    glance.glance(db, here, pinned=9, handoffs=9),
                    graph.links(db, entries[1].id, here),
                    likeness.holders(db, keys, WIDGETS, with_proposals=True),
                    search.search(db, search.Query("canary alias", here)),
                ]
            )
            .replace("[[canary]]", "")
            .replace("target_text='canary'", "")
        )

    before = met()
    for word in ("canary-id", "canary idea", "canary work", "src/a.py"):
        assert word in before
    taken = tuple(
        step(n, None, e.file.checksum, client="bad")
        for n, e in enumerate(entries)
        if e is not entries[1]
    )
    apply(db, Batch(versions=taken, rulings=(quarantine(9),)))
    for word in ("canary-id", "canary idea", "canary work", "src/a.py"):
        assert word not in met()
    # Whoever gives out slots and paths knows of all.
    assert [row.withheld_by for row in catalog.find_slot(db, "canary", WIDGETS)] == ["quarantine"]
    rival = catalog.pending_in_slot(db, "canary idea", WIDGETS)
    assert rival is not None and rival.withheld_by
    assert withheld.counts(db, here) == {"memory": 1, "proposal": 1, "handoff": 1}
    assert withheld.counts(db, Visibility("gadgets")).total() == 0
    apply(db, Batch(rulings=(ruled(10, rulings.LIFTED, "t9"),)))
    assert met() == before


# ---- incremental = rebuilt -----------------------------------------------------------------------

_ENTRIES: tuple[Entry, ...] = (
    note("alpha", "one two", id="a"),
    note("alpha", "one three", id="a"),
    note("beta", "two", id="b", scope=WIDGETS, supersedes=("c",)),
    note("gamma", "two", id="c", scope=WIDGETS),
    proposal("idea", scope=WIDGETS),
    handoff("work"),
)
_DIGESTS = st.sampled_from([None, "first", *(e.file.checksum for e in _ENTRIES)])
_STEPS = st.builds(
    step,
    st.integers(1, 20),
    _DIGESTS,
    _DIGESTS,
    client=st.sampled_from(["bad", "good"]),
    channel=st.sampled_from([None, "relayed", "owner-cli", "owner-edit"]),
    operation=st.sampled_from(["update", "promote", "undo", "external-edit", "propose"]),
    object_id=st.sampled_from(["a", "b"]),
    position=st.integers(0, 1),
    scope=st.sampled_from(["", "widgets"]),
)
_RULINGS = st.one_of(
    st.builds(
        quarantine,
        st.integers(21, 30),
        st.sampled_from([BAD, Rule(client="bad", reach="", include=("a",)), Rule(session="s")]),
    ),
    st.builds(
        ruled,
        st.integers(1, 20),
        st.just(UNREVIEWED),
        st.builds(
            "{}:{}".format,
            st.sampled_from(["memory", "proposal"]),
            st.sampled_from([e.file.checksum for e in _ENTRIES]),
        ),
        scope=st.sampled_from(["", "widgets"]),
    ),
    st.builds(
        ruled,
        st.integers(31, 40),
        st.sampled_from([rulings.LIFTED, rulings.UNDONE]),
        st.builds("t{}".format, st.integers(1, 40)),
    ),
)
_BATCHES = st.tuples(
    st.lists(st.sampled_from(_ENTRIES), max_size=2),
    st.lists(_STEPS, max_size=2),
    st.lists(_RULINGS, max_size=2),
)


@settings(max_examples=60)
@given(st.lists(_BATCHES, max_size=7))
def test_what_is_withheld_is_the_same_step_by_step_and_built_at_once(
    batches: list[tuple[list[Entry], list[VersionRow], list[RulingRow]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        grown = Database.open(Path(folder, "grown"), vault_id="v")
        built = Database.open(Path(folder, "built"), vault_id="v")
        present: dict[str, Entry] = {}
        steps: dict[tuple[str, int], VersionRow] = {}
        told: dict[tuple[str, str, str], RulingRow] = {}
        for entries, rows, more in batches:
            # A ledger is only added to: what an event said once it says for ever.
            fresh = {(r.transaction_id, r.position): r for r in rows}
            fresh = {key: row for key, row in fresh.items() if key not in steps}
            news = {(r.transaction_id, r.ruling, r.subject): r for r in more}
            news = {key: row for key, row in news.items() if key not in told}
            files = {entry.file.path: entry for entry in entries}
            batch = Batch(tuple(files.values()), versions=(*fresh.values(),))
            apply(grown, dataclasses.replace(batch, rulings=(*news.values(),)))
            present.update(files)
            steps.update(fresh)
            told.update(news)
        whole = Batch(versions=(*steps.values(),), rulings=(*told.values(),), anew=True)
        apply(built, whole)
        rebuild(built, (Batch((entry,)) for entry in present.values()))
        assert contents(grown) == contents(built)
        grown.close()
        built.close()


def test_scopes_are_those_of_the_model() -> None:
    assert Rule(client="x", reach="widgets").covers(Scope("widgets").key)
    assert not Rule(client="x", reach="widgets").covers(Scope("gadgets").key)
    assert Rule(client="x", reach="widgets").covers(GLOBAL.key)
