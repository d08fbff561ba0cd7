"""Doctor: a look at everything at once, which changes no file.

The deep pass (`survey`) reads every file once; what is wrong within one is `content`'s, between
several `relations`', of what waits `gate`'s, of sources and verification `sources`', of KeepM's
own records `records`', of this machine `surroundings`'. `model/rules` has the catalogue.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from keepm.index import versions
from keepm.index import withheld as index_withheld
from keepm.model import diagnosis
from keepm.model.diagnosis import Finding
from keepm.operations import collector, sync
from keepm.operations.diagnosis import gate, records, relations, sources, surroundings, survey
from keepm.operations.diagnosis.content import Examiner
from keepm.operations.vault import Caller, Vault

_PAUSE_SECONDS = 0.001  # after each file: whoever waits for Python goes first, and has time


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that was found, in a fixed order, and how many files were looked at for it."""

    findings: tuple[Finding, ...]
    files: int
    project: str | None
    everything: bool = False  # the owner's view over all projects


@collector.paused()
def examine(vault: Vault, caller: Caller, *, beside_answers: bool = False) -> Diagnosis:
    """Read every file of the vault once and say what is wrong in the caller's scope.

    Nothing is changed but the index, which is brought up to the files. `beside_answers`: other
    threads of this process answer meanwhile, and go first.

    Raises:
        RootUnavailable, StorageFailed: the vault can't be seen, or not be read in the middle.
        IndexUnavailable: the index is damaged.
    """
    sync.require_complete(vault)  # what an index that is being filled lacks is no finding
    pause = functools.partial(vault.progress.stopping.wait, _PAUSE_SECONDS)
    met = survey.take(vault, examiner(vault), pause=pause if beside_answers else None)
    # The index is brought up to the files before its links are asked for.
    found = [*met.findings, *records.findings(vault, caller, met)]
    # What is withheld stays untold here too, but for how much it is.
    hidden = index_withheld.paths(vault.database)
    found = [each for each in found if each.path not in hidden]
    seen = [each for each in met.seen if each.path not in hidden]
    related = list(relations.findings(vault, seen))
    found += related
    # A copy that a sync program left needs one word, and nobody reads it.
    copies = {each.path for each in related if each.rule.code == "conflict_copy"}
    seen = [each for each in seen if each.path not in copies]
    found += gate.findings(vault, seen)
    found += gate.withheld(vault)
    found += sources.findings(vault, seen)
    found += surroundings.findings(vault)
    return Diagnosis(
        findings=diagnosis.ordered(found),
        files=len(met.seen),
        project=vault.visibility.project_id,
        everything=vault.visibility.everything,
    )


def examiner(vault: Vault) -> Examiner:
    """Return what examines single files: their findings, and the facts that repairs go by."""
    spans = versions.spans(vault.database)
    return Examiner(
        policy=vault.policy,
        today=vault.today(),
        times=lambda document_id: spans.get(document_id, (None, None)),
    )


def repair_token(vault: Vault, findings: Iterable[Finding]) -> str:
    """Hand out the token that confirms repairs of these findings' files, as they were looked at.

    `memory_repair` takes it for one file at a time, `memory_sync` for a full rebuild.
    """
    files = {each.path: each.checksum for each in findings if each.path and each.checksum}
    return vault.diagnoses.issue({path: checksum for path, checksum in files.items() if checksum})
