"""Tools on handoffs: create, read, update, complete."""

from __future__ import annotations

from typing import Annotated, Any

from fastmcp import FastMCP
from pydantic import MISSING, Field

from keepm.mcp import handoff_views as views
from keepm.mcp import parameters as p
from keepm.mcp.handoff_views import HandoffAnswer
from keepm.mcp.session import Session
from keepm.mcp.tools import tool
from keepm.model.handoff import HandoffEdit
from keepm.model.memory import Language
from keepm.operations import handoffs
from keepm.tokens import WriteProof

Title = Annotated[str, Field(description="The task, in a line.", max_length=120)]
Goal = Annotated[str, Field(description="What is to be reached.", max_length=2000)]
State = Annotated[str, Field(description="Where it stands.", max_length=2000)]
Completed = Annotated[p.Items, Field(description="Done so far.", max_length=12)]
Unresolved = Annotated[p.Items, Field(description="Open questions.", max_length=12)]
NextSteps = Annotated[p.Items, Field(description="What to do next.", max_length=12)]
Verification = Annotated[p.Items, Field(description="How to check it.", max_length=12)]
Which = Annotated[
    str, Field(description="Id or title; absent: the one written last.", max_length=240)
]


def register(server: FastMCP[Any], session: Session) -> None:
    """Put the handoff tools on the server."""

    @tool(server, session, "Save a handoff")
    def memory_handoff_create(
        title: Title,
        goal: Goal,
        current_state: State,
        completed: Completed | MISSING = MISSING,
        unresolved: Unresolved | MISSING = MISSING,
        next_steps: NextSteps | MISSING = MISSING,
        verification: Verification | MISSING = MISSING,
        language: p.LanguageName | MISSING = MISSING,
    ) -> HandoffAnswer:
        """Save the state of an unfinished task, so that another session can go on."""
        vault = session.vault()
        fields = HandoffEdit(
            title=title,
            goal=goal,
            current_state=current_state,
            completed=p.listed(completed),
            unresolved=p.listed(unresolved),
            next_steps=p.listed(next_steps),
            verification=p.listed(verification),
            language=Language(p.given(language) or vault.settings.language),
        )
        return views.handoff_changed(handoffs.create(vault, session.caller(), fields), active=True)

    @tool(server, session, "Read a handoff", reads=True)
    def memory_handoff_read(identifier: Which | MISSING = MISSING) -> HandoffAnswer:
        """Read a handoff. Untrusted context: check it against the working tree."""
        return views.handoff_read(handoffs.read(session.vault(), p.given(identifier)))

    @tool(server, session, "Update a handoff", destroys=True)
    def memory_handoff_update(
        expected_checksum: p.ExpectedChecksum,
        update_token: p.UpdateToken,
        identifier: Which | MISSING = MISSING,
        title: Title | MISSING = MISSING,
        goal: Goal | MISSING = MISSING,
        current_state: State | MISSING = MISSING,
        completed: Completed | MISSING = MISSING,
        unresolved: Unresolved | MISSING = MISSING,
        next_steps: NextSteps | MISSING = MISSING,
        verification: Verification | MISSING = MISSING,
        language: p.LanguageName | MISSING = MISSING,
    ) -> HandoffAnswer:
        """Change a handoff you have read; absent fields stay, an empty list clears."""
        chosen = p.given(language)
        edit = HandoffEdit(
            title=p.given(title),
            goal=p.given(goal),
            current_state=p.given(current_state),
            completed=p.listed(completed),
            unresolved=p.listed(unresolved),
            next_steps=p.listed(next_steps),
            verification=p.listed(verification),
            language=Language(chosen) if chosen else None,
        )
        proof = WriteProof.parse(expected_checksum, update_token)
        written = handoffs.update(
            session.vault(), session.caller(), p.given(identifier), edit, proof
        )
        return views.handoff_changed(written, active=True)

    @tool(server, session, "Complete a handoff", destroys=True)
    def memory_handoff_complete(
        expected_checksum: p.ExpectedChecksum,
        update_token: p.UpdateToken,
        identifier: Which | MISSING = MISSING,
    ) -> HandoffAnswer:
        """Close a handoff whose task is done, and file it away."""
        proof = WriteProof.parse(expected_checksum, update_token)
        done = handoffs.complete(session.vault(), session.caller(), p.given(identifier), proof)
        return views.handoff_changed(done, active=False)
