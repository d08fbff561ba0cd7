"""What goes wrong around a server: prints, warnings and logs on stdout, and a tool that fails.

Python imports it by itself when this folder is on PYTHONPATH.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from typing import Any

print("noise while the interpreter starts")


def _broken(vault: object) -> None:
    print("noise of a tool")
    os.write(1, b"noise below Python\n")
    warnings.warn("noise of a tool's warning", stacklevel=1)
    logging.getLogger("dependency").warning("noise of a tool's log")
    raise ZeroDivisionError("a secret inside a fault")


class _OnImport:
    """Waits for the server's module, then makes noise and breaks `memory_status`."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name != "keepm.mcp.server":
            return
        sys.meta_path.remove(_OnImport)
        print("noise of an import")
        warnings.warn("noise of a warning", stacklevel=1)
        logging.basicConfig(stream=sys.stdout, level=logging.DEBUG)
        from keepm.operations import status

        status.status = _broken  # type: ignore[assignment]  # the fault is what is wanted


if "KEEPM_DATA_DIR" in os.environ:  # only in the server under test
    sys.meta_path.insert(0, _OnImport)
