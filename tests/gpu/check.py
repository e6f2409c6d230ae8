"""What tests/gpu/check.sh runs in its copy: environment and status file, then gate and measured cells by the runner."""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from host import catalogue, machine
from host.planning import axes

FRAMEWORK = "torch-installed"
NETWORKS = ("mlp", "lenet5", "gate_residual", "resnet20")
PROTOCOL = {"name": "short", "warmup_steps": 10, "min_steps": 50, "min_seconds": 1.0, "max_seconds": 4.0}
PROTOCOL.update(max_steps=2000, block_steps=50, block_seconds=0.5, distinct_batches=8, deadline_seconds=120)
PROTOCOL.update(exploratory=True)
DIGITS = ("mlp", "lenet5")  # networks that the digits fit
VERSIONS = (
    "import json, sys, numpy, torch\n"
    "print(json.dumps({'prefix': sys.prefix, 'python': '%d.%d.%d' % sys.version_info[:3],\n"
    "                  'numpy': numpy.__version__, 'torch': torch.__version__, 'cuda': torch.cuda.is_available()}))\n"
)


def main(arguments=None):
    """Run all cells; return 0 if each ended as it should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="the interpreter that holds torch")
    parser.add_argument("--accelerator", default="cuda")
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    options = parser.parse_args(arguments)
    answer = subprocess.run([options.python, "-c", VERSIONS], check=True, capture_output=True, text=True, env={})
    found = json.loads(answer.stdout)
    if options.accelerator == "cuda" and not found["cuda"]:
        sys.stderr.write("torch {torch} of {prefix} sees no GPU\n".format(**found))
        return 2
    status = write_environment(found, options.accelerator)
    print("torch {torch}, Python {python}, GPUs {gpus}".format(gpus=machine.gpu_models(), **found))
    good = True
    for cell in cells(options.networks):
        good = run(cell, status, options.accelerator) and good
    return 0 if good else 1


def write_environment(found, accelerator):
    """Write the environment file that pins what is installed, and a status file; return the latter's path."""
    lines = ["name: " + FRAMEWORK, "channels: [conda-forge]", "dependencies:"]
    lines.append("  - python={}".format(".".join(found["python"].split(".")[:2])))
    lines += ["  - pip", "  - pip:", "      - torch=={}".format(found["torch"].split("+")[0])]
    lines.append("      - numpy=={}".format(found["numpy"]))
    folder = catalogue.ROOT / "envs" / accelerator
    folder.mkdir(exist_ok=True)
    (folder / (FRAMEWORK + ".yaml")).write_text("\n".join(lines) + "\n")
    path = Path("environment.json")
    content = {"status": "ready", "reason": None, "deployment": "venv", "prefix": found["prefix"]}
    path.write_text(json.dumps(dict(content, python=found["python"])))
    return path


def cells(networks):
    """Yield the cells of the check: the gate of every network, then training, resident training and inference."""
    base = {name: axis.default for name, axis in axes.BY_NAME.items()}
    base.update(framework=FRAMEWORK, hardware="check", execution="eager", threads=1, repeat=1, attempt=0)
    for network in networks:
        yield dict(base, network=network, mode="gate", batch=16, protocol=axes.GATE_PROTOCOL)
    for network in networks:
        if network in DIGITS:
            for mode, feeding in (("train", "step"), ("train", "resident"), ("infer", "resident")):
                yield dict(base, network=network, mode=mode, feeding=feeding, batch=256, protocol="short")


def run(cell, status, accelerator):
    """Run one cell by the runner, print its line, and return whether it is as it should be."""
    record = Path("records", axes.record_path(cell))
    command = [sys.executable, "-m", "host.measure", "--cell", json.dumps(cell), "--record", str(record)]
    command += ["--environment", str(status), "--accelerator", accelerator, "--protocol", json.dumps(PROTOCOL)]
    start = time.monotonic()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    made = json.loads(record.read_text())
    good, text = verdict(made)
    line = "{:<4} {:<14} {:<34} {:5.1f} s  {}"
    stem = axes.stem(cell)
    print(line.format("ok" if good else "BAD", cell["network"], stem, time.monotonic() - start, text), flush=True)
    return good


def verdict(made):
    """Return (whether a record is as it should be, what it says)."""
    if made["status"] != "ok":
        return False, "{}: {}".format(made["status"], made["reason"])
    if made["gate"] is None:
        steps = sorted(made["step_ns"][made["warmup_steps"] :])
        block = made["block_ns"][-1]
        text = "{:.3f} ms a step, {:.3f} in blocks".format(steps[len(steps) // 2] / 1e6, block[1] / block[0] / 1e6)
        return made["losses"][-1][1] < made["losses"][0][1] or made["cell"]["mode"] == "infer", text
    compared = [check for check in made["gate"]["checks"] if check["tolerance"]]
    worst = max(compared, key=lambda check: float(check["error"]) / check["tolerance"])
    exact = all(float(check["error"]) == 0 for check in made["gate"]["checks"] if not check["tolerance"])
    text = "worst of {}: {check} {tensor}, error {error:.1e}, tolerance {tolerance:.1e}".format(len(compared), **worst)
    return exact and float(worst["error"]) <= worst["tolerance"], text


if __name__ == "__main__":
    sys.exit(main())
