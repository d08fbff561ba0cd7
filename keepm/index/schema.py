"""The tables of the index, and the one number that tells whether a file fits this program.

A different number means: throw the file away and build it again. So there are no migrations.
"""

from __future__ import annotations

import re

VERSION = 21
"""Raise it with every change of the schema, of the analysis, or of what `writing` stores."""

APPLICATION_ID = 0x4B4D4958  # "KMIX": tells our files from anybody else's database

SCHEMA = """
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Every file seen, sound or not; a path that isn't valid Unicode is kept as a blob.
CREATE TABLE files (
    path PRIMARY KEY,
    scope TEXT,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    checksum TEXT NOT NULL,
    scanned_ns INTEGER NOT NULL,
    reason TEXT
) WITHOUT ROWID;

-- The ids in files that are named as copies of others (`index/lookalikes`).
CREATE TABLE lookalikes (
    path TEXT PRIMARY KEY,
    scope TEXT NOT NULL,
    id TEXT NOT NULL
) WITHOUT ROWID;

-- Queries look at the views `notes`, `proposals` and `handoffs`, which leave out what is withheld
-- (`index/withholding`); only who must know of that too looks at the tables `all_…`.
CREATE TABLE all_notes (
    number INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    status TEXT NOT NULL,
    standing TEXT NOT NULL,
    kind TEXT,
    language TEXT,
    slot TEXT NOT NULL,
    name TEXT NOT NULL,
    path TEXT NOT NULL UNIQUE,
    id TEXT NOT NULL,
    pinned INTEGER NOT NULL,
    verified_at TEXT,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    checksum TEXT NOT NULL,
    mtime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL,
    findings INTEGER NOT NULL,
    description TEXT NOT NULL,
    tags TEXT NOT NULL,
    aliases TEXT NOT NULL,
    sources TEXT NOT NULL,
    supersedes TEXT NOT NULL,
    source_digests TEXT NOT NULL,
    stated TEXT NOT NULL,
    withheld_by TEXT NOT NULL
);
CREATE INDEX notes_by_slot ON all_notes (slot, scope, status);
-- Further columns for the catalog's order.
CREATE INDEX notes_by_scope ON all_notes
    (scope, status, standing, withheld_by, pinned, kind, verified_at, name, path);
CREATE INDEX notes_pinned ON all_notes (number) WHERE pinned <> 0;
CREATE INDEX notes_of_scope ON all_notes (scope);  -- by number within it: `index/stretches`
-- All that decides whether a search may show a note, on few pages.
CREATE INDEX notes_in_sight ON all_notes
    (number, scope, status, standing, withheld_by, kind, language);
CREATE INDEX notes_overtaken ON all_notes (number) WHERE status <> stated;
CREATE INDEX notes_withheld ON all_notes (path) WHERE withheld_by <> '';
CREATE VIEW notes AS SELECT * FROM all_notes WHERE withheld_by = '';

-- The ids, as handles, that each note says it supersedes.
CREATE TABLE supersessions (
    target TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (target, number)
) WITHOUT ROWID;
CREATE INDEX supersessions_by_number ON supersessions (number);

-- Apart from `notes`, so that filtering thousands of rows doesn't page through their texts.
-- `likenesses` are the keys of the note's rows in the table of that name.
CREATE TABLE bodies (
    number INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    likenesses BLOB NOT NULL
);

-- What a note answers to: its id, its name's slot, its aliases' slots, its file's stem.
CREATE TABLE handles (
    key TEXT NOT NULL,
    scope TEXT NOT NULL,
    role INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (key, scope, role, number)
) WITHOUT ROWID;
CREATE INDEX handles_by_number ON handles (number);

CREATE TABLE tags (
    number INTEGER NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (number, key)
) WITHOUT ROWID;

-- By which a note is met that is the same as another: digests of the keys of `model/similarity`.
-- The second table holds those of the last writes: each lies on another page of the first.
CREATE TABLE likenesses (
    key INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (key, number)
) WITHOUT ROWID;
CREATE TABLE recent_likenesses (
    key INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (key, number)
) WITHOUT ROWID;

-- The same of pending proposals.
CREATE TABLE proposal_likenesses (
    key INTEGER NOT NULL,
    path TEXT NOT NULL,
    PRIMARY KEY (key, path)
) WITHOUT ROWID;
CREATE INDEX proposal_likenesses_by_path ON proposal_likenesses (path);

-- Source pointers in portable spelling, to route from a file to the notes that document it.
CREATE TABLE pointers (
    key TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (key, number)
) WITHOUT ROWID;
CREATE INDEX pointers_by_number ON pointers (number);

-- `target_key` is the whole target as a handle, `tail_key` the last part of a path target.
CREATE TABLE links (
    number INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    target TEXT NOT NULL,
    target_key TEXT NOT NULL,
    tail_key TEXT NOT NULL,
    relation TEXT,
    line INTEGER NOT NULL,
    PRIMARY KEY (number, sequence)
) WITHOUT ROWID;
CREATE INDEX links_by_target ON links (target_key);
CREATE INDEX links_by_tail ON links (tail_key);

-- Which versions were put where by which event: what the ledgers say, a row for each change.
CREATE TABLE versions (
    transaction_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    time TEXT NOT NULL,
    operation TEXT NOT NULL,
    surface TEXT NOT NULL,
    channel TEXT,
    client TEXT NOT NULL,
    session TEXT NOT NULL,
    object_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    old TEXT,
    new TEXT,
    similar_to TEXT NOT NULL,
    PRIMARY KEY (transaction_id, position)
) WITHOUT ROWID;
CREATE INDEX versions_let_by ON versions (time) WHERE similar_to <> '';
CREATE INDEX versions_by_new ON versions (new);
CREATE INDEX versions_by_old ON versions (old);
CREATE INDEX versions_by_object ON versions (object_id);

-- What people ruled: the events of the ledgers that carry a ruling (`index/rulings`).
CREATE TABLE rulings (
    transaction_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    time TEXT NOT NULL,
    ruling TEXT NOT NULL,
    scope TEXT NOT NULL,
    object_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    channel TEXT,
    PRIMARY KEY (transaction_id, ruling, subject)
) WITHOUT ROWID;
CREATE INDEX rulings_by_subject ON rulings (ruling, subject);

-- Versions that come from an origin in quarantine, by rule; `reach` is null for the whole vault.
CREATE TABLE quarantined (
    digest TEXT NOT NULL,
    rule TEXT NOT NULL,
    reach TEXT,
    PRIMARY KEY (digest, rule)
) WITHOUT ROWID;

-- Versions that people wrote by hand and nobody has accepted, where that is asked for.
CREATE TABLE unreviewed (
    digest TEXT NOT NULL,
    scope TEXT NOT NULL,
    kind TEXT NOT NULL,
    PRIMARY KEY (digest, scope, kind)
) WITHOUT ROWID;

-- What people changed by hand and no ledger tells yet; `review`: it waits for a person's look.
CREATE TABLE hand_edits (
    path TEXT PRIMARY KEY,
    before TEXT,
    document_id TEXT,
    review INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE all_proposals (
    path TEXT PRIMARY KEY,
    id TEXT NOT NULL,
    slot TEXT NOT NULL,
    scope TEXT NOT NULL,
    status TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    reason TEXT NOT NULL,
    source_client TEXT NOT NULL,
    target_id TEXT,
    resolved_at TEXT,
    checksum TEXT NOT NULL,
    findings INTEGER NOT NULL,
    withheld_by TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX proposals_by_id ON all_proposals (id);
CREATE INDEX proposals_by_slot ON all_proposals (slot);
CREATE INDEX proposals_by_target ON all_proposals (target_id) WHERE target_id IS NOT NULL;
CREATE INDEX proposals_withheld ON all_proposals (path) WHERE withheld_by <> '';
CREATE VIEW proposals AS SELECT * FROM all_proposals WHERE withheld_by = '';

CREATE TABLE all_handoffs (
    path TEXT PRIMARY KEY,
    id TEXT NOT NULL,
    slot TEXT NOT NULL,
    scope TEXT NOT NULL,
    status TEXT NOT NULL,
    title TEXT NOT NULL,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    checksum TEXT NOT NULL,
    findings INTEGER NOT NULL,
    withheld_by TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX handoffs_withheld ON all_handoffs (path) WHERE withheld_by <> '';
CREATE VIEW handoffs AS SELECT * FROM all_handoffs WHERE withheld_by = '';

-- Holds terms that `analysis` made, parted by blanks. The tokenizer only splits them again:
-- every byte above ASCII and the listed signs belong to a term.
CREATE VIRTUAL TABLE terms USING fts5 (
    name, aliases, tags, description, sources, body,
    tokenize = "ascii tokenchars '.-_/+#@%=:&'"
);

-- The values that a note states under "Reproducible parameters".
CREATE TABLE parameters (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    number INTEGER NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (scope, key, number)
) WITHOUT ROWID;
CREATE INDEX parameters_by_number ON parameters (number);

-- In how many notes of a scope a term stands, and what `index/frequencies` counts beside. A
-- scope's terms lie together: a look-up never meets another project's. The second table holds
-- what the last writes add to the first, or take away.
CREATE TABLE frequencies (
    scope INTEGER NOT NULL,
    term TEXT NOT NULL,
    notes INTEGER NOT NULL,
    PRIMARY KEY (scope, term)
) WITHOUT ROWID;
CREATE TABLE recent_frequencies (
    scope INTEGER NOT NULL,
    term TEXT NOT NULL,
    notes INTEGER NOT NULL,
    PRIMARY KEY (scope, term)
) WITHOUT ROWID;

-- A number for each scope's key, since these tables have many rows.
CREATE TABLE scopes (
    scope INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE
);
"""

TABLES = frozenset(re.findall(r"CREATE (?:VIRTUAL )?TABLE (\w+)", SCHEMA)) | {
    f"terms_{part}" for part in ("data", "idx", "content", "docsize", "config")
}
"""Every table that a sound file has."""
