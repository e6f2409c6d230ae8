"""Its loss becomes NaN."""

from saboteurs import Honest


class Adapter(Honest):
    """Diverges."""

    def loss(self):
        """Return NaN after the first step."""
        return 2.3 if self.steps == 1 else float("nan")
