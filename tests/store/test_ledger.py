"""One hash chain per writer, never cut, and every damage found."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm.store import ledger
from keepm.store.event import FIRST, Digests, EventDraft, Head, LedgerEvent
from keepm.store.transaction import Root
from tests.store import support
from tests.store.support import AT

TEXTS = st.text(alphabet=st.characters(), max_size=12)


def chained(head: Head, number: int, channel: str | None = "relayed", at: str = AT) -> LedgerEvent:
    changes = (Digests(None, f"{number:064d}"),)
    draft = support.draft("create", channel)
    return LedgerEvent.following(head, draft, transaction_id=f"t{number}", at=at, changes=changes)


def filled(root: Root, count: int) -> list[LedgerEvent]:
    return [ledger.append(root, chained(ledger.head(root), n)).event for n in range(1, count + 1)]


def rewrite(root: Root, data: bytes) -> None:
    place = root.paths.records / "ledger" / f"{root.writer_id}.jsonl"
    if root.disk.state(place) is not None:
        root.disk.unlink(place)
    root.disk.write_at(place, data, 0)


def lines(root: Root) -> list[bytes]:
    place = root.paths.records / "ledger" / f"{root.writer_id}.jsonl"
    return root.disk.read(place, limit=1 << 24)[0].splitlines(keepends=True)


def test_an_empty_ledger_has_a_head(root: Root) -> None:
    assert ledger.head(root) == Head(0, FIRST, 0)
    assert list(ledger.read_all(root)) == []
    assert ledger.verify(root) == []


def test_events_are_chained_and_read_back(root: Root) -> None:
    events = filled(root, 3)

    assert list(ledger.read_all(root)) == events
    assert [event.sequence for event in events] == [1, 2, 3]
    assert [event.previous for event in events] == [FIRST, events[0].hash, events[1].hash]
    assert ledger.head(root) == Head(3, events[2].hash, sum(map(len, lines(root))))
    assert ledger.verify(root) == []


@pytest.mark.parametrize(
    ("last", "told"),
    [
        ("2026-11-29T18:14:59Z", AT),
        ("2030-01-01T00:00:00Z", "2030-01-01T00:00:00Z"),
        ("9999-99-99T99:99:99Z", AT),
        ("zzzz", AT),
    ],
)
def test_the_next_event_is_never_before_the_last_if_that_has_a_time(
    root: Root, last: str, told: str
) -> None:
    assert ledger.next_time(root, AT) == AT
    ledger.append(root, chained(ledger.head(root), 1, at=last))
    assert ledger.next_time(root, AT) == told


def test_the_head_of_a_long_ledger_is_found_behind_a_long_event(root: Root) -> None:
    filled(root, 2)
    changes = tuple(Digests(None, f"{n:064d}") for n in range(2000))
    long = LedgerEvent.following(
        ledger.head(root), support.draft(), transaction_id="long", at=AT, changes=changes
    )
    ledger.append(root, long)

    assert ledger.head(root).hash == long.hash
    assert ledger.verify(root) == []


@given(st.builds(EventDraft, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, client=TEXTS, session=TEXTS))
def test_any_text_a_host_sends_survives_the_line(draft: EventDraft) -> None:
    event = LedgerEvent.following(
        Head(0, FIRST, 0), draft, transaction_id="t", at=AT, changes=(Digests(None, None),)
    )
    line = event.line()

    assert LedgerEvent.parse(line) == event
    assert event.rehashed() == event
    assert line.count(b"\n") == 1


def test_only_news_is_read_from_an_offset_on(root: Root) -> None:
    filled(root, 2)
    _, offsets = ledger.events_since(root, {})
    event = ledger.append(root, chained(ledger.head(root), 3)).event
    news, reached = ledger.events_since(root, offsets)

    assert news == [event]
    assert ledger.events_since(root, reached) == ([], reached)
    assert reached == ledger.sizes(root)
    assert len(ledger.events_since(root, {root.writer_id: 10**9})[0]) == 3


def test_an_anchor_finds_the_end_cut_off_and_the_end_rewritten(root: Root) -> None:
    """Known fault: a chain alone can't tell that it lacks its end."""
    filled(root, 3)
    anchors = ledger.heads(root)
    whole = lines(root)
    assert ledger.verify(root, anchors) == []
    assert ledger.anchored(root, root.writer_id, anchors[root.writer_id])

    rewrite(root, whole[0] + whole[1])
    assert ledger.verify(root) == []
    assert [problem.code for problem in ledger.verify(root, anchors)] == ["cut"]
    assert not ledger.anchored(root, root.writer_id, anchors[root.writer_id])

    filled(root, 1)
    ledger.append(root, chained(ledger.head(root), 9))
    assert [problem.code for problem in ledger.verify(root, anchors)] == ["rewritten"]
    assert not ledger.anchored(root, root.writer_id, anchors[root.writer_id])


