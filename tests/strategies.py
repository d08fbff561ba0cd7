"""What people write: Chinese, emoji, signs that mean something to YAML or Markdown, odd endings."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from keepm.markdown import scalars
from keepm.markdown.bodies import trimmed
from keepm.model import identity
from keepm.model.approval import Channel
from keepm.model.handoff import Handoff, HandoffStatus
from keepm.model.memory import GLOBAL, Claim, Kind, Language, Memory, Scope, Status
from keepm.model.proposal import Proposal, ProposalStatus, TargetAction

# A busy machine is no failure: laws are about answers, never about time.
settings.register_profile("keepm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("keepm")

AWKWARD = (
    "yes",
    "no",
    "Null",
    "~",
    "1.10",
    "0123",
    "1e5",
    "12:30",
    "2026-02-30",
    "0x1F",
    "=",
    "<<",
    "*star",
    "&anchor",
    "!tag",
    "- item",
    "? key",
    "a: b",
    "a #b",
    "#tag",
    "[x]",
    "{x: y}",
    "[[Note|alias]]",
    'it\'s "quoted"',
    "back\\slash",
    "---",
    "记忆：规则",
    "构建命令",
    "👩‍💻 emoji",
    "café",
    "%percent",
    "@at",
    "`tick`",
    "trailing:",
    "a, b",
)

lines = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=30),
)
"""A text without line breaks and control characters."""

words = lines.map(str.strip).filter(bool)

_body_lines = st.one_of(
    st.sampled_from(
        (
            "",
            "---",
            "# Heading",
            "## Goal",
            "## Next steps",
            "\\## escaped",
            "```",
            "```py",
            "~~~~",
            "    indented",
            "\ttabbed",
            "- item",
            "  - nested",
            "| a | b |",
            "key: value",
            "- [ ] open",
            "正文，第一行。",
            "[[链接]] and `code`",
            "=======",
        )
    ),
    lines,
)

bodies = st.lists(_body_lines, max_size=8).map("\n".join).map(trimmed)
"""A body as the model holds it; it may hold stray rules, fences and headings."""

full_bodies = bodies.filter(bool)

times = st.sampled_from(("2026-11-29T18:15:00Z", "2025-01-02"))
ids = st.uuids().map(str)
scopes = st.sampled_from((GLOBAL, Scope("widgets"), Scope("我的项目")))
_unique_words = st.lists(words, max_size=4, unique_by=str.casefold).map(tuple)
_names = words.filter(lambda text: bool(identity.slot_key(text)))


def claims(scope: Scope) -> st.SearchStrategy[Claim]:
    """Claims of one scope, as they can be read back."""
    tags = st.lists(
        words.map(lambda text: text.lstrip("#").strip()).filter(bool),
        max_size=4,
        unique_by=str.casefold,
    )
    return st.builds(
        Claim,
        name=_names,
        description=lines.map(str.strip),
        kind=st.sampled_from(Kind),
        body=bodies,
        scope=st.just(scope),
        language=st.sampled_from(Language),
        tags=tags.map(tuple),
        pinned=st.booleans(),
        aliases=_unique_words,
        sources=_unique_words,
        verified_at=st.sampled_from((None, "2026-11-29")),
    )


def memories(scope: Scope = GLOBAL) -> st.SearchStrategy[Memory]:
    """Memories of one scope, as they can be read back."""
    return st.builds(
        Memory,
        id=ids,
        claim=claims(scope),
        status=st.sampled_from(Status),
        created=times,
        updated=times,
        supersedes=st.lists(ids, max_size=3, unique=True).map(tuple),
        source_digests=st.dictionaries(words, st.sampled_from(("4b825dc642cb", "123456789012")))
        .map(dict.items)
        .map(tuple),
        approved_via=st.sampled_from((None, *Channel)),
        resolution_reason=st.one_of(st.none(), full_bodies.map(str.strip).filter(bool)),
    )


def proposals(scope: Scope = GLOBAL) -> st.SearchStrategy[Proposal]:
    """Pending proposals of one scope, as they can be read back."""
    return st.builds(
        Proposal,
        id=ids,
        claim=claims(scope),
        reason=full_bodies.map(str.strip).filter(bool),
        status=st.just(ProposalStatus.PENDING),
        created=times,
        updated=times,
        source_client=st.sampled_from(("", "claude-code 2.1")),
        source_ref=lines.map(str.strip),
        target_id=st.one_of(st.none(), ids),
        target_action=st.sampled_from((None, *TargetAction)),
    )


_items = st.lists(full_bodies.map(str.strip).filter(bool), max_size=4).map(tuple)


def handoffs(project_id: str = "widgets") -> st.SearchStrategy[Handoff]:
    """Active handoffs, as they can be read back."""
    return st.builds(
        Handoff,
        id=ids,
        project_id=st.just(project_id),
        title=words,
        goal=full_bodies,
        current_state=full_bodies,
        completed=_items,
        unresolved=_items,
        next_steps=_items,
        verification=_items,
        language=st.sampled_from(Language),
        status=st.just(HandoffStatus.ACTIVE),
        created=times,
        updated=times,
        source_client=st.sampled_from(("", "codex")),
    )


# ---- files as people write them -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written:
    """A file with front matter, and the lines of each of its keys."""

    data: bytes
    chunks: tuple[tuple[str, bytes], ...]  # key ("" for comments and blank lines) → exact bytes
    body: bytes


_KEYS = ("id", "title", "tags", "状态", "x-custom", "rating", "related", "long", "created", "deep")


def _entry(key: str, newline: str) -> st.SearchStrategy[str]:
    plain = words.map(scalars.scalar)
    comment = st.sampled_from(("", "   # a comment", " # 注释"))
    one_line = st.one_of(
        st.just(""),
        plain,
        words.map(lambda text: scalars.scalar(text, quote="'")),
        words.map(lambda text: scalars.scalar(text, quote='"')),
        st.lists(plain, max_size=3).map(lambda items: "[" + ", ".join(items) + "]"),
        st.just("{a: 1, b: [2, 3]}"),
        st.just("[[Other note]]"),
    )
    lines_below = st.one_of(
        st.lists(plain, min_size=1, max_size=3).map(lambda items: [f"- {i}" for i in items]),
        st.lists(plain, min_size=1, max_size=3).map(
            lambda items: ["  # between", *(f"    - {i}" for i in items)]
        ),
        st.just(["  inner: 1", "  # inside", "  other: two"]),
    )
    block = st.sampled_from(([">-", "  folded", "  text"], ["|", "  kept", "", "    deeper"]))
    return st.one_of(
        st.tuples(one_line, comment).map(lambda t: f"{key}: {t[0]}{t[1]}{newline}"),
        st.tuples(lines_below, comment).map(
            lambda t: newline.join([f"{key}:{t[1]}", *t[0]]) + newline
        ),
        block.map(lambda b: newline.join([f"{key}: {b[0]}", *b[1:]]) + newline),
    )


@st.composite
def written_files(draw: st.DrawFn) -> Written:
    """Files with comments, foreign keys, any quoting and style, CRLF or CR, BOM, stray rules."""
    newline = draw(st.sampled_from(("\n", "\r\n", "\r")))
    keys = draw(st.lists(st.sampled_from(_KEYS), unique=True, max_size=6))
    chunks: list[tuple[str, bytes]] = []
    for key in keys:
        if draw(st.integers(0, 3)) == 0:
            chunks.append(("", f"# 人的注释{newline}".encode()))
        chunks.append((key, draw(_entry(key, newline)).encode()))
    body = (newline + draw(bodies).replace("\n", newline) + newline).encode()
    bom = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    fence = f"---{newline}".encode()
    data = bom + fence + b"".join(chunk for _, chunk in chunks) + fence + body
    return Written(data, tuple(chunks), body)


values = st.one_of(
    lines,
    st.booleans(),
    st.lists(words, max_size=4),
    st.dictionaries(words, words, max_size=3),
)
"""What may be written into front matter."""

changes = st.dictionaries(
    st.sampled_from((*_KEYS, "new", "键")), st.one_of(st.none(), values), max_size=3
)
