"""The benchmarks themselves: their vaults are valid, and their table comes out."""

from __future__ import annotations

from pathlib import Path

from keepm import config
from keepm.markdown import documents
from keepm.model import memory
from keepm.model.memory import Kind, Language, Memory
from keepm.model.proposal import Proposal
from tests.benchmarks import __main__ as runner
from tests.benchmarks import inside, table, vaults, writers

SIZE = 300


def test_a_generated_vault_holds_sound_notes_of_every_kind_and_both_languages(
    tmp_path: Path,
) -> None:
    place = vaults.generate(tmp_path, notes=SIZE)

    found = [
        documents.read(path.relative_to(place.root).as_posix(), path.read_bytes())
        for path in place.root.rglob("*.md")
    ]

    assert [document.findings for document in found if document.findings] == []
    claims = [d.content.claim for d in found if isinstance(d.content, Memory | Proposal)]
    for claim in claims:
        memory.check(claim, config.load_policy(), today="2026-01-01")
    assert sum(isinstance(document.content, Memory) for document in found) == SIZE
    assert {claim.kind for claim in claims} == set(Kind)
    assert {claim.language for claim in claims} == set(Language)
    assert any("[[" in claim.body for claim in claims)


def test_the_same_seed_makes_the_same_vault(tmp_path: Path) -> None:
    one = _files(vaults.generate(_made(tmp_path / "one"), notes=30, seed=7).root)

    assert _files(vaults.generate(_made(tmp_path / "two"), notes=30, seed=7).root) == one
    assert _files(vaults.generate(_made(tmp_path / "three"), notes=30, seed=8).root) != one


def test_the_parts_within_one_process_fill_the_table(tmp_path: Path) -> None:
    rows = list(
        runner.measure(tmp_path, sizes=[50], parts=["passes", "answers", "beside", "writes"])
    )

    text = table.plain(rows)
    assert {row.notes for row in rows} == {50}
    assert all(row.what in text and row.ours in text for row in rows)
    assert len({len(line.split(" | ")) for line in table.markdown(rows).splitlines()}) == 1


def test_several_processes_lose_and_tear_nothing(tmp_path: Path) -> None:
    place = vaults.generate(tmp_path, notes=20)

    *_, left = writers.writers(place, processes=3, writes=8)

    assert left.kept


def test_a_row_over_its_bound_says_so() -> None:
    row = table.ratio("x", 5, ours=0.4, raw=0.1, raw_name="bare", most=3)

    assert row.kept is False
    assert "OVER" in table.plain([row])


def test_created_notes_of_the_benchmark_keep_the_contract(tmp_path: Path) -> None:
    place = vaults.generate(tmp_path, notes=1)

    memory.check(inside.written_claim("x", place), config.load_policy(), today="2026-01-01")


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.md")}
