"""The one exception tree of KeepM.

    KeepMError
    ├─ InvalidInput
    │  ├─ InvalidIdentifier
    │  ├─ AmbiguousIdentifier
    │  ├─ LimitExceeded
    │  ├─ ContentRefused
    │  ├─ ContractMissing
    │  └─ MalformedDocument
    ├─ NotFound
    ├─ AlreadyExists
    ├─ TooSimilar
    ├─ RejectedBefore
    ├─ WrongState
    ├─ PreconditionFailed
    │  ├─ ChecksumMismatch
    │  ├─ TokenInvalid
    │  └─ IncompleteRead
    ├─ ApprovalRequired
    ├─ ConfirmationRequired
    ├─ RootUnavailable
    │  ├─ RootLocked
    │  ├─ RecoveryBlocked
    │  └─ StorageFailed
    ├─ IndexUnavailable
    └─ ConfigurationError

A class has a stable `code` and a `hint` (the next step, one sentence); `details` holds the
figures. Messages name the thing, never its content: no bodies, tokens, secrets or absolute
paths. Every code has a line in `docs/errors.md`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

Scalar = str | int | float | bool | None
Detail = Scalar | Sequence[str] | Sequence[Mapping[str, Scalar]]


class KeepMError(Exception):
    """Anything KeepM refuses or fails at, with a code that never changes."""

    code: ClassVar[str] = "internal"
    hint: ClassVar[str] = "Run `keepm status` and report what it says."

    def __init__(
        self, message: str, *, hint: str | None = None, details: Mapping[str, Detail] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = hint or type(self).hint
        self.details: dict[str, Detail] = dict(details or {})


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one field of an input.

    `code` is the code of the error class this problem alone would raise.
    """

    field: str
    message: str
    code: str = "invalid_input"
    details: Mapping[str, str | int] = dataclasses.field(default_factory=dict)


class InvalidInput(KeepMError):
    """The arguments cannot be accepted; every problem of the input is named at once."""

    code = "invalid_input"
    hint = "Correct the named fields and call again; nothing was changed."

    def __init__(
        self,
        message: str,
        *,
        problems: Sequence[Problem] = (),
        hint: str | None = None,
        details: Mapping[str, Detail] | None = None,
    ) -> None:
        super().__init__(message, hint=hint, details=details)
        self.problems = tuple(problems)
        if problems:
            rows: list[dict[str, Scalar]] = [
                {"field": p.field, "code": p.code, "message": p.message, **p.details}
                for p in problems
            ]
            self.details["problems"] = rows


class InvalidIdentifier(InvalidInput):
    """A name, id or path that can never name anything here."""

    code = "invalid_identifier"
    hint = "Use an id, a name or an alias as memory_search or memory_catalog returned it."


class AmbiguousIdentifier(InvalidInput):
    """A name that fits several visible documents."""

    code = "ambiguous_identifier"
    hint = "Call again with the id of the one you mean."


class LimitExceeded(InvalidInput):
    """Something is larger than it may be; the limit and the actual figure are in the details."""

    code = "limit_exceeded"
    hint = "Shorten the named fields; nothing is cut for you and nothing was changed."


class ContentRefused(InvalidInput):
    """Text that may not be stored, named by field, rule, line and column, never by its content."""

    code = "content_refused"
    hint = "Remove what is named at that place, or put a placeholder such as <password> for it."


class ContractMissing(InvalidInput):
    """The body lacks a part that its kind requires."""

    code = "contract_missing"
    hint = "Add the named parts to the body (their English labels count in any language)."


class MalformedDocument(InvalidInput):
    """A file whose structure can't be read, so that it is not rewritten by a guess."""

    code = "malformed_document"
    hint = "Open the file in an editor, mend the named line, and read it again."


class NotFound(KeepMError):
    """Nothing visible has this identifier."""

    code = "not_found"
    hint = "Look it up with memory_catalog or memory_search; it may have been renamed or deleted."


