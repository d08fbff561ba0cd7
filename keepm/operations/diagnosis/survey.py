"""Doctor's deep pass: every file below `Memory` is read and hashed once, and parsed if it is seen.

What the index holds otherwise is noted on the way, whatever its scope, so that it can be read
again; findings and documents are those of the caller's scope alone.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from keepm.errors import KeepMError, LimitExceeded, NotFound
from keepm.index import writing
from keepm.index.writing import FileRow
from keepm.markdown import documents, outline
from keepm.markdown.outline import Outline
from keepm.model import layout, rules
from keepm.model.checksum import Checksum
from keepm.model.diagnosis import Finding
from keepm.model.document import AnyDocument, Damaged
from keepm.model.handoff import Handoff
from keepm.model.layout import Place
from keepm.model.memory import Memory, Scope
from keepm.model.proposal import Proposal
from keepm.operations.diagnosis.content import Examiner
from keepm.operations.vault import Vault
from keepm.store import marks, reader
from keepm.store.reader import FileState, Skipped

_SKIPPED = {
    "symlink": "symlink",
    "folder": "folder_like_note",
    "not_a_file": "not_a_file",
    "name": "unusable_name",
    "unreadable": "unreadable",
    "evicted": "placeholder",
}
_ASKED = frozenset({
    "id", "name", "aliases", "status", "supersedes", "sources", "verified_at", "created",
    "approved_via", "target_id",
})  # fmt: skip
"""The keys that findings between documents point to."""
_WALKED = {
    layout.MEMORY: frozenset({"global", "projects", "Inbox", "node_modules"}),
    layout.INBOX: frozenset({"pending", "archive", "node_modules"}),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """A document of the caller's scope as it was read, without its text.

    `codes` are what its codec found; `subject` is what a finding about it calls it. Lines count in
    the file, from 1.
    """

    path: str
    place: Place
    checksum: str
    content: Memory | Proposal | Handoff | Damaged
    codes: frozenset[str]
    subject: str
    lines: Mapping[str, int]  # of some keys, case folded
    text_line: int  # in which the body's text begins

    @property
    def scope(self) -> Scope:
        """The scope of its folder."""
        return self.place.scope

    def finding(
        self, code: str, reason: str = "", *, line: int | None = None, detail: str = ""
    ) -> Finding:
        """Return a finding about this document."""
        return rules.finding(
            code,
            reason,
            path=self.path,
            line=line,
            subject=self.subject,
            scope=self.scope,
            detail=detail,
            checksum=self.checksum,
        )


@dataclass(slots=True)
class Survey:
    """What the deep pass met.

    `behind` are paths of any scope that the index knows otherwise; `deceived` those of them whose
    size and time say that nothing changed.
    """

    seen: list[Seen] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    deceived: set[str] = field(default_factory=set)


def take(vault: Vault, examiner: Examiner, *, pause: Callable[[], object] | None = None) -> Survey:
    """Read every file once; `pause` is called after each, to let others go first.

    Raises:
        RootUnavailable: the vault can't be seen.
        StorageFailed: the disk reports an error in the middle.
    """
    survey = Survey()
    known = writing.files(vault.database)
    gone = dict.fromkeys(known)
    with vault.root.paths.looking_once():
        for item in reader.walk(vault.root, expect_memory=True):
            gone.pop(item.path, None)
            if isinstance(item, Skipped):
                survey.findings += _left_out(vault, item.path, item.reason)
            else:
                _read(vault, examiner, survey, item, known.get(item.path))
            if pause is not None:
                pause()
    survey.behind += gone
    survey.findings += _misplaced(vault)
    return survey


def _sees(vault: Vault, scope: Scope | None) -> bool:
    """Tell whether the caller may hear of a path; one that belongs to nobody is the owner's."""
    return vault.visibility.everything if scope is None else vault.visibility.sees(scope)


def _left_out(vault: Vault, path: str, reason: str) -> Iterator[Finding]:
    scope = layout.scope_of(path)
    # A shelf that can't be looked into hides everybody's documents.
    if _sees(vault, scope) or layout.is_shelf(path):
        if reason in _SKIPPED:
            yield rules.finding(_SKIPPED[reason], path=path, scope=scope)
        else:
            yield rules.finding("skipped", f"left out: {reason}", path=path, scope=scope)


def _read(
    vault: Vault, examiner: Examiner, survey: Survey, file: FileState, row: FileRow | None
) -> None:
    place = layout.place(file.path)
    if place is None:
        if _sees(vault, None):
            survey.findings.append(rules.finding("misplaced", path=file.path))
        return
    visible = vault.visibility.sees(place.scope)
    try:
        data = reader.read(vault.root, file.path, limit=vault.policy.document_bytes)
    except NotFound:
        return  # it went while we walked
    except KeepMError as error:
        if visible:
            survey.findings.append(_unread(file.path, place.scope, error))
        return
    checksum = Checksum.of(data)
    if row is None or row.checksum != checksum.hex:
        survey.behind.append(file.path)
        if row is not None and (row.size, row.mtime_ns) == (file.size, file.mtime_ns):
            survey.deceived.add(file.path)
    if visible:
        document = documents.read(file.path, data)
        cut = None if isinstance(document.content, Damaged) else outline.of(data)
        survey.findings += examiner.examine(document, cut)
        survey.seen.append(_seen(document, cut, place, examiner.subject(document)))


def _unread(path: str, scope: Scope, error: KeepMError) -> Finding:
    if isinstance(error, LimitExceeded):
        figures = f"{error.details['actual']} bytes, the limit is {error.details['limit']}"
        return rules.finding("too_large", figures, path=path, scope=scope)
    return rules.finding("unreadable", path=path, scope=scope)


def _seen(document: AnyDocument, cut: Outline | None, place: Place, subject: str) -> Seen:
    """Keep of a document what relates it to others; ten thousand bodies are too much to hold."""
    content = document.content
    match content:
        case Memory() | Proposal():
            content = replace(content, claim=replace(content.claim, body=""))
        case Damaged():
            content = replace(content, text="")
        case Handoff():
            content = replace(content, goal="", current_state="")
    entries = cut.entries if cut else {}
    lines = {key: entries[key][0] for key in _ASKED & entries.keys()}
    if b"[[" in document.data:  # perhaps in a key of the person's own, which is then a relation
        lines = {key.casefold(): entry[0] for key, entry in entries.items()} | lines
    return Seen(
        path=document.path,
        place=place,
        checksum=document.checksum.hex,
        content=content,
        codes=frozenset(each.code for each in document.findings),
        subject=subject,
        lines=lines,
        text_line=cut.text_line if cut else 1,
    )


def _misplaced(vault: Vault) -> Iterator[Finding]:
    """Yield notes and folders beside those that are walked; only the owner hears of them."""
    for folder, known in _WALKED.items() if vault.visibility.everything else ():
        try:
            entries = sorted(vault.root.disk.scan(vault.root.paths.root / folder))
        except OSError:
            continue  # there is none, or the walk has said so
        for name, state in entries:
            is_note = name.lower().endswith(".md")
            is_folder = marks.kind(state) == stat.S_IFDIR
            if name[0] != "." and name not in known and (is_note or is_folder):
                yield rules.finding("misplaced", path=f"{folder}/{name}")
