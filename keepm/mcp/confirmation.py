"""A person's own word on a change, by the question that their host puts to them.

A tool that asks is run once to learn what it would do: it stops before it changes anything, with
the question. The question is put to the host, and after a yes the tool is run again, bound to
that very question. Nothing is held while a person thinks: no lock, no thread, no event loop.

In the handshake era a server sends the host a request and waits for the answer. From 2026-07-28
on it answers the call with the question, and the host calls again with the answer and the state
that came with the question, which the SDK seals. Whatever comes back, only a true boolean in an
accepted form is a yes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import anyio
import anyio.to_thread
from fastmcp import Context
from fastmcp.server.dependencies import get_context
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from keepm.errors import ApprovalRequired
from keepm.mcp.session import HostWord, Session, host_word
from keepm.model.checksum import Checksum
from keepm.operations.asking import ConsentNeeded, Question

Value = TypeVar("Value")
_FIELD = "approve"
_ALSO = "remember"


class Asks(StrEnum):
    """When a tool asks the person through a host that can."""

    ALWAYS = "always"
    WHEN_DEMANDED = "when-demanded"  # by the minimum of approval, or by `approval.ask_host`


@dataclass(frozen=True, slots=True)
class _No:
    """Why something is no approval, and what the agent does next."""

    reason: str
    message: str
    hint: str


_DECLINED = _No(
    "declined",
    "the user said no to it in their host",
    "Leave it as it is, and don't ask again unless the user brings it up.",
)
_CANCELLED = _No(
    "cancelled",
    "the user closed the question without an answer",
    "Go on with the task; call again with the same arguments when the user wants to decide.",
)
_UNANSWERED = _No(
    "unanswered",
    "nobody answered the question in time",
    "Go on with the task; call again after a fresh read when the user wants to decide.",
)
_UNCLEAR = _No(
    "unclear",
    "the host's answer was neither a clear yes nor a clear no",
    "Tell the user; only a yes or no in the host's own form counts.",
)
_FAILED = _No(
    "failed",
    "the host could not put the question to the user",
    "Tell the user; call again with the same arguments if they want to try once more.",
)


async def confirmed(
    session: Session, work: Callable[[], Value], asks: Asks
) -> Value | InputRequiredResult:
    """Do a tool's work, with the person's own word where the host can ask for it.

    Raises:
        ApprovalRequired: they didn't say yes to what would be done now, or the host can't ask
            and the agent's word doesn't suffice. Nothing was changed.
        KeepMError: as the work.
    """
    context = get_context()
    if not can_ask(context):
        return await _run(work, None)
    if _is_modern(context) and context.request_state is not None:
        return await _run(work, _said_before(context))
    if asks is Asks.WHEN_DEMANDED and not await anyio.to_thread.run_sync(_asks_always, session):
        try:
            return await _run(work, None)
        except ApprovalRequired:
            pass  # the agent's word doesn't suffice: the host's may
    try:
        return await _run(work, HostWord())
    except ConsentNeeded as needed:
        question = needed.question
    form = _form(question)
    if _is_modern(context):
        return InputRequiredResult(
            input_requests={_FIELD: ElicitRequest(params=form)}, request_state=question.digest.hex
        )
    answer = await _answer(context, form, seconds=session.patience_seconds)
    return await _run(work, _word(answer, question.digest))


def can_ask(context: Context) -> bool:
    """Tell whether the calling host can put a form to its person."""
    capabilities = context.session.client_capabilities
    modes = capabilities.elicitation if capabilities else None
    # A host from before there were modes says `{}` and means forms.
    return modes is not None and (modes.form is not None or modes.url is None)


async def _run(work: Callable[[], Value], word: HostWord | None) -> Value:
    # The thread gets a copy of the context: the word is this run's and nobody else's.
    token = host_word.set(word)
    try:
        return await anyio.to_thread.run_sync(work)
    finally:
        host_word.reset(token)


def _asks_always(session: Session) -> bool:
    return session.vault().settings.approval_ask_host == "all"


def _is_modern(context: Context) -> bool:
    request = context.request_context
    return request is not None and request.protocol_version in MODERN_PROTOCOL_VERSIONS


def _form(question: Question) -> ElicitRequestFormParams:
    boxes: dict[str, dict[str, str | bool]] = {_FIELD: {"type": "boolean", "title": question.yes}}
    if question.also is not None:
        boxes[_ALSO] = {"type": "boolean", "title": question.also, "default": True}
    return ElicitRequestFormParams(
        message=question.text,
        requested_schema={"type": "object", "properties": boxes, "required": list(boxes)},
    )


async def _answer(
    context: Context, form: ElicitRequestFormParams, *, seconds: float
) -> ElicitResult:
    """Put the question to a host of the handshake era."""
    with anyio.move_on_after(seconds):
        try:
            return await context.session.elicit_form(
                form.message, form.requested_schema, context.request_id
            )
        except Exception as error:
            # A host's fault of whatever kind is no yes; its words may hold anything.
            print(f"keepm: asking the host failed: {type(error).__name__}", file=sys.stderr)  # noqa: T201
            raise _refusal(_FAILED) from error
    raise _refusal(_UNANSWERED)


def _said_before(context: Context) -> HostWord:
    """Return what was answered, and to which question, before this call was made again."""
    answer = (context.input_responses or {}).get(_FIELD)
    if not isinstance(answer, ElicitResult):
        raise _refusal(_FAILED)
    return _word(answer, Checksum.parse(context.request_state or "", field="requestState"))


def _word(answer: ElicitResult, question: Checksum) -> HostWord:
    """Return a yes to a question; the second box counts only if it was ticked.

    Raises:
        ApprovalRequired: it is no yes.
    """
    _require_yes(answer)
    return HostWord(question, also=(answer.content or {}).get(_ALSO) is True)


def _require_yes(answer: ElicitResult) -> None:
    """Let nothing pass but a true boolean in an accepted form.

    Raises:
        ApprovalRequired: saying what came instead.
    """
    if answer.action == "cancel":
        raise _refusal(_CANCELLED)
    said = (answer.content or {}).get(_FIELD)
    if answer.action == "decline" or said is False:
        raise _refusal(_DECLINED)
    if answer.action != "accept" or said is not True:
        raise _refusal(_UNCLEAR)


def _refusal(no: _No) -> ApprovalRequired:
    return ApprovalRequired(
        f"{no.message}; nothing was changed", hint=no.hint, details={"reason": no.reason}
    )
