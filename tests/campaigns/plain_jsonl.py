"""What KeepM is compared with: a memory server's plain way of writing, kept as simple as it is.

    python -m tests.campaigns.plain_jsonl FILE NAME COUNT

The whole file is read, changed and written back for each entry, as reference memory servers do.
Each write is acknowledged by a line on stdout once the call that wrote has returned.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def load(path: Path) -> dict[str, str]:
    """Return the entries by name; a line that can't be read is passed over."""
    entries: dict[str, str] = {}
    if path.exists():
        for line in path.read_text("utf-8", "replace").splitlines():
            try:
                entry = json.loads(line)
                entries[entry["name"]] = entry["text"]
            except (ValueError, TypeError, KeyError):
                continue
    return entries


def save(path: Path, entries: dict[str, str]) -> None:
    """Write all entries back."""
    lines = [json.dumps({"name": name, "text": text}) for name, text in entries.items()]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def main() -> None:
    path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    for number in range(count):
        entries = load(path)
        entries[f"{name}-{number}"] = "text " * 40
        save(path, entries)
        print(f"{name}-{number}", flush=True)


if __name__ == "__main__":
    main()
