"""Refuses an axis value, as adapters should."""

from saboteurs import Honest
from worker.frameworks import Unsupported


class Adapter(Honest):
    """Knows float32 only."""

    def __init__(self, cell, rank=0, ranks=1):
        raise Unsupported("precision: this framework has float16 only")
