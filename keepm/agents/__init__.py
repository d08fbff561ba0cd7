"""Other programs' files (host configuration, instructions, hooks), changed reversibly."""