class AlreadyExists(KeepMError):
    """The slot is taken; the details name the note that holds it."""

    code = "already_exists"
    hint = "Read the existing note and update it, or choose another slot name."


class TooSimilar(KeepMError):
    """It would say once more what an existing note says; the details name it, and in what way."""

    code = "too_similar"
    hint = (
        "Read the existing note and update it. If the user says that both are wanted, call again "
        "with allow_similar=true."
    )


class RejectedBefore(KeepMError):
    """A person rejected this claim for good; the details say when, and why if that is known."""

    code = "rejected_before"
    hint = (
        "Leave it, and don't put it in other words. If the user wants it after all, they lift the "
        "verdict in a terminal of their own: keepm verdict lift"
    )


class WrongState(KeepMError):
    """The document is in a state from which this step is not possible."""

    code = "wrong_state"
    hint = "Read the document again and go on from the state it is in."


class PreconditionFailed(KeepMError):
    """The proof that came with a change does not hold."""

    code = "precondition_failed"
    hint = "Read the document completely and use the checksum and token of that read."


class ChecksumMismatch(PreconditionFailed):
    """The file is no longer the version that was read."""

    code = "checksum_mismatch"
    hint = "Read it again and redo the change on what you find; the newer text was kept."


class TokenInvalid(PreconditionFailed):
    """The read token is unknown, spent, expired, or belongs to another document."""

    code = "token_invalid"
    hint = "Read the document completely again and use the token of that read."


class IncompleteRead(PreconditionFailed):
    """The document was read only in part, which entitles to no change."""

    code = "incomplete_read"
    hint = "Read the whole document in one call: raise max_chars to the total that was reported."


class ApprovalRequired(KeepMError):
    """The configured minimum of approval is higher than the channel this call came by."""

    code = "approval_required"
    hint = "Leave it as a proposal: the owner decides on a channel the configuration accepts."


class ConfirmationRequired(KeepMError):
    """A step that needs an explicit confirmation of exactly this plan."""

    code = "confirmation_required"
    hint = "Make the dry run, show its plan to the user, then confirm with the token it returned."


class RootUnavailable(KeepMError):
    """The vault's folder can't be used now."""

    code = "root_unavailable"
    hint = "Check that the folder is there and mounted; nothing was treated as deleted."


class RootLocked(RootUnavailable):
    """Another process is writing and did not finish in time."""

    code = "root_locked"
    hint = "Try again shortly; if it lasts, look at the process that is named."


class RecoveryBlocked(RootUnavailable):
    """An interrupted transaction met a version that nobody of ours wrote."""

    code = "recovery_blocked"
    hint = "Nothing was overwritten; the owner compares the named files and decides: keepm repair."


class StorageFailed(RootUnavailable):
    """The file system refused a write; the original files are untouched."""

    code = "storage_failed"
    hint = "Free space or restore write access, then call again."


class IndexUnavailable(KeepMError):
    """The index can't be opened or built; the notes themselves are unaffected."""

    code = "index_unavailable"
    hint = "Check the data folder's space and permissions; the index is rebuilt by itself."


class ConfigurationError(KeepMError):
    """A setting is missing or wrong."""

    code = "configuration_error"
    hint = "Run `keepm config show` to see each value and where it comes from."


_BY_PROBLEM: dict[str, type[InvalidInput]] = {
    kind.code: kind
    for kind in (
        InvalidIdentifier,
        LimitExceeded,
        ContentRefused,
        ContractMissing,
        MalformedDocument,
    )
}


def refuse_if_any(problems: Sequence[Problem]) -> None:
    """Raise one error for all problems of an input; do nothing without problems.

    Raises:
        InvalidInput: or its subclass when all problems are of that one kind.
    """
    if not problems:
        return
    codes = {problem.code for problem in problems}
    kind = _BY_PROBLEM.get(codes.pop(), InvalidInput) if len(codes) == 1 else InvalidInput
    message = "; ".join(f"{p.field}: {p.message}" for p in problems)
    raise kind(message, problems=problems)
