"""The review on a terminal: one item at a time, one key for each decision."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from keepm.cli import editing, output
from keepm.cli.keyboard import END, Keyboard
from keepm.cli.sheet import Sheet, name
from keepm.cli.wording import Words
from keepm.errors import (
    AmbiguousIdentifier,
    ChecksumMismatch,
    InvalidInput,
    KeepMError,
    NotFound,
    WrongState,
)
from keepm.model import visible
from keepm.operations import reviewing, vouching
from keepm.operations.discarding import Discarded
from keepm.operations.reviewing import ProposalReview
from keepm.operations.vault import Caller, Vault
from keepm.operations.vouching import NoteReview
from keepm.operations.waiting import InboxItem


class Outcome(Enum):
    """What became of one item."""

    APPROVED = "approved"
    REJECTED = "rejected"
    LEFT = "left"
    QUIT = "quit"
    AGAIN = "again"  # show it anew, as it is now


@dataclass(slots=True)
class Session:
    """One sitting of the owner at the terminal."""

    vault: Vault
    caller: Caller
    words: Words
    keyboard: Keyboard = field(default_factory=Keyboard)

    def proposals(self, items: Sequence[InboxItem]) -> dict[Outcome, int]:
        """Go through proposals; return how many were approved, rejected and left."""

        def one(place: int) -> Outcome:
            item = items[place]
            title = self.words("title", number=place + 1, total=len(items))
            try:
                review = self.look(item)
            except (NotFound, WrongState):
                self.say("gone", name=item.row.name)
                return Outcome.LEFT
            lines = self.sheet().proposal(review, title, overdue=item.overdue)
            return self._shown(lines) or self._decide(review)

        return self._each(len(items), one)

    def look(self, item: InboxItem) -> ProposalReview:
        """Read a proposal of the list for a decision; raises as `reviewing.look`."""
        try:
            return reviewing.look(self.vault, item.row.id)
        except AmbiguousIdentifier:  # copies of one file: each is decided by itself
            return reviewing.look(self.vault, item.row.path)

    def notes(self, ids: Sequence[str]) -> dict[Outcome, int]:
        """Go through notes that stand on an agent's word; return as `proposals`."""

        def one(place: int) -> Outcome:
            title = self.words("note_title", number=place + 1, total=len(ids))
            try:
                review = vouching.look(self.vault, ids[place])
            except (NotFound, WrongState):
                self.say("gone", name=ids[place])
                return Outcome.LEFT
            return self._shown(self.sheet().note(review, title)) or self._decide_note(review)

        return self._each(len(ids), one)

    def _each(self, total: int, one: Callable[[int], Outcome]) -> dict[Outcome, int]:
        tally = dict.fromkeys(Outcome, 0)
        place = 0
        while place < total:
            try:
                outcome = one(place)
            except KeepMError as error:
                output.failure(error, as_json=False)
                outcome = Outcome.LEFT
            if outcome is Outcome.QUIT:
                tally[Outcome.LEFT] += total - place
                break
            if outcome is not Outcome.AGAIN:
                tally[outcome] += 1
                place += 1
        return tally

    # ---- one item ------------------------------------------------------------------------------

    def _decide(self, review: ProposalReview) -> Outcome:
        return self._choose(
            {
                "a": lambda: self._approve(review),
                "r": lambda: self._reject(review),
                "f": lambda: self._reject(review, remember=False),
                "e": lambda: self._edit(review),
            },
            keys="keys",
            explained="help",
        )

    def _decide_note(self, review: NoteReview) -> Outcome:
        return self._choose(
            {"a": lambda: self._confirm(review), "r": lambda: self._discard(review)},
            keys="note_keys",
            explained="note_help",
        )

    def _choose(
        self, acts: dict[str, Callable[[], Outcome | None]], *, keys: str, explained: str
    ) -> Outcome:
        """Ask until a key decides; an act that was refused leaves the question open."""
        while True:
            self.say(keys)
            key = self.keyboard.key()
            if key in ("q", END):
                return Outcome.QUIT
            if key == "s":
                return Outcome.LEFT
            act = acts.get(key)
            if act is None:
                self.say(explained)
                continue
            try:
                outcome = act()
            except ChecksumMismatch:
                self.say("changed")
                return Outcome.AGAIN
            except (NotFound, WrongState) as error:
                output.failure(error, as_json=False)
                return Outcome.AGAIN
            except KeepMError as error:
                output.failure(error, as_json=False)
                continue
            if outcome is not None:
                return outcome

    def _approve(self, review: ProposalReview) -> Outcome | None:
        count = len(review.warnings)
        if count and not self.agrees("sure", count=count):
            return None
        done = reviewing.approve(self.vault, self.caller, review)
        self.say("approved", name=name(done.memory), path=done.memory.path)
        return Outcome.APPROVED

    def _reject(self, review: ProposalReview, *, remember: bool = True) -> Outcome | None:
        self.say("why")
        reason = self.keyboard.line()
        if reason is None or reason == ".":
            return None
        done = reviewing.reject(self.vault, self.caller, review, reason=reason, remember=remember)
        if isinstance(done, Discarded):
            said = "trashed"
        else:
            said = "rejected_for_good" if done.remembered else "rejected"
        self.say(said, name=name(review.document))
        return Outcome.REJECTED

    def _edit(self, review: ProposalReview) -> Outcome | None:
        data = review.document.data
        while True:
            data = editing.edited(self.vault, data)
            if data == review.document.data:
                self.say("unchanged")
                return None
            try:
                reviewing.edit(self.vault, self.caller, review, data)
            except InvalidInput as error:
                output.failure(error, as_json=False)
                if not self.agrees("again"):
                    return None
            else:
                self.say("edited")
                return Outcome.AGAIN

    def _confirm(self, review: NoteReview) -> Outcome | None:
        count = len(review.warnings)
        if count and not self.agrees("sure", count=count):
            return None
        vouching.confirm(self.vault, self.caller, review)
        self.say("confirmed", name=name(review.document))
        return Outcome.APPROVED

    def _discard(self, review: NoteReview) -> Outcome | None:
        if not self.agrees("trash_question", name=name(review.document)):
            return None
        vouching.discard(self.vault, self.caller, review)
        self.say("trashed", name=name(review.document))
        return Outcome.REJECTED

    # ---- the terminal --------------------------------------------------------------------------

    def _shown(self, lines: Sequence[str]) -> Outcome | None:
        """Show lines a screenful at a time; return how it ended if not all was looked at."""
        rows = shutil.get_terminal_size((80, 24)).lines
        height = max(5, rows - 2) if self.keyboard.gives_single_keys else len(lines)
        for first in range(0, len(lines), height):
            page = lines[first : first + height]
            output.say("\n".join(page))
            last = first + len(page)
            while last < len(lines):
                self.say("more", first=first + 1, last=last, total=len(lines))
                key = self.keyboard.key()
                if key in ("q", END):
                    return Outcome.QUIT
                if key == "s":
                    return Outcome.LEFT
                if key in ("\n", " "):
                    break
        return None

    def agrees(self, question: str, **values: str | int) -> bool:
        """Ask; only a y says yes."""
        output.say(f"{self.words(question, **values)} [y/N]")
        return self.keyboard.key() == "y"

    def sheet(self) -> Sheet:
        """Return the sheet that fits the terminal as it is now."""
        return Sheet.fitting(self.words, shutil.get_terminal_size((80, 24)).columns)

    def say(self, key: str, **values: str | int) -> None:
        """Say a sentence of the words, folded to the terminal."""
        said = self.words(key, **values).split("\n")
        columns = self.sheet().columns
        output.say("\n".join(piece for line in said for piece in visible.folded(line, columns)))
