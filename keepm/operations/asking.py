"""What a person is asked by their host before a change, and the proof that they said yes to it.

The question is written from the planned changes themselves, under the lock, so that it can't
promise anything but what is done. It names no time and no id that an attempt has anew: the same
change makes the same text, and an agreement is the digest of the text that was shown. Whatever
differs when the change is carried out (a file, a name that was taken meanwhile) differs in the
text, and then nobody has agreed to it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from keepm.errors import ApprovalRequired, KeepMError
from keepm.markdown import documents
from keepm.model import layout, screening, visible
from keepm.model.approval import Channel
from keepm.model.checksum import Checksum
from keepm.model.document import AnyDocument, Damaged
from keepm.model.handoff import Handoff
from keepm.model.memory import Claim, Memory
from keepm.model.proposal import Proposal
from keepm.operations import identifying
from keepm.operations.vault import Vault
from keepm.store import reader
from keepm.store.changes import Change, ChangeSet, Create, Delete, Move
from keepm.store.event import EventDraft

_WORDS = {
    "en": {
        "promote": "Let this proposal into memory?",
        "create": "Store this note in memory?",
        "update": "Change this note in memory?",
        "delete": "Move this note to the trash?",
        "resolve": "Two notes contradict each other: let one give way like this?",
        "reject": "File this proposal away as rejected?",
        "other": "Make this change to memory?",
        "new": "New note",
        "becomes": "The note as it will be",
        "trashed": "To the trash",
        "differs": "What changes",
        "stays": "Stays as it is",
        "proposal": "From the proposal",
        "rejected": "The proposal",
        "resembles": "Resembles",
        "advice": "Speaks to an assistant as if it could give orders",
        "yes": "Yes, exactly this",
        "remember": "And for good: whatever says the same is refused from now on",
    },
    "zh": {
        "promote": "采纳这条提案，使其成为正式记忆？",
        "create": "存入这条正式记忆？",
        "update": "修改这条正式记忆？",
        "delete": "把这条记忆移入回收站？",
        "resolve": "两条记忆相互矛盾：让其中一条这样让位？",
        "reject": "拒绝这条提案并归档？",
        "other": "这样改动正式记忆？",
        "new": "新记忆",
        "becomes": "改后的记忆",
        "trashed": "移入回收站",
        "differs": "改动",
        "stays": "保持不变",
        "proposal": "来自提案",
        "rejected": "提案",
        "resembles": "与之相似",
        "advice": "像在对助手发号施令",
        "yes": "同意，就按所示内容",
        "remember": "并且今后不再接受同样的内容",
    },
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is put to a person: all that is decided on, whole; `yes` names the box to tick.

    `also` names a second box, for what they may want besides.
    """

    text: str
    yes: str
    also: str | None = None

    @property
    def digest(self) -> Checksum:
        """What the ledger keeps of it."""
        return Checksum.of(self.text.encode("utf-8"))


class ConsentNeeded(Exception):
    """A change by the host's channel about which nobody was asked yet: nothing was changed."""

    def __init__(self, question: Question) -> None:
        super().__init__("a person must be asked first")
        self.question = question


def agreed(
    vault: Vault, changes: ChangeSet, event: EventDraft, answered: Checksum | None
) -> EventDraft:
    """Let a change pass for which the host's word is claimed, and return its event with the proof.

    `answered` is the digest of the question that a person said yes to.

    Raises:
        ConsentNeeded: nobody was asked yet.
        ApprovalRequired: what they said yes to is not what would be done now.
    """
    if event.channel != Channel.HOST:
        return event
    question = _question(vault, changes, event)
    if answered is None:
        raise ConsentNeeded(question)
    if answered != question.digest:
        raise ApprovalRequired(
            "what would be done has changed since the user was asked; nothing was changed",
            hint="Call again: the user is then asked about what would be done now.",
            details={"reason": "changed"},
        )
    extra = {**event.extra, "confirmation": "elicitation"}
    return replace(event, shown=question.digest.hex, extra=extra)


def _question(vault: Vault, changes: ChangeSet, event: EventDraft) -> Question:
    words = _WORDS[vault.settings.language]
    parts = [words.get(event.operation, words["other"])]
    for change in changes.changes:
        parts += _change(vault, change, words, main=event.object_id)
    if event.object_id not in {_after(change).content.id for change in changes.changes}:
        kept = _now(vault, identifying.note_path(vault, event.object_id))
        parts.append(_section(words["stays"], kept.path, kept, version=kept.checksum))
    if similar := event.extra.get("similar_to"):
        names = ", ".join(_named(vault, each) for each in similar.split(","))
        parts.append(f"{words['resembles']}: {visible.shown(names)}")
    if advice := _advice(vault, changes, main=event.object_id):
        parts.append(f"{words['advice']}: {advice}")
    also = words["remember"] if event.operation == "reject" and "ruling" in event.extra else None
    return Question("\n\n".join(parts), words["yes"], also)


