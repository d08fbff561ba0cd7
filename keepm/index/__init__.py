"""The index: a SQLite file that answers quickly and may be deleted at any time.

It is handed documents and never opens a note; what it can't answer from a rebuild it does not
know. `writing` decides what is searchable, `rows` holds the one scope predicate in SQL.
"""
