"""By which channel a version became memory, as the ledgers told it."""

from __future__ import annotations

from keepm.index.database import Database


def channel_of(db: Database, checksum: str) -> str | None:
    """Return the channel that let exactly these bytes in, or nothing."""
    with db.reading() as connection:
        row = connection.execute(
            "SELECT channel FROM approvals WHERE checksum = ?", (checksum,)
        ).fetchone()
    return None if row is None else str(row[0])
