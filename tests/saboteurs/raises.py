"""Raises in a step."""

from saboteurs import Honest


class Adapter(Honest):
    """Has a bug."""

    def step(self, index):
        """Raise at the fourth step."""
        super().step(index)
        if self.steps == 4:
            raise ZeroDivisionError("the bug of this framework")
