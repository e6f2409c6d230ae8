#!/usr/bin/env bash
# Worker, runner and gate of torch on a machine with one NVIDIA GPU, an installed torch and no network; a few minutes.
#
#   tests/gpu/check.sh                       everything with python3, which holds torch and the host's few libraries
#   PYTHON=... TORCH_PYTHON=... ACCELERATOR=cpu tests/gpu/check.sh    other interpreters; without a GPU, to try the check
#   WHEELS=folder tests/gpu/check.sh         libraries that python3 lacks are installed from wheels in that folder, for
#                                            this run only: `pip download -d folder jsonschema psutil pyyaml` elsewhere
#
# It works in a copy of the checkout, writes there an environment file that pins what is installed, and prints a table.
# Exit status: 0 if every cell ended ok and every gate cell is equivalent, 1 if not, 2 if it could not begin.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/../.." && pwd)
absolute() { local path; path=$(command -v "$1"); case $path in /*) echo "$path" ;; *) echo "$PWD/$path" ;; esac; }
python=$(absolute "${PYTHON:-python3}")
torch_python=$(absolute "${TORCH_PYTHON:-$python}")
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/checkout"
for folder in workflow config envs tests; do cp -r "$checkout/$folder" "$copy/checkout/"; done

export PYTHONPATH=$copy/checkout/workflow:$copy/site PYTHONDONTWRITEBYTECODE=1
missing=$("$python" -c '
import importlib.util
names = {"jsonschema": "jsonschema", "psutil": "psutil", "yaml": "pyyaml", "numpy": "numpy", "sklearn": "scikit-learn"}
print(" ".join(package for module, package in names.items() if importlib.util.find_spec(module) is None))')
if [ -n "$missing" ] && [ -n "${WHEELS:-}" ]; then
    # shellcheck disable=SC2086
    "$python" -m pip install -q --no-index --find-links "$WHEELS" --target "$copy/site" $missing
elif [ -n "$missing" ]; then
    echo "$python lacks: $missing. Bring them as wheels and name the folder: WHEELS=folder $0" >&2
    exit 2
fi
cd "$copy/checkout"
"$python" tests/gpu/check.py --python "$torch_python" --accelerator "${ACCELERATOR:-cuda}" "$@"
