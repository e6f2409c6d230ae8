"""Says that it runs in another environment."""

import sys

from saboteurs import Honest

sys.prefix = "/opt/another/environment"


class Adapter(Honest):
    """Behaves, elsewhere."""
