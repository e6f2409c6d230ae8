"""Fails as C++ does when memory runs out: words on the error stream and an abort."""

import os

from saboteurs import Honest


class Adapter(Honest):
    """Is greedy in C++."""

    def step(self, index):
        """Abort with the words of the C++ library."""
        os.write(
            2, b"terminate called after throwing an instance of \x27std::bad_alloc\x27\n  what():  std::bad_alloc\n"
        )
        os.abort()
