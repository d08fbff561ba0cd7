"""One-time credentials: read tokens that entitle to a change, plan tokens that confirm a plan.

A diagnosis's token confirms a repair of each file that doctor found at fault. All live in this
process only, last ten minutes, and are spent by the act that succeeds; a refused call spends
nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from keepm.errors import ConfirmationRequired, IncompleteRead, TokenInvalid
from keepm.model.checksum import Checksum

LIFETIME_SECONDS = 600.0
_WHOLE = ""  # the subject of a diagnosis's token itself: no file has this path


@dataclass(frozen=True, slots=True)
class WriteProof:
    """What a change of an existing document must bring (HTTP's If-Match, with a credential)."""

    token: str
    checksum: Checksum

    @classmethod
    def parse(cls, checksum: str, token: str, *, field: str = "expected_checksum") -> WriteProof:
        """Read a proof from a call's arguments.

        Raises:
            InvalidInput: the checksum isn't one.
        """
        return cls(token=token.strip(), checksum=Checksum.parse(checksum, field=field))


@dataclass(frozen=True, slots=True)
class _Grant:
    subject: str
    value: str
    expires: float


class _Grants:
    """Secrets handed out, each standing for a subject at one value until it is spent."""

    def __init__(self, *, seconds: Callable[[], float], secret: Callable[[], str]) -> None:
        self._seconds = seconds
        self._secret = secret
        self._granted: dict[str, _Grant] = {}
        self._lock = threading.Lock()

    def grant(self, subject: str, value: str, *, token: str | None = None) -> str:
        now = self._seconds()
        token = token or self._secret()
        with self._lock:
            # Grants expire in the order they were made, so the dead ones stand in front.
            for old in list(self._granted):
                if self._granted[old].expires > now:
                    break
                del self._granted[old]
            self._granted[token] = _Grant(subject, value, now + LIFETIME_SECONDS)
        return token

    def holds(self, token: str, subject: str, value: str) -> bool:
        with self._lock:
            granted = self._granted.get(token)
        return (
            granted is not None
            and granted.expires > self._seconds()
            and (granted.subject, granted.value) == (subject, value)
        )

    def spend(self, token: str) -> None:
        with self._lock:
            self._granted.pop(token, None)


class ReadTokens:
    """Tokens of complete reads, each bound to one document at one checksum."""

    def __init__(self, *, seconds: Callable[[], float], secret: Callable[[], str]) -> None:
        self._grants = _Grants(seconds=seconds, secret=secret)

    def issue(self, document_id: str, checksum: Checksum) -> str:
        """Hand out the token of a complete read."""
        return self._grants.grant(document_id, checksum.hex)

    def check(self, proof: WriteProof, document_id: str) -> None:
        """Let a proof pass without spending it.

        The caller has compared the proof's checksum with the file already.

        Raises:
            IncompleteRead: no token was given, as after a truncated read.
            TokenInvalid: unknown, spent, expired, or for another document or version.
        """
        if not proof.token:
            raise IncompleteRead("a change needs the token of a complete read")
        if not self._grants.holds(proof.token, document_id, proof.checksum.hex):
            raise TokenInvalid(
                "the token is unknown here, spent, over ten minutes old, or of another read"
            )

    def spend(self, proof: WriteProof) -> None:
        """Use the token up, after the change it allowed has succeeded."""
        self._grants.spend(proof.token)


class PlanTokens:
    """Tokens of previews, each bound to one exact plan."""

    def __init__(self, *, seconds: Callable[[], float], secret: Callable[[], str]) -> None:
        self._grants = _Grants(seconds=seconds, secret=secret)

    def issue(self, operation: str, plan_digest: str) -> str:
        """Hand out the token of a preview."""
        return self._grants.grant(operation, plan_digest)

    def check(self, token: str, operation: str, plan_digest: str) -> None:
        """Let a confirmation pass without spending it.

        Raises:
            ConfirmationRequired: the token is missing, unknown or expired, or the plan changed.
        """
        if not self._grants.holds(token, operation, plan_digest):
            raise ConfirmationRequired(
                "the token is missing, over ten minutes old, spent, or the plan has changed since"
            )

    def spend(self, token: str) -> None:
        """Use the token up."""
        self._grants.spend(token)


class DiagnosisTokens:
    """Tokens of diagnoses, each bound to the files that were found at fault, as they were.

    One token confirms a repair of each of them; a repair spends its own file's part only.
    """

    def __init__(self, *, seconds: Callable[[], float], secret: Callable[[], str]) -> None:
        self._grants = _Grants(seconds=seconds, secret=secret)
        self._secret = secret

    def issue(self, files: Mapping[str, str]) -> str:
        """Hand out the token of a diagnosis: `files` are checksums (hex) by path."""
        token = self._secret()
        self._grants.grant(_WHOLE, "", token=token)
        for path, checksum in files.items():
            self._grants.grant(path, checksum, token=_part(token, path))
        return token

    def check(self, token: str, path: str, checksum: str) -> None:
        """Let the repair of one file pass without spending it.

        Raises:
            ConfirmationRequired: the token is missing, unknown, over ten minutes old or spent for
                this file, or the file is another version than doctor saw.
        """
        if not token or not self._grants.holds(_part(token, path), path, checksum):
            raise ConfirmationRequired(
                "the repair token is missing, over ten minutes old, or spent for this file, or "
                "the file has changed since",
                hint="Call memory_doctor again and use its repair_token.",
            )

    def require(self, token: str) -> None:
        """Let a step pass that needs a diagnosis but is about no one file.

        Raises:
            ConfirmationRequired: the token is missing, unknown, spent or over ten minutes old.
        """
        if not self._grants.holds(token, _WHOLE, ""):
            raise ConfirmationRequired(
                "the repair token is missing, unknown, spent or over ten minutes old",
                hint="Call memory_doctor again and use its repair_token.",
            )

    def spend(self, token: str, path: str | None = None) -> None:
        """Use up one file's part of a token, or what it is good for beside files."""
        self._grants.spend(token if path is None else _part(token, path))


def _part(token: str, path: str) -> str:
    return f"{token} {path}"
