"""Where a key or a line of the body stands in a file, looked up for the few findings that ask."""

from __future__ import annotations

from dataclasses import dataclass, field

from keepm.errors import KeepMError
from keepm.markdown import frontmatter
from keepm.markdown.frontmatter import Parsed
from keepm.operations.vault import Vault
from keepm.store import reader


@dataclass(slots=True)
class Lines:
    """Reads a file again when it is asked about, once."""

    vault: Vault
    _parsed: dict[str, Parsed | None] = field(default_factory=dict)

    def of_key(self, path: str, key: str) -> int | None:
        """Return the line of a front matter's key, if it is there."""
        parsed = self._read(path)
        return None if parsed is None else parsed.lines.get(key)

    def of_body(self, path: str, line: int) -> int | None:
        """Return the file's line for one of the body as the model holds it, both from 1."""
        parsed = self._read(path)
        if parsed is None:
            return None
        blank = 0
        for each in parsed.body.splitlines():
            if each.strip():
                break
            blank += 1
        return parsed.body_line + blank + line - 1

    def _read(self, path: str) -> Parsed | None:
        if path not in self._parsed:
            limit = self.vault.policy.document_bytes
            try:
                data = reader.read(self.vault.root, path, limit=limit)
                self._parsed[path] = frontmatter.parse(data)
            except KeepMError:
                self._parsed[path] = None  # it went, or was broken, since it was looked at
        return self._parsed[path]
