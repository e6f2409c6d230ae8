"""The check for machines with a GPU runs, here on the CPU: what it does there beyond this is the device."""

import subprocess

from checkout import BIN, ROOT


def test_the_check_runs_on_a_cpu(environment_python):
    variables = {"PATH": "/usr/bin:/bin", "PYTHON": str(BIN / "python"), "ACCELERATOR": "cpu"}
    variables["TORCH_PYTHON"] = str(environment_python("torch"))
    answer = subprocess.run(
        [str(ROOT / "tests/gpu/check.sh"), "--networks", "mlp", "gate_residual"],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    assert answer.returncode == 0, answer.stdout
    assert answer.stdout.count("\nok ") == 5, answer.stdout
