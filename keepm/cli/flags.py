"""From the flags that every command takes to the settings."""

from __future__ import annotations

import argparse

from keepm import config
from keepm.config import Settings


def settings(args: argparse.Namespace) -> Settings:
    """Resolve the settings with `--root` and `--project-dir`.

    Raises:
        ConfigurationError: a flag, a variable or the settings file is wrong.
    """
    flags = {"root": args.root, "project_dir": args.project_dir}
    return config.load({name: value for name, value in flags.items() if value is not None})
