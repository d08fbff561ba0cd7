"""Inside one process: filling the index, looking again, answering, and durable writes."""

from __future__ import annotations

import hashlib
import itertools
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

from keepm.index.analysis import query_terms
from keepm.model.approval import Channel
from keepm.model.memory import Claim, ClaimEdit, Kind, Scope
from keepm.operations import context, diagnosis, memories, recording, retrieval, sync
from keepm.operations.memories import MemoryEdit
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Caller, Vault, index_path, open_vault
from keepm.tokens import WriteProof
from tests.benchmarks import raw, sizes
from tests.benchmarks.table import Row, milliseconds, ratio
from tests.benchmarks.timing import Durations, in_turn, seconds_of
from tests.benchmarks.vaults import Place
from tests.benchmarks.words import COMMON_EN, COMMON_ZH

_PASSES = 5
_COLD_PASSES = 2
_ROUNDS = 20
_WRITES = 100
_LEAST_A_SECOND = 100
_MANY = 10_000
_SEARCH_MS = {10_000: (5, 15), 100_000: (15, 40)}  # up to so many notes: p50, p95

CALLER = Caller(surface="mcp", channel=Channel.RELAYED, client="benchmark")


def passes(place: Place) -> Iterator[Row]:
    """Measure filling the index, its size, and a pass that finds nothing; it is left warm."""

    def cold() -> None:
        shutil.rmtree(place.home / "data" / "indexes", ignore_errors=True)
        look()

    def look() -> None:
        with closing(open_vault(place.settings())) as vault:
            sync.reconcile(vault)

    # As often as it takes to meet a quiet moment: a short pass is soon disturbed, and soon over.
    times = 1 if place.is_large else max(_COLD_PASSES, min(8, 8000 // place.notes))
    filled, parsed = in_turn(cold, lambda: raw.read_and_parse(place), times=times)
    yield ratio(
        "cold index",
        place.notes,
        ours=filled.best,
        raw=parsed.best,
        raw_name="read, hash, parse",
        most=3,
    )
    with closing(open_vault(place.settings(), everything=True)) as vault:
        looked, parsed = in_turn(
            lambda: diagnosis.examine(vault, CALLER),
            lambda: raw.read_and_parse(place),
            times=times,
        )
    yield ratio(
        "doctor, deep",
        place.notes,
        ours=looked.best,
        raw=parsed.best,
        raw_name="read, hash, parse",
        most=3,
    )
    index, texts = index_path(place.settings()).stat().st_size, raw.size(place)
    yield Row(
        "size of the index, a note",
        place.notes,
        f"{index / place.notes / 1000:.1f} kB",
        f"{texts / place.notes / 1000:.1f} kB Markdown",
        index / texts,
    )
    unchanged, walked = in_turn(look, lambda: raw.walk(place), times=_PASSES)
    yield ratio(
        "nothing changed → ready",
        place.notes,
        ours=unchanged.best,
        raw=walked.best,
        raw_name="walk with stat",
        most=2 if place.notes >= _MANY else None,  # of few notes, opening the index is the most
    )


def answers(place: Place) -> Iterator[Row]:
    """Measure searches, context and catalog as a server answers them."""
    with closing(open_vault(place.settings())) as vault:
        sync.reconcile(vault)
        asked = queries(vault)
        for what, each in asked.items():
            yield _search_row(place, vault, what, each)
        typical = itertools.cycle(asked["typical words"])
        for what, action in (
            ("memory_context with a query", lambda: context.context(vault, query=next(typical))),
            ("memory_context, briefing", lambda: context.context(vault)),
            ("memory_catalog", lambda: retrieval.catalog(vault)),
        ):
            yield _answer_row(place, vault, what, action)
        listed = retrieval.catalog(vault, limit=200, max_chars=1_000_000).items
        names = itertools.cycle([item.id for item in listed])
        yield _one_note_row(
            place, "memory_read", lambda: memories.read(vault, next(names), max_chars=16_000)
        )
        yield _one_note_row(place, "memory_links", lambda: retrieval.links(vault, next(names)))
        yield from sizes.rows(vault, place.notes, asked)


def writes(place: Place) -> Iterator[Row]:
    """Measure durable creations and updates against one bare durable write."""
    folder = place.home / "bare"
    folder.mkdir(exist_ok=True)
    with closing(open_vault(place.settings())) as vault:
        sync.reconcile(vault)
        recording.keep_seen(vault)  # as a server does after its first look
        numbers = itertools.count()
        proofs: list[tuple[str, WriteProof]] = []

        def create() -> None:
            claim = written_claim(unlike("created", next(numbers)), place)
            made = memories.create(vault, CALLER, claim)
            proofs.append(
                (made.document.content.id, WriteProof(made.token, made.document.checksum))
            )

        def update() -> None:
            note_id, proof = proofs.pop()
            edit = MemoryEdit(ClaimEdit(description="What the benchmark changed."))
            memories.update(vault, CALLER, note_id, edit, proof)

        data = b"x" * 700
        others = itertools.count()

        def bare() -> None:
            raw.durable_write(folder, next(others), data)

        created, beside = in_turn(create, bare, times=_WRITES)
        yield from _write_rows(place, "memory_create", ours=created, bare=beside)
        updated, beside = in_turn(update, bare, times=_WRITES)
        yield from _write_rows(place, "memory_update", ours=updated, bare=beside)


def unlike(*parts: object) -> str:
    """Return a slot's name that is like no other's: near-duplicates are refused."""
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()
    letters = digest.translate(str.maketrans("0123456789", "ghijklmnop"))
    return f"{letters[:9]}-{letters[9:18]}-{letters[18:27]}"


def written_claim(name: str, place: Place) -> Claim:
    """Return a small note as an agent creates it."""
    return Claim(
        name=name,
        description=f"What the benchmark knows of {name}.",
        kind=Kind.PREFERENCE,
        body=f"How to apply: use {name} first.\n\n" + "The reason is given here. " * 20,
        scope=Scope(place.projects[0]),
        tags=("benchmark",),
    )


def queries(vault: Vault) -> dict[str, list[str]]:
    """Return queries whose words stand in the vault: rare ones, the commonest, Chinese ones."""
    rows = retrieval.catalog(vault, limit=200, max_chars=1_000_000).items
    names = [row.name.rsplit("-", 1)[0].replace("-", " ") for row in rows]
    typical = [f"{name} {COMMON_EN[n % 20 + 8]}" for n, name in enumerate(names) if name.isascii()]
    chinese = [f"{COMMON_ZH[n % len(COMMON_ZH)]}{name[:4]}" for n, name in enumerate(names)]
    return {
        "typical words": typical[:_ROUNDS],
        "common and stop words": [
            " ".join(COMMON_EN[(n + step) % len(COMMON_EN)] for step in (0, 3, 9, 17))
            for n in range(_ROUNDS)
        ],
        "Chinese": [query for query in chinese if not query.isascii()][:_ROUNDS],
    }


def _search_row(place: Place, vault: Vault, what: str, queries: list[str]) -> Row:
    ours: list[float] = []
    bare: list[float] = []
    with closing(sqlite3.connect(index_path(place.settings()))) as connection:
        for query in (*queries, *queries):
            ours.append(seconds_of(lambda q=query: retrieval.search(vault, Wanted(q))))  # type: ignore[misc]
            bare.append(seconds_of(lambda q=query: _bare_search(connection, q)))  # type: ignore[misc]
    found, raw_found = Durations.of(ours), Durations.of(bare)
    middle, late = found.percentile(0.5), found.percentile(0.95)
    bound = next((ms for notes, ms in _SEARCH_MS.items() if place.notes <= notes), None)
    return Row(
        f"search, {what}: p50 / p95",
        place.notes,
        f"{milliseconds(middle)} / {milliseconds(late)}",
        f"{milliseconds(raw_found.percentile(0.5))} bare FTS5 query, p50",
        middle / raw_found.percentile(0.5),
        "" if bound is None else f"≤ {bound[0]} / {bound[1]} ms",
        None if bound is None else middle * 1000 <= bound[0] and late * 1000 <= bound[1],
    )


def _bare_search(connection: sqlite3.Connection, query: str) -> None:
    tokens = dict.fromkeys(t for term in query_terms(query, limit=48) for t in term.tokens)
    connection.execute(
        "SELECT rowid FROM terms WHERE terms MATCH ? ORDER BY bm25(terms) LIMIT 10",
        (" OR ".join(f'"{token}"' for token in tokens),),
    ).fetchall()


def _answer_row(place: Place, vault: Vault, what: str, action: Callable[[], object]) -> Row:
    with closing(sqlite3.connect(index_path(place.settings()))) as connection:

        def bare() -> None:
            connection.execute(
                "SELECT name, kind, description FROM notes WHERE scope IN ('', ?)",
                (vault.visibility.project_id,),
            ).fetchall()

        ours, others = in_turn(action, bare, times=_ROUNDS)
    return _percentiles(place, what, ours, others, "visible rows from SQLite")


def _one_note_row(place: Place, what: str, action: Callable[[], object]) -> Row:
    ours, parsed = in_turn(action, raw.parser_of_one(place), times=_ROUNDS * 5)
    return _percentiles(place, what, ours, parsed, "read, hash, parse of one file")


def _percentiles(place: Place, what: str, ours: Durations, bare: Durations, raw_name: str) -> Row:
    middle, raw_middle = ours.percentile(0.5), bare.percentile(0.5)
    return Row(
        f"{what}: p50 / p95",
        place.notes,
        f"{milliseconds(middle)} / {milliseconds(ours.percentile(0.95))}",
        f"{milliseconds(raw_middle)} {raw_name}, p50",
        middle / raw_middle,
    )


def _write_rows(place: Place, what: str, *, ours: Durations, bare: Durations) -> Iterator[Row]:
    yield ratio(
        f"{what}, durable: p50",
        place.notes,
        ours=ours.percentile(0.5),
        raw=bare.percentile(0.5),
        raw_name="bare durable write",
        most=10,
    )
    yield Row(
        f"{what}, durable: rate",
        place.notes,
        f"{1 / ours.mean:.0f}/s",
        f"{1 / bare.mean:.0f}/s bare durable write",
        bare.mean and ours.mean / bare.mean,
        f"≥ {_LEAST_A_SECOND}/s",
        1 / ours.mean >= _LEAST_A_SECOND,
    )
