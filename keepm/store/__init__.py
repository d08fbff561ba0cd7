"""The root folder on disk: where files live and how they change.

Everything that writes goes through `disk`; everything that must happen together goes through
`transaction`. Knows nothing of SQLite."""
