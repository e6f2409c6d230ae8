"""The distinct batches of a cell: cut from a data set in a seeded order, the same files for every framework.

Files are named by the hash of what they hold, so that workers map them into memory and none is written twice. A small
index beside them says which files a (data set, batch, count, seed) has.
"""

import hashlib
import importlib
import io
import json
import os
from pathlib import Path

import numpy

from host import catalogue, fingerprint


def write(data, batch, count, seed, folder):
    """Return [{"inputs": path, "targets": path}, ...] of `count` distinct batches, written where they are missing.

    data     name of a file of host/datasets
    batch    samples in a batch
    seed     of the order: the same one gives every framework the same batches
    folder   the cache; made if it is not there
    raises   ValueError if there is no such data set or the batches cannot be distinct
    """
    folder = Path(folder)
    source = catalogue.find("data", data, "data")
    key = {"data": data, "source": fingerprint.python(fingerprint.read(source)), "batch": batch, "count": count}
    key.update(seed=seed, cutting=fingerprint.python(fingerprint.read(Path(__file__))))
    index = folder / "{}-b{}-k{}-s{}.json".format(data, batch, count, seed)
    names = read_index(index, key, folder)
    if names is None:
        inputs, targets = load(data)
        folder.mkdir(parents=True, exist_ok=True)
        names = [
            [store(numpy.ascontiguousarray(inputs[rows]), folder), store(targets[rows], folder)]
            for rows in order(len(inputs), batch, count, seed, data)
        ]
        replace(index, json.dumps({"key": key, "files": names}).encode())
    return [{"inputs": str(folder / first), "targets": str(folder / second)} for first, second in names]


def check_fit(data, batches, graph):
    """Raise ValueError if the batches' shape or classes are not those of the network's input."""
    inputs = numpy.load(batches[0]["inputs"], mmap_mode="r")
    wanted = tuple(graph["input"]["shape"])
    if inputs.shape[1:] != wanted:
        raise ValueError(
            "network {!r} takes samples of shape {}, the data set {!r} has {}: give the cell other data or another "
            "network".format(graph["network"], wanted, data, inputs.shape[1:])
        )
    largest = max(int(numpy.load(batch["targets"], mmap_mode="r").max()) for batch in batches)
    if largest >= graph["classes"]:
        raise ValueError(
            "network {!r} has {} classes, the data set {!r} has a target {}".format(
                graph["network"], graph["classes"], data, largest
            )
        )


def load(data):
    """Return a data set's (inputs, targets) after checking their types and lengths; raise ValueError."""
    inputs, targets = importlib.import_module("host.datasets." + data).load()
    if inputs.dtype != numpy.float32 or targets.dtype != numpy.int64 or len(inputs) != len(targets):
        raise ValueError(
            "data set {!r}: load() must return float32 inputs and as many int64 targets, it returned {} {} and "
            "{} {}".format(data, len(inputs), inputs.dtype, len(targets), targets.dtype)
        )
    return inputs, targets


def order(samples, batch, count, seed, data):
    """Return `count` arrays of `batch` row numbers: a shuffled data set, shuffled again where it is used up."""
    if count > 1 and batch > samples * 4:
        raise ValueError("data set {!r} has {} samples: too few for batches of {}".format(data, samples, batch))
    generator = numpy.random.RandomState(seed)
    rounds = -(-count * batch // samples)
    rows = numpy.concatenate([generator.permutation(samples) for _ in range(rounds)])
    return [rows[number * batch : (number + 1) * batch] for number in range(count)]


def read_index(index, key, folder):
    """Return the file names that an index holds, None if it is another's, damaged, or a file is missing."""
    try:
        content = json.loads(index.read_text(encoding="utf-8"))
        if content["key"] != key or not all((folder / name).is_file() for pair in content["files"] for name in pair):
            return None
        return content["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(array, folder):
    """Write an array as <hash>.npy unless it is there; return the file's name."""
    buffer = io.BytesIO()
    numpy.save(buffer, array, allow_pickle=False)
    content = buffer.getvalue()
    name = hashlib.sha256(content).hexdigest()[:32] + ".npy"
    if not (folder / name).is_file():
        replace(folder / name, content)
    return name


def replace(path, content):
    """Write a file in one step: a reader sees all of it or none."""
    temporary = path.with_name("{}.{}.tmp".format(path.name, os.getpid()))
    temporary.write_bytes(content)
    os.replace(temporary, path)
