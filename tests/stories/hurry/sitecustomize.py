"""A server that gives a person one second for an answer, where a real one gives minutes.

Python imports it by itself when this folder is on PYTHONPATH.
"""

from __future__ import annotations

import os
import sys
from typing import Any


class _OnImport:
    """Waits for the server's module, then sets its patience."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name != "keepm.mcp.server":
            return
        sys.meta_path.remove(_OnImport)
        from keepm.mcp import session

        session.PATIENCE_SECONDS = 1.0


if "KEEPM_DATA_DIR" in os.environ:  # only in the server under test
    sys.meta_path.insert(0, _OnImport)
