"""Its loss grows a hundredfold."""

from saboteurs import Honest


class Adapter(Honest):
    """Diverges slowly."""

    def loss(self):
        """Return more at every step."""
        return 2.3 * self.steps**2
