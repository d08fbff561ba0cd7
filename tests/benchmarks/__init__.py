"""How fast KeepM is, beside the raw operation in the same run: `python -m tests.benchmarks`."""
