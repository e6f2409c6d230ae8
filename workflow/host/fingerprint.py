"""What a record was measured with, as hashes of the sources' meaning: a comment or a docstring changes nothing.

A record holds four: `adapter`, `worker` (every worker file except the adapters), `network`, `environment`. A record
whose hashes are not those of the checkout is stale.
"""

import ast
import hashlib
import io
import json
import tokenize

import yaml

from host import catalogue

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
    """Return the hash of an adapter's file."""
    return python(read(path))


def worker(folder=catalogue.WORKFLOW / "worker"):
    """Return the hash of everything that the worker runs besides an adapter."""
    adapters = set((folder / "frameworks").glob("*.py")) - {folder / "frameworks" / "__init__.py"}
    return files(set(folder.rglob("*.py")) - adapters, folder)


def network(name):
    """Return the hash of a network's file."""
    return python(read(catalogue.FOLDERS["network"][0] / (name + ".py")))


def environment(framework, accelerator):
    """Return the hash of envs/<accelerator>/<framework>.yaml."""
    return yaml_file(read(catalogue.ROOT / "envs" / accelerator / (framework + ".yaml")))


def of_cell(cell, accelerator):
    """Return the fingerprint of a cell in this checkout, as it stands in records: {part: hash}."""
    adapter_path = catalogue.FOLDERS["adapter"][0] / (catalogue.adapter_name(cell["framework"]) + ".py")
    return {
        "adapter": adapter(adapter_path),
        "worker": worker(),
        "network": network(cell["network"]),
        "environment": environment(cell["framework"], accelerator),
    }
