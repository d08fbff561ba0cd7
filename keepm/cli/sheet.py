"""What one item of a review looks like, as lines that fit the terminal.

Stored text stands behind a line number and a bar, so that nothing in it can pass for a line of
ours, and with everything unseen written out (`model/visible`). No colour, no escape sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from keepm.cli.wording import Words
from keepm.model import visible
from keepm.model.document import AnyDocument, Damaged
from keepm.model.memory import Claim, Memory
from keepm.model.proposal import Proposal
from keepm.model.scope import Scope
from keepm.operations.edits import EditReview
from keepm.operations.reviewing import Notice, ProposalReview
from keepm.operations.vouching import NoteReview

_LEAST, _MOST = 40, 100


@dataclass(frozen=True, slots=True)
class Sheet:
    """How items are shown: in which words, and in how many columns."""

    words: Words
    columns: int

    @classmethod
    def fitting(cls, words: Words, columns: int) -> Sheet:
        """Make a sheet for a terminal of so many columns."""
        return cls(words, min(max(columns, _LEAST), _MOST))

    def proposal(self, review: ProposalReview, title: str, *, overdue: bool = False) -> list[str]:
        """Return the lines of a proposal: what it is, warnings, source, what it changes."""
        say, document = self.words, review.document
        lines = [self._rule(), *self._plain(f"{title}: {name(document)}")]
        content = document.content
        if isinstance(content, Proposal):
            lines += self._claim(content.claim)
            origin = [content.source_client or "?", f"{say('since')} {content.created or '?'}"]
            if overdue:
                origin.append(say("overdue"))
            lines += self._plain(f"{say('by')} {', '.join(origin)}")
            lines += self._plain(f"{say('reason')}: {content.reason}")
            if content.source_ref:
                lines += self._plain(f"{say('reference')}: {content.source_ref}")
            if content.target_id is not None:
                target = name(review.target) if review.target else content.target_id
                action = say(str(content.target_action or "update"))
                lines += self._plain(f"{say('corrects')}: {target} ({action})")
        else:
            lines += self._plain(say("damaged"))
        lines += self._warnings(review.warnings)
        lines += self._source(document)
        if review.target is not None:
            lines += self._plain(f"== {say('changes')} {review.target.path}")
            lines += self._plain(f"   {say('checksum')} {review.target.checksum.hex}")
            for line in visible.lines(review.diff):
                lines += self._stored("", line)
        return [*lines, self._rule()]

    def note(self, review: NoteReview, title: str) -> list[str]:
        """Return the lines of a formal note."""
        document = review.document
        return [
            self._rule(),
            *self._plain(f"{title}: {name(document)}"),
            *self._claim(document.content.claim),
            *self._warnings(review.warnings),
            *self._source(document),
            self._rule(),
        ]

    def edit(self, review: EditReview, title: str) -> list[str]:
        """Return the lines of a file that was edited by hand: what changed, and all of it."""
        say, item = self.words, review.item
        lines = [
            self._rule(),
            *self._plain(f"{title}: {name(review.document)}"),
            *self._plain(f"{say(item.kind)}   {say('scope')} {scope(item.scope, say)}"),
            *self._warnings(review.warnings),
        ]
        if review.is_new:
            lines += self._plain(f"== {say('new_file')}")
        else:
            lines += self._plain(f"== {say('edited_by_hand')}")
            for line in visible.lines(review.diff):
                lines += self._stored("", line)
        return [*lines, *self._source(review.document), self._rule()]

    def _claim(self, claim: Claim) -> list[str]:
        say = self.words
        return self._plain(
            f"{say('kind')} {claim.kind}   {say('scope')} {scope(claim.scope, say)}"
            f"   {claim.language}"
        )

    def _warnings(self, warnings: Iterable[Notice]) -> Iterator[str]:
        listed = list(warnings)
        if listed:
            yield from self._plain(f"! {self.words('warnings', count=len(listed))}")
        for each in listed:
            yield from self._plain(f"!   {self.words(str(each.sort))}: {each.says}")

    def _source(self, document: AnyDocument) -> Iterator[str]:
        yield from self._plain(f"== {self.words('stored')}: {document.path}")
        yield from self._plain(f"   {self.words('checksum')} {document.checksum.hex}")
        text = document.data.decode("utf-8", "replace")
        listed = visible.lines(text.removesuffix("\n"))
        for number, line in enumerate(listed, 1):
            yield from self._stored(str(number), line)

    def _stored(self, number: str, line: str) -> Iterator[str]:
        mark = f"{number:>4} | "
        for piece in visible.folded(visible.shown(line), self.columns - len(mark)):
            yield mark + piece
            mark = "     : "

    def _plain(self, text: str) -> list[str]:
        """Fold a line of ours; what comes from a document in it can't break out of it."""
        first, *rest = visible.folded(visible.shown(text), self.columns - 3)
        return [first, *(f"   {piece}" for piece in rest)]

    def _rule(self) -> str:
        return "-" * self.columns


def name(document: AnyDocument) -> str:
    """Return what a document is called."""
    content = document.content
    if isinstance(content, Memory | Proposal):
        return content.claim.name
    return content.name if isinstance(content, Damaged) else content.title


def scope(where: Scope, say: Words) -> str:
    """Return a scope in words."""
    return "global" if where.project_id is None else say("project", name=where.project_id)
