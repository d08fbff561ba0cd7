"""A small honest MCP server on stdio, to be spoken to as any host would; run as a script.

    mcp_server.py NAME VERSION PROJECT [FAULT] [...]

FAULT is `none`, `noise` (words on stdout), `silent`, `dies`, `fails` (memory_status is an error)
or `asks` (a request of its own before each answer). Further arguments are ignored, but `hook`
answers as a hook does.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def main() -> None:
    name, version, project, *rest = sys.argv[1:]
    fault = rest[0] if rest else "none"
    if "hook" in rest:
        sys.stdin.read()
        print("context" if "session-start" in rest else "", end="")
        return
    if fault == "dies":
        sys.exit("no such vault")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        if fault == "silent":
            time.sleep(60)
        if fault == "noise":
            print("hello", flush=True)
        if fault == "asks":
            print(json.dumps({"jsonrpc": "2.0", "id": 900, "method": "ping"}), flush=True)
        result = answer(message["method"], name, version, project, fails=fault == "fails")
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


def answer(method: str, name: str, version: str, project: str, *, fails: bool) -> dict[str, Any]:
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "serverInfo": {"name": name, "version": version}}
    if method == "tools/list":
        return {"tools": [{"name": "memory_status"}, {"name": "memory_search"}]}
    if fails:
        return {"isError": True, "content": [{"type": "text", "text": "no space is left"}]}
    status = {
        "project": project or None,
        "ledger_head": {"sequence": 3, "hash": "0" * 64},
        "index_state": "current",
    }
    return {"structuredContent": status}


if __name__ == "__main__":
    main()