def _advice(vault: Vault, changes: ChangeSet, *, main: str) -> str:
    """Name what a reviewer should notice in the text that is decided on."""
    rules, language = vault.policy.screening, vault.settings.language
    texts = (_after(each) for each in changes.changes)
    marks = [
        mark.says
        for each in texts
        if each.content.id == main
        for mark in screening.advice(
            each.data.decode("utf-8-sig", "replace"), rules=rules, language=language
        )
    ]
    return ", ".join(dict.fromkeys(marks))


def _change(vault: Vault, change: Change, words: dict[str, str], *, main: str) -> Iterator[str]:
    """Tell one file's change: new and vanishing notes whole, the others by what differs."""
    new = _after(change)
    if isinstance(change, Create):
        yield _section(words["new"], change.path, new)
        return
    old = _now(vault, change.path)
    if isinstance(new.content, Proposal) and new.content.id == main:
        yield _section(words["rejected"], change.path, new, version=change.expect)
        yield "\n".join(_origin(new.content))
        return
    if isinstance(new.content, Proposal):
        # Its claim stands in the note that it becomes; here is where it came from.
        lines = "\n".join(_origin(new.content))
        yield f"{words['proposal']}: {change.path}\nchecksum: {change.expect.hex}\n{lines}"
        return
    if isinstance(change, Move) and change.to.startswith(f"{layout.TRASH}/"):
        yield _section(words["trashed"], change.path, new, version=change.expect)
        return
    place = f"{change.path} → {change.to}" if isinstance(change, Move) else change.path
    if new.content.id == main:
        yield _section(words["becomes"], place, new, version=change.expect)
    lines = "\n".join(_diff(old, new))
    version = "" if new.content.id == main else f"\nchecksum: {change.expect.hex}"
    yield f"{words['differs']}: {place}{version}\n{lines}"


def _section(
    title: str, place: str, document: AnyDocument, *, version: Checksum | None = None
) -> str:
    lines = [f"{title}: {place}"]
    if version is not None:
        lines.append(f"checksum: {version.hex}")
    lines += _fields(document)
    # A mark before each line: no line of the text can pass for one of the question's.
    lines += (f"| {line}" for line in _body(document))
    return "\n".join(lines)


def _diff(old: AnyDocument, new: AnyDocument) -> Iterator[str]:
    before, after = ([*_fields(each), "", *_body(each)] for each in (old, new))
    yield from list(difflib.unified_diff(before, after, n=2, lineterm=""))[2:]


def _fields(document: AnyDocument) -> list[str]:
    content = document.content
    if isinstance(content, Damaged | Handoff):
        return []
    lines = list(_claim(content.claim))
    if isinstance(content, Memory):
        lines.append(f"status: {content.status}")
        lines += _listed("supersedes", content.supersedes)
        lines += _text("resolution_reason", content.resolution_reason)
    return lines


def _claim(claim: Claim) -> Iterator[str]:
    yield from _text("name", claim.name)
    yield f"kind: {claim.kind}"
    project = claim.scope.project_id
    yield "scope: global" if project is None else f"scope: project ({visible.shown(project)})"
    yield from _text("description", claim.description)
    yield f"language: {claim.language}"
    yield from _listed("tags", claim.tags)
    yield from _listed("aliases", claim.aliases)
    yield from _listed("sources", claim.sources)
    if claim.pinned:
        yield "pinned: true"
    yield from _text("verified_at", claim.verified_at)


def _origin(proposal: Proposal) -> Iterator[str]:
    yield from _text("reason", proposal.reason)
    yield from _text("source_client", proposal.source_client)
    yield from _text("source_ref", proposal.source_ref)
    yield from _text("rejection_reason", proposal.rejection_reason)


def _listed(key: str, values: Sequence[str]) -> Iterator[str]:
    if values:
        # Quoted: one value with a comma in it is not two.
        yield from _text(key, json.dumps(values, ensure_ascii=False))


def _text(key: str, value: str | None) -> Iterator[str]:
    """Tell a field that says something, over several lines if it has them."""
    first, *rest = (visible.shown(line) for line in visible.lines(value or ""))
    if first or rest:
        yield f"{key}: {first}"
    yield from (f"  {line}" for line in rest)


def _body(document: AnyDocument) -> list[str]:
    content = document.content
    if isinstance(content, Memory | Proposal):
        text = content.claim.body
    else:
        text = document.data.decode("utf-8-sig", "replace")
    return [visible.shown(line) for line in visible.lines(text)]


def _after(change: Change) -> AnyDocument:
    """Read the version a change leaves; of a file that goes to the trash, by where it lay."""
    assert not isinstance(change, Delete)  # only gc and repair remove files, at the owner's word
    path = change.to if isinstance(change, Move) else change.path
    return documents.read(path if layout.place(path) else change.path, change.data)


def _now(vault: Vault, path: str) -> AnyDocument:
    data = reader.read(vault.root, path, limit=vault.policy.document_bytes)
    return documents.read(path, data)


def _named(vault: Vault, note_id: str) -> str:
    try:
        return identifying.note(vault, note_id).name
    except KeepMError:
        return note_id  # a proposal, or gone by now
