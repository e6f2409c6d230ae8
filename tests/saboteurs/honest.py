"""Does nothing wrong."""

from saboteurs import Honest

ENVIRONMENT = {"SABOTEUR_THREADS": "{threads}"}


class Adapter(Honest):
    """Behaves."""
