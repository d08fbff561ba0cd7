"""How well notes are found: cards and questions written for KeepM, in English and Chinese.

`python -m tests.benchmarks.retrieval` prints the table of docs/retrieval.md.
"""
