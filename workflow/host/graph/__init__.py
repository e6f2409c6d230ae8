"""Networks as data: the builder that network files call, the op table, starting values, and their hashes."""

from host.graph.build import build, load, lower, parameter_count, sha256

__all__ = ["build", "load", "lower", "parameter_count", "sha256"]
