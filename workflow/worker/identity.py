"""Who this process is: interpreter, prefix and installed distributions, read without importing any of them."""

import os
import re
import sys


def hello():
    """Return the prefix, executable, Python and NumPy versions, and {normalised name: version} of what is installed."""
    import numpy

    return {
        "prefix": sys.prefix,
        "executable": sys.executable,
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "numpy": numpy.__version__,
        "distributions": distributions(sys.path),
    }


def distributions(folders):
    """Return {name: version} from the *.dist-info and *.egg-info entries of the folders; the first folder wins.

    Names are normalised as PEP 503 says: lower case, runs of "-", "_" and "." written as one hyphen.
    """
    found = {}
    for folder in folders:
        try:
            entries = sorted(os.listdir(folder or "."))
        except OSError:
            continue
        for entry in entries:
            match = re.match(r"(.+?)-(\d[^-]*)(-py[\d.]+)?\.(dist|egg)-info$", entry)
            if match:
                found.setdefault(re.sub(r"[-_.]+", "-", match.group(1)).lower(), match.group(2))
    return found
