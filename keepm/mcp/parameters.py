"""The types of tools' parameters: each with its description and bounds, said once.

`MISSING` stands for an absent optional argument, so that schemas need no `null`; a `null` that a
client sends is dropped before validation. The bounds repeat `policies/limits.toml`, and a test
keeps them equal.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import MISSING, Field

Value = TypeVar("Value")


def given(value: Value | MISSING) -> Value | None:
    """Return an optional argument, or `None` when it is absent."""
    return None if value is MISSING else value


def listed(values: list[str] | MISSING) -> tuple[str, ...] | None:
    """Return an optional list as a tuple, or `None` when it is absent."""
    return None if values is MISSING else tuple(values)


Identifier = Annotated[str, Field(description="Id, name or alias.", max_length=240)]
ExpectedChecksum = Annotated[str, Field(description="From a full read.", max_length=64)]
UpdateToken = Annotated[str, Field(description="From that read.", max_length=64)]
ScopeName = Annotated[Literal["global", "project"], Field(description="Where it belongs.")]
OnlyScope = Annotated[Literal["global", "project"], Field(description="Only this scope.")]
_Kind = Literal[
    "constraint",
    "decision",
    "fix",
    "workflow",
    "preference",
    "feedback",
    "capability",
    "overview",
    "reference",
]
KindName = Annotated[_Kind, Field(description="See the policy.")]
OnlyKind = Annotated[_Kind, Field(description="Only this kind.")]
LanguageName = Annotated[Literal["en", "zh"], Field(description="Language.")]
Name = Annotated[str, Field(description="A stable topic, not its value.", max_length=120)]
Description = Annotated[str, Field(description="One line: what it answers.", max_length=600)]
Body = Annotated[str, Field(description="Markdown, up to 16 KiB.", max_length=16384)]
Tags = Annotated[
    list[Annotated[str, Field(max_length=48)]], Field(description="Tags.", max_length=12)
]
Aliases = Annotated[
    list[Annotated[str, Field(max_length=120)]],
    Field(description="Other names.", max_length=12),
]
Sources = Annotated[
    list[Annotated[str, Field(max_length=240)]],
    Field(description="Repo paths: path#hint.", max_length=12),
]
Supersedes = Annotated[
    list[Annotated[str, Field(max_length=240)]],
    Field(description="Replaced notes.", max_length=12),
]
Pinned = Annotated[bool, Field(description="Always in context.")]
VerifiedAt = Annotated[str, Field(description="Checked on YYYY-MM-DD.", max_length=10)]
AllowSimilar = Annotated[bool, Field(description="User wants both.")]
Reason = Annotated[str, Field(description="Why remember it.", max_length=600)]
SourceRef = Annotated[str, Field(description="Where it came up.", max_length=240)]
Limit = Annotated[int, Field(description="Most items.", ge=1, le=100)]
Offset = Annotated[int, Field(description="Items to skip.", ge=0, le=1_000_000)]
CharOffset = Annotated[int, Field(description="Characters to skip.", ge=0, le=10_000_000)]
BodyChars = Annotated[
    int, Field(description="Characters at most, of the body.", ge=1, le=1_000_000)
]
AnswerChars = Annotated[int, Field(description="Characters at most.", ge=500, le=100_000)]
DryRun = Annotated[bool, Field(description="Only show the plan.")]
Confirm = Annotated[bool, Field(description="Carry it out.")]
Full = Annotated[bool, Field(description="Rebuild it.")]
RepairToken = Annotated[str, Field(description="From memory_doctor.", max_length=64)]
Text = Annotated[str, Field(max_length=2000)]
Items = list[Annotated[str, Field(max_length=800)]]
