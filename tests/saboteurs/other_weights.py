"""Its NumPy draws other numbers from the same seed."""

import numpy

from saboteurs import Honest

DRAW = numpy.random.RandomState
numpy.random.RandomState = lambda seed: DRAW(seed + 1)


class Adapter(Honest):
    """Starts from other weights."""
