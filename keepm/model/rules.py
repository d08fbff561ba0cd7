"""The catalogue of what doctor can find. `docs/findings.md` is made from it.

Ids are given out once: a rule that goes leaves its number behind. By hundreds: 0 files, 1 front
matter, 2 content, 3 names and links, 4 the Inbox and the gate, 5 sources and verification,
6 KeepM's own records, 7 this machine and its hosts, 8 a pull request.
"""

from __future__ import annotations

from collections.abc import Mapping

from keepm.model.diagnosis import Area, Finding, Rule
from keepm.model.document import Severity
from keepm.model.scope import Scope

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO
_MEND = "Mend that line in an editor."

_CATALOGUE: tuple[tuple[str, str, Severity, str, str], ...] = (
    # ---- 0: files
    ("KM001", "symlink", _W, "a symlink is never followed, so what it leads to is not read",
     "Put the file itself in its place, or take the link away."),
    ("KM002", "folder_like_note", _W, "a folder has a name that ends like a note's",
     "Rename the folder so that it doesn't end in .md."),
    ("KM003", "not_a_file", _W, "a pipe, a device or another thing that is no regular file",
     "Take it out of the vault."),
    ("KM004", "unusable_name", _W, "a name or depth that other systems can't store; it isn't read",
     "Rename it: no reserved word, no trailing dot or blank, none of <>:\"|?*. Or move it up."),
    ("KM005", "unreadable", _E, "a file or folder can't be opened; what lies in it is unknown",
     "Give yourself access to it again."),
    ("KM006", "too_large", _E, "a file over the document limit is not read",
     "Shorten or split it in an editor."),
    ("KM007", "misplaced", _W, "a note or folder lies where no document belongs and is not read",
     "Move it below Memory/global or Memory/projects/<id>."),
    ("KM008", "skipped", _W, "a file was left out of the index",
     "See the reason; the file is as it was."),
    ("KM009", "conflict_copy", _W, "a sync program left a second version of a note beside it",
     "Compare the two, keep one, and delete the other."),
    ("KM010", "placeholder", _I, "a sync program holds only the name of a file here",
     "Let it download the file."),
    # ---- 1: front matter
    ("KM101", "unclosed_front_matter", _E, "the first line opens a front matter without an end",
     "Close it with a line ---, or put an empty line before a horizontal rule."),
    ("KM102", "invalid_yaml", _E, "the front matter is not valid YAML",
     "Put quotes around the value in that line."),
    ("KM103", "front_matter_not_a_map", _E, "the front matter isn't lines of key: value",
     "Write it as key: value, one a line."),
    ("KM104", "yaml_anchor", _E, "the front matter has anchors or aliases (& and *)",
     "Write the value out, or quote it."),
    ("KM105", "yaml_tag", _E, "the front matter has a tag (!)", "Take the tag away, or quote it."),
    ("KM106", "key_not_text", _E, "a key of the front matter is a list or a map",
     "Give the key a plain name."),
    ("KM107", "nesting_too_deep", _E, "values of the front matter are nested too deep",
     "Move that part into the body."),
    ("KM108", "duplicate_key", _E, "a key stands twice; the note is withheld from recall",
     "Keep one of the two lines."),
    ("KM109", "merge_markers", _E, "an unfinished merge; the note is withheld from recall",
     "Keep one of the two sides and take the markers out."),
    ("KM110", "nul_byte", _E, "binary or UTF-16 data; the note is withheld from recall",
     "Save the file as UTF-8 text."),
    ("KM111", "not_utf8", _E, "bytes that are not UTF-8", "Save the file as UTF-8 text."),
    ("KM112", "control_character", _W, "a control character",
     "Take the character out in an editor."),
    ("KM113", "second_front_matter_block", _W, "a second --- block; the note can't be changed here",
     "Merge the two blocks by hand."),
    ("KM114", "empty_value", _W, "a value begins with # and is a comment to YAML",
     "Put quotes around it."),
    ("KM115", "missing_id", _W, "there is no id; the note is read but can't be changed",
     "Let repair add the one its place gives, or add a UUID."),
    ("KM116", "invalid_id", _W, "the id can't be one; the note is read but can't be changed",
     "Let repair replace it, or write a UUID."),
    ("KM117", "not_text", _W, "a list or map where a text belongs, or the reverse", _MEND),
    ("KM118", "invalid_value", _W, "a value that is neither true nor false where one belongs",
     _MEND),
    ("KM119", "invalid_date", _W, "no date of the calendar; it counts as absent", _MEND),
    ("KM120", "unknown_kind", _W, "the kind is none of the known ones; it counts as reference",
     "Write one of the kinds."),
    ("KM121", "unknown_status", _W, "the status is none of the known ones", _MEND),
    ("KM122", "unknown_approved_via", _W, "approved_via is none of the channels",
     "Take the line out; the ledger knows the channel."),
    ("KM123", "unknown_target_action", _W, "target_action is neither update nor supersede", _MEND),
    ("KM124", "scope_mismatch", _W, "the front matter names another scope than the folder",
     "Let repair write the folder's scope, or move the file."),
    ("KM125", "status_mismatch", _W, "status and folder (pending, archive) disagree",
     "Correct the status, or move the file."),
    ("KM126", "missing_key", _I, "a required key is absent; its place says what it is read as",
     "Let repair write it down."),
    ("KM127", "missing_date", _I, "created or updated is absent",
     "Let repair write what the ledger knows, or add the date."),
    ("KM128", "duplicate_section", _W, "a second section of one name in a handoff isn't read",
     "Join the two sections."),
    ("KM129", "missing_section", _W, "a handoff lacks its goal or its current state",
     "Write the section."),
    # ---- 2: content
    ("KM201", "content_refused", _E, "text that may never be stored: a secret, or what is unseen",
     "Take it out, or put a placeholder. Change a secret that stood here where it is used."),
    ("KM202", "over_limit", _W, "a text or list is over its limit", "Shorten or split it."),
    ("KM203", "contract_missing", _W, "the body lacks what its kind requires",
     "Add the named part, with its English label."),
    ("KM204", "missing_description", _W, "there is no one-line description",
     "Say in one line what the note holds."),
    ("KM205", "empty_body", _W, "the note says nothing", "Write the note, or delete it."),
    ("KM206", "invalid_name", _W, "a name or alias has no letter, digit or symbol",
     "Give it a name that can be called."),
    ("KM207", "invalid_source", _W, "a source is no path inside a repository",
     "Write it as path/to/file#hint, relative to the repository."),
    ("KM208", "invalid_field", _W, "a field can't be stored as it is", _MEND),
    ("KM209", "future_date", _W, "a date lies in the future, so the note would never be overdue",
     "Write the day on which it was checked."),
    # ---- 3: names and links
    ("KM301", "duplicate_id", _E, "two files have one id, so that neither can be named by it",
     "Delete one, or give it an id of its own."),
    ("KM302", "duplicate_name", _W, "two active notes of one scope have one name",
     "Keep one: rename, archive or resolve the other."),
    ("KM303", "duplicate_alias", _W, "an alias is also another active note's name or alias",
     "Take the alias out of one of the two."),
    ("KM304", "unresolved_link", _W, "a link leads to no note",
     "Correct its target, or write the note."),
    ("KM305", "ambiguous_link", _W, "a link may mean several notes",
     "Link to the id, or rename one of them."),
    ("KM306", "unresolved_supersedes", _W, "supersedes names a note that isn't there",
     "Take the entry out, or restore the note."),
    ("KM307", "supersedes_circle", _E, "notes supersede one another in a circle",
     "Take one of them out of another's supersedes."),
    ("KM308", "superseded_but_active", _W, "a note is active although another one replaced it",
     "Set its status to superseded, or take it out of the other's supersedes."),
    # ---- 4: the Inbox and the gate
    ("KM401", "pending_stuck", _E, "something waits for a person and can't be decided as it is",
     "Mend the file, or delete it."),
    ("KM402", "pending_overdue", _I, "a proposal has waited for longer than inbox_review_days",
     "Decide it: keepm review."),
    ("KM403", "pending_target_missing", _W, "a proposal corrects a note that isn't there any more",
     "Reject it, or restore the note."),
    ("KM404", "approval_mismatch", _I, "approved_via says another channel than the ledger knows",
     "Nothing is needed: the ledger's word counts. Correct or remove the line."),
    ("KM405", "withheld", _I, "documents that a person keeps out of every read, for now",
     "The owner decides: keepm quarantine list, keepm review --edits."),
    # ---- 5: sources and verification
    ("KM501", "source_pointer_missing", _I, "a source isn't in the work tree any more",
     "Correct the source, or archive the note."),
    ("KM502", "source_pointer_changed", _I, "a source has changed since the note was verified",
     "Check the note against it and set verified_at."),
    ("KM503", "source_pointer_moved", _I, "a source was moved within the work tree",
     "Write its new path, check the note and set verified_at."),
    ("KM504", "source_pointer_check_skipped", _I, "sources of a project without a work tree here",
     "Run doctor in that project's folder, or set it up on this machine."),
    ("KM505", "verification_missing", _I, "a note of a kind that is to be verified never was",
     "Check it and set verified_at."),
    ("KM506", "verification_overdue", _I, "a note was verified longer ago than it may be",
     "Check it and set verified_at."),
    # ---- 6: KeepM's own records
    ("KM601", "transaction_recovery_pending", _E, "an interrupted change waits",
     "Decide on it: keepm repair."),
    ("KM602", "foreign_transaction", _W, "another machine's change is unfinished",
     "Start KeepM on that machine; let the sync program finish."),
    ("KM603", "ledger_broken", _E, "a ledger was cut, edited or reordered",
     "Compare with keepm ledger verify; restore the file from a backup, or keepm ledger accept."),
    ("KM604", "ledger_torn", _I, "a ledger ends in a torn line, as after a power cut",
     "Nothing is needed: the next change closes it."),
    ("KM605", "index_stale", _W, "the index held another version of a file; it was read again",
     "Nothing is needed. If it comes again and again: keepm sync --full."),
    ("KM606", "index_incomplete", _E, "the index lacks a file that can be served",
     "Build the index anew: keepm sync --full, or memory_sync with this token."),
    ("KM607", "deletions_held", _W, "many files are missing at once; they aren't taken for deleted",
     "See that the right folder is mounted. If they are deleted: keepm sync --full."),
    ("KM608", "ledger_copy", _W, "a file lies beside the ledgers that is none, so it isn't read",
     "If a sync program made it, let each machine keep its own data folder; compare both files."),
    # ---- 7: this machine and its hosts
    ("KM701", "network_filesystem", _W, "the vault or the index lies on a network file system",
     "Let one machine write at a time; keep the index on a local disk."),
    ("KM702", "sync_folder", _W, "the vault or the index lies in a folder that is synchronised",
     "Let one machine write at a time; keep the index outside that folder."),
    ("KM703", "project_id_shared", _W, "two repositories have one project id and share its memory",
     "If that isn't meant: keepm setup --project-id NEW in one of them."),
    ("KM704", "project_id_twin", _W, "two project ids differ in upper and lower case only",
     "Keep one of the two in the settings file."),
    ("KM705", "project_not_set_up", _I, "the vault has a project that this machine doesn't know",
     "Run keepm setup in its folder, if it is here."),
    ("KM706", "registration_broken", _E, "a host's registration of the server doesn't work",
     "Run keepm setup again."),
    ("KM707", "registration_missing", _W, "a host that was set up has no registration any more",
     "Run keepm setup again."),
    ("KM708", "hooks_missing", _W, "a host that was set up lacks our hooks",
     "Run keepm setup again, or with --no-hooks."),
    ("KM709", "hooks_outdated", _W, "a host's hooks are not those of this version",
     "Run keepm setup again."),
    ("KM710", "hooks_untrusted", _I, "a host runs our hooks only once they are trusted there",
     "Trust the project if the host asks; then open /hooks there and trust the two."),
    ("KM711", "policy_outdated", _W, "what an agent file says of KeepM isn't what setup writes now",
     "Run keepm setup again."),
    ("KM712", "agent_file_over_limit", _W, "a host cuts an agent file, so that its end isn't read",
     "Shorten the files, or raise the host's limit."),
    ("KM713", "registration_changed", _W, "a registration isn't as setup wrote it and wasn't tried",
     "If that was you, run keepm setup again; if not, look at what the file starts."),
    ("KM714", "unknown_setting", _W, "the settings file has a line that is no setting",
     "Correct its name, or take the line out: keepm config show lists the settings."),
    # ---- 8: a pull request
    ("KM801", "documented_file_changed", _E, "a change touches a file that a note documents",
     "Check the note against the change and set verified_at in the same change."),
)  # fmt: skip