def test_a_ledger_that_is_gone_is_cut(root: Root) -> None:
    filled(root, 2)
    anchors = ledger.heads(root)
    root.disk.unlink(root.paths.records / "ledger" / f"{root.writer_id}.jsonl")

    assert [problem.code for problem in ledger.verify(root, anchors)] == ["cut"]


def test_an_anchor_holds_while_the_chain_grows_past_a_long_event(root: Root) -> None:
    filled(root, 1)
    changes = tuple(Digests(None, f"{n:064d}") for n in range(2000))
    ledger.append(
        root,
        LedgerEvent.following(
            ledger.head(root), support.draft(), transaction_id="long", at=AT, changes=changes
        ),
    )
    anchor = ledger.head(root)
    filled(root, 2)

    assert ledger.anchored(root, root.writer_id, anchor)
    assert ledger.verify(root, {root.writer_id: anchor}) == []


@pytest.mark.parametrize("behind", [b"no event\n", b'{"half', b"x\n" * 5000])
def test_an_anchor_holds_also_where_what_is_no_event_ends_the_file(
    root: Root, behind: bytes
) -> None:
    """It was taken for another ledger: told as cut off, and read anew at each look."""
    filled(root, 2)
    rewrite(root, b"".join(lines(root)) + behind)
    anchor = ledger.head(root)

    assert anchor.sequence == 2
    assert ledger.anchored(root, root.writer_id, anchor)


@pytest.mark.parametrize("kept", [1, 30, -2, -1])
def test_a_torn_tail_is_completed(root: Root, kept: int) -> None:
    filled(root, 2)
    event = chained(ledger.head(root), 3)
    whole = b"".join(lines(root))
    rewrite(root, whole + event.line()[:kept])
    assert [p.code for p in ledger.verify(root)] == ["torn_tail"]
    assert ledger.find(root, event) is None

    written = ledger.append(root, event)

    assert written.head == ledger.head(root)
    assert ledger.find(root, event) == (event, True)
    assert b"".join(lines(root)) == whole + event.line()
    assert ledger.verify(root) == []


def test_strange_bytes_at_the_end_are_kept_and_reported(root: Root) -> None:
    filled(root, 1)
    rewrite(root, lines(root)[0] + b"\0\0\0")
    ledger.append(root, chained(ledger.head(root), 2))

    assert lines(root)[1] == b"\0\0\0\n"
    assert [(p.code, p.line) for p in ledger.verify(root)] == [("unreadable", 2)]
    assert ledger.head(root).sequence == 2


def edited(line: bytes, *, rehash: bool) -> bytes:
    record = json.loads(line)
    record["channel"] = "owner-cli"
    event = LedgerEvent.parse(json.dumps(record))
    return (event.rehashed() if rehash else event).line()


def test_every_kind_of_damage_is_found(root: Root) -> None:
    filled(root, 4)
    one, two, three, four = lines(root)
    fork = chained(Head(1, LedgerEvent.parse(one).hash, 0), 9).line()
    for data, codes in [
        (one + edited(two, rehash=False) + three + four, {"edited"}),
        (one + edited(two, rehash=True) + three + four, {"reordered"}),
        (one + two.replace(b":", b": ", 1) + three + four, {"edited"}),
        (one + three + four, {"gap"}),
        (two + three + four, {"gap"}),
        (one + three + two + four, {"gap", "fork", "reordered"}),
        (one + two + two + three + four, {"reordered"}),
        (one + two + fork, {"fork"}),
        (one + b"nonsense\n" + two, {"unreadable"}),
        (one + b'{"format":1,"sequence":"2"}\n' + two, {"unreadable"}),
        (one + two[:-9], {"torn_tail"}),
    ]:
        rewrite(root, data)
        found = {problem.code for problem in ledger.verify(root)}
        assert found, data
        assert found <= codes, data


def test_each_writer_has_its_own_chain(root: Root) -> None:
    filled(root, 2)
    other = Root(root.paths, root.disk, "writer-2")
    filled(other, 1)

    assert ledger.head(root).sequence == 2
    assert ledger.head(other).sequence == 1
    assert ledger.writers(root) == ["writer-1", "writer-2"]
    assert len(list(ledger.read_all(root))) == 3
    assert ledger.verify(root) == []
