"""The disposable SQLite index: handed documents, never opens a note's file."""
