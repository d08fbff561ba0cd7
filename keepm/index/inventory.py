"""What the index holds, for comparing it with the files."""

from __future__ import annotations

from keepm.index.database import Database


def documents(db: Database) -> dict[str, str]:
    """Return the checksum of every document's indexed version by path, whoever may see it."""
    with db.reading() as connection:
        rows = connection.execute(
            "SELECT path, checksum FROM all_notes"
            " UNION ALL SELECT path, checksum FROM all_proposals"
            " UNION ALL SELECT path, checksum FROM all_handoffs"
        ).fetchall()
    return dict(rows)
