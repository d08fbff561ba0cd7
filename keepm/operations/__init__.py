"""Use cases: `verb(vault, request, proof) -> result`. Every change takes `mutation`."""
