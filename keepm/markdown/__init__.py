"""Bytes to model and back; the only YAML. Pure."""
