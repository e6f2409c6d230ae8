"""What a record was measured with, as hashes of the sources' meaning: a comment or a docstring changes nothing.

A record holds `adapter`, `worker` (what measures), `network` (its graphs, so the op table too), `environment`, and
`data` (what is trained on) or, of a gate cell, `gate` (what compares). A record whose hashes are not those of the
checkout is stale.
"""

import ast
import hashlib
import io
import json
import tokenize

import yaml

from host import catalogue, graph

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}


def python(text):
    """Return the hash of a Python source without comments, docstrings, blank lines and the width of indentation.

    text     the source; a SyntaxError passes through, with its line
    returns  SHA-256, hexadecimal
    """
    docstrings = docstring_positions(ast.parse(text))
    kept, in_docstring = [], False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in LAYOUT:
            continue
        if token.start in docstrings or (in_docstring and token.type == tokenize.NEWLINE):
            in_docstring = token.type != tokenize.NEWLINE  # its line's end goes with it
            continue
        in_docstring = False
        layout = token.type in (tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE)
        kept.append(tokenize.tok_name[token.type] if layout else token.string)
    return digest("\0".join(kept))


def docstring_positions(tree):
    """Return the (line, column) of every string token that belongs to a docstring of the parsed source."""
    found = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if not isinstance(node, kinds) or not body or ast.get_docstring(node, clean=False) is None:
            continue
        found.add((body[0].value.lineno, body[0].value.col_offset))
    return found


def yaml_file(text):
    """Return the hash of a YAML text's content: comments, order of keys and quoting change nothing."""
    return digest(json.dumps(yaml.safe_load(text), sort_keys=True, separators=(",", ":")))


def digest(text):
    """Return the SHA-256 of a text in UTF-8, hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def files(paths, root):
    """Return one hash over Python files: their paths below root and their meaning, whatever order they come in."""
    parts = ["{} {}".format(path.relative_to(root).as_posix(), python(read(path))) for path in sorted(paths)]
    return digest("\n".join(parts))


def read(path):
    """Return a source file's text."""
    return path.read_text(encoding="utf-8")


def adapter(path):
    """Return the hash of an adapter: its file, and the package of its name beside the worker's files if it has one."""
    package = path.parents[1] / path.stem
    return files([path, *package.rglob("*.py")], path.parents[1])


def worker(folder=catalogue.WORKFLOW / "worker"):
    """Return the hash of what measures in the worker: not adapters, nor what only gate cells run."""
    adapters = set((folder / "frameworks").glob("*.py")) - {folder / "frameworks" / "__init__.py"}
    return files(set(folder.rglob("*.py")) - adapters - gate_files(folder), folder)


def gate_files(folder):
    """Return the worker's files that only gate cells run: the gate's tasks and the reference."""
    tasks = {folder / name for name in ("gate.py", "bundle.py") if (folder / name).exists()}
    return tasks | set((folder / "reference").rglob("*.py"))


def gate(folder=catalogue.WORKFLOW):
    """Return the hash of what compares: the worker's gate files, the reference's adapter, the host's tolerances."""
    worker_files = [*gate_files(folder / "worker"), folder / "worker" / "frameworks" / "reference.py"]
    return files([*worker_files, *(folder / "host" / "gate").glob("*.py")], folder)


def network(name):
    """Return the hash of a network's graphs, the full one and the gate's: of what its file and the op table mean."""
    graphs = (graph.lower(name, "full"), graph.lower(name, "gate", "gate"))
    return digest(" ".join(graph.sha256(each) for each in graphs))


def data(name):
    """Return the hash of a data set: its file, what lies beside it under its name, and what cuts it into batches."""
    source = catalogue.find("data", name, "data")
    beside = [path for path in sorted(source.parent.glob(name + ".*")) if path.suffix != ".py"]
    parts = [hashlib.sha256(path.read_bytes()).hexdigest() for path in beside]
    cutting = catalogue.WORKFLOW / "host" / "batches.py"
    return digest(" ".join([python(read(source)), python(read(cutting)), *parts]))


def environment(framework, accelerator):
    """Return the hash of envs/<accelerator>/<framework>.yaml."""
    return yaml_file(read(environment_path(framework, accelerator)))


def environment_path(framework, accelerator):
    """Return the path of envs/<accelerator>/<framework>.yaml."""
    return catalogue.ROOT / "envs" / accelerator / (framework + ".yaml")


def sources(cell, adapter_path, environment_file):
    """Return {part: function that returns its hash} of a cell's fingerprint; a function raises what its file raises."""
    parts = {
        "adapter": lambda: adapter(adapter_path),
        "worker": worker,
        "network": lambda: network(cell["network"]),
        "environment": lambda: yaml_file(read(environment_file)),
    }
    return parts | ({"gate": gate} if cell["mode"] == "gate" else {"data": lambda: data(cell["data"])})


def of_cell(cell, accelerator):
    """Return the fingerprint of a cell in this checkout, as it stands in records: {part: hash}."""
    adapter_path = catalogue.FOLDERS["adapter"][0] / (catalogue.adapter_name(cell["framework"]) + ".py")
    parts = sources(cell, adapter_path, environment_path(cell["framework"], accelerator))
    return {part: source() for part, source in parts.items()}
