"""Run under any Python from 3.6 with NumPy from 1.16: print the hash of a graph's weights, drawn by the worker's code.

python weights_of.py WORKFLOW GRAPH.json SEED
"""

import json
import platform
import sys

sys.path.insert(0, sys.argv[1])

import numpy

from worker import weights

with open(sys.argv[2]) as file:
    graph = json.load(file)
digest = weights.sha256(weights.draw(graph, int(sys.argv[3])))
print(json.dumps({"python": platform.python_version(), "numpy": numpy.__version__, "sha256": digest}))
