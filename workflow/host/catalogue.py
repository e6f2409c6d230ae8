"""What there is: names come from listing folders, and a wrong name is answered with the right ones.

Nothing is registered anywhere. A framework key is the name of `envs/<accelerator>/<key>.yaml`; its adapter is the
part before the first hyphen. Networks, studies, tables, figures and data sets are the files of their folders.
"""

import ast
import difflib
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / "workflow"
PARSING = threading.Lock()  # before Python 3.11.5 two threads that parse at once end in a SystemError
FOLDERS = {
    "study": (ROOT / "config" / "studies", ".yaml"),
    "network": (WORKFLOW / "networks", ".py"),
    "adapter": (WORKFLOW / "worker" / "frameworks", ".py"),
    "data": (WORKFLOW / "host" / "datasets", ".py"),
    "table": (WORKFLOW / "tables", ".py"),
    "figure": (WORKFLOW / "figures", ".py"),
}


class Mistake(ValueError):
    """The user's mistake, in words for the user: where, what was asked, what there is. Shown without a traceback."""


def mistake(where, value, problem, names=()):
    """Return a Mistake saying where (file: key), the value, the problem, the nearest name and all the names."""
    text = "{}: {!r}: {}.".format(where, value, problem)
    near = difflib.get_close_matches(str(value), [str(name) for name in names], n=1, cutoff=0.5)
    if near:
        text += " Did you mean {!r}?".format(near[0])
    if names:
        text += "\nThere are: {}.".format(", ".join(str(name) for name in sorted(names)))
    return Mistake(text)


def names(kind):
    """Return the sorted names of one kind of FOLDERS, by listing its folder (private files left out)."""
    folder, suffix = FOLDERS[kind]
    return sorted(path.stem for path in folder.glob("*" + suffix) if not path.stem.startswith("_"))


def relative(path):
    """Return the path as a user in the checkout would write it."""
    path = Path(path)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def find(kind, name, where):
    """Return the file of one named thing; raise a Mistake that lists what there is."""
    folder, suffix = FOLDERS[kind]
    if name not in names(kind):
        raise mistake(where, name, "there is no {}/{}{}".format(relative(folder), name, suffix), names(kind))
    return folder / (name + suffix)


def frameworks(accelerator="cpu"):
    """Return the framework keys that have an environment file for this accelerator."""
    return sorted(path.stem for path in (ROOT / "envs" / accelerator).glob("*.yaml"))


def accelerators():
    """Return the accelerators that have a folder of environment files: cpu, cuda, ..."""
    return sorted(path.name for path in (ROOT / "envs").iterdir() if path.is_dir())


def environment_file(framework, accelerator, where):
    """Return envs/<accelerator>/<framework>.yaml; raise a Mistake if it or its adapter is not there."""
    if framework not in frameworks(accelerator):
        problem = "there is no envs/{}/{}.yaml".format(accelerator, framework)
        raise mistake(where, framework, problem, frameworks(accelerator))
    find("adapter", adapter_name(framework), where)
    return ROOT / "envs" / accelerator / (framework + ".yaml")


def adapter_name(framework):
    """Return the adapter of a framework key: `torch` for `torch` and for `torch-2.4`."""
    return framework.split("-", 1)[0]


def literals(path):
    """Return the module-level constants of a Python file without importing it, as {NAME: value}."""
    found = {}
    with PARSING:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def adapter_literals(framework):
    """Return an adapter's declarations (EXECUTIONS, PROCESSES, ENVIRONMENT, MOMENTUM_FORM, ...) unimported."""
    return literals(FOLDERS["adapter"][0] / (adapter_name(framework) + ".py"))
