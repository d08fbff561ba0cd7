"""One of the processes that write into one vault, until they are done or killed.

    python -m tests.campaigns.writer mixed|groups FOLDER NAME COUNT

`mixed`: creates, updates and promotions by turns. `groups`: changes of two and
three files.
Each change is acknowledged by a JSON line on stdout once the call that made it has returned.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from keepm.model.proposal import TargetAction
from keepm.operations import inbox, memories, promotion
from keepm.operations.inbox import Suggestion
from keepm.operations.promotion import Target
from keepm.operations.vault import SystemClock, Vault, open_vault
from keepm.tokens import WriteProof
from tests.operations.support import AGENT, Machine, claim, edit, written_proof


def mixed(vault: Vault, name: str, count: int) -> Iterator[dict[str, str]]:
    """Create, update and promote by turns, `count` changes in all."""
    for number in range(count):
        match number % 5:
            case 0 | 1:
                made = memories.create(vault, AGENT, claim(f"{name}-{number}"))
                last = made
                yield {"note": made.document.content.id, "body": made.document.content.claim.body}
            case 2:
                text = f"text changed by {name} {number}"
                made = memories.update(
                    vault, AGENT, last.document.content.id, edit(body=text), written_proof(last)
                )
                yield {"note": made.document.content.id, "body": text}
            case 3:
                proposed = inbox.propose(
                    vault, AGENT, Suggestion(claim(f"{name}-{number}"), "seen")
                )
                yield {"proposal": proposed.document.content.id}
            case _:
                held = WriteProof(proposed.token, proposed.document.checksum)
                done = promotion.promote(vault, AGENT, proposed.document.content.id, held)
                yield {
                    "note": done.memory.content.id,
                    "body": done.memory.content.claim.body,
                    "promoted": proposed.document.content.id,
                }


def groups(vault: Vault, name: str, count: int) -> Iterator[dict[str, str]]:
    """Let each note take the last one's place, directly (two files) or by a promotion (three)."""
    last = memories.create(vault, AGENT, claim(name)).document.content.id
    for number in range(count):
        made = memories.create(vault, AGENT, claim(f"{name}-{number}"), supersedes=(last,))
        heir = made.document.content.id
        yield {"heir": heir, "losers": last}
        correction = Suggestion(
            claim(f"{name}-{number}-corrected"),
            "seen",
            target_identifier=heir,
            target_action=TargetAction.SUPERSEDE,
        )
        proposed = inbox.propose(vault, AGENT, correction)
        done = promotion.promote(
            vault,
            AGENT,
            proposed.document.content.id,
            WriteProof(proposed.token, proposed.document.checksum),
            target=Target(heir, written_proof(made)),
        )
        last = done.memory.content.id
        yield {
            "heir": last,
            "losers": heir,
            "note": last,
            "promoted": proposed.document.content.id,
        }


def main() -> None:
    kind, folder, name, count = sys.argv[1:]
    machine = Machine(Path(folder))
    settings = machine.settings(machine.folder / "work/widgets")
    vault = open_vault(settings, clock=SystemClock())
    print("ready", flush=True)
    work = {"mixed": mixed, "groups": groups}[kind]
    for acknowledged in work(vault, name, int(count)):
        print(json.dumps(acknowledged), flush=True)
    vault.close()


if __name__ == "__main__":
    main()