_AREAS = {
    **dict.fromkeys(
        ("KM706", "KM707", "KM708", "KM709", "KM710", "KM711", "KM712", "KM713"), Area.PROJECT
    ),
    **dict.fromkeys(("KM701", "KM702", "KM703", "KM704", "KM705", "KM714"), Area.MACHINE),
}

RULES: Mapping[str, Rule] = {
    code: Rule(rule_id, code, severity, means, fix, _AREAS.get(rule_id, Area.VAULT))
    for rule_id, code, severity, means, fix in _CATALOGUE
}
"""Every rule, by its code."""


def finding(
    code: str,
    reason: str = "",
    *,
    severity: Severity | None = None,
    path: str | None = None,
    line: int | None = None,
    subject: str | None = None,
    scope: Scope | None = None,
    fix: str = "",
    detail: str = "",
    repairable: bool = False,
    checksum: str | None = None,
) -> Finding:
    """Make a finding of a rule; what isn't given is the rule's own."""
    rule = RULES[code]
    return Finding(
        rule=rule,
        reason=reason or rule.means,
        severity=severity or rule.severity,
        path=path,
        line=line,
        subject=subject,
        scope=scope,
        fix=fix or rule.fix,
        detail=detail,
        repairable=repairable,
        checksum=checksum,
    )


def chosen(select: tuple[str, ...], ignore: tuple[str, ...]) -> frozenset[str]:
    """Return the codes that `select` (all by default) names and `ignore` doesn't.

    A name is an id (KM109), the beginning of one (KM1), or a code (merge_markers); of two that
    fit, the more exact one decides, and `ignore` where they are alike.
    """
    kept = set()
    for rule in RULES.values():
        wanted = max(_fit(name, rule) for name in select) if select else 0
        if wanted > max((_fit(name, rule) for name in ignore), default=-1):
            kept.add(rule.code)
    return frozenset(kept)


def unknown(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that fit no rule."""
    return tuple(name for name in names if not any(_fit(name, rule) > 0 for rule in RULES.values()))


def _fit(name: str, rule: Rule) -> int:
    """Return how exactly a name means a rule, -1 when it doesn't."""
    plain = name.strip()
    if plain.lower() == rule.code or plain.upper() == rule.id:
        return len(rule.id)
    return len(plain) if len(plain) >= 2 and rule.id.startswith(plain.upper()) else -1
