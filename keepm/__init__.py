"""KeepM: long-term memory for coding agents, in local Markdown, behind a gate."""

__version__ = "4.0.0.dev0"
