"""What the worker says of itself is held against what the cell asks for."""

import json

import pytest

from host.runner import prepare
from host.runner.conversation import Conversation, check_identity, parse_pin
from host.runner.request import Refused

HELLO = {
    "message": "hello",
    "prefix": "/environments/torch",
    "executable": "/environments/torch/bin/python",
    "python": "3.11.7",
    "numpy": "2.4.6",
    "distributions": {"torch": "2.13.0+cpu", "numpy": "2.4.6", "typing-extensions": "4.16.0"},
    "import_seconds": 1.0,
    "monotonic_ns": 1,
}
EXPECTED = {
    "prefix": "/environments/torch",
    "python": "3.11",
    "pins": ["torch==2.13.0", "numpy == 2.4.6 ; python_version >= '3.8'", "Typing_Extensions==4.16.0", "--no-index"],
}


def test_an_environment_as_pinned_is_accepted():
    assert check_identity(HELLO, EXPECTED) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pins": ["torch==2.12.0"]}, ("torch is 2.13.0+cpu", "2.12.0 is asked for")),
        ({"pins": ["jax==0.10.2"]}, ("jax is not installed", "0.10.2 is asked for")),
        ({"python": "3.1"}, ("Python is 3.11.7", "3.1 is asked for")),
        ({"prefix": "/environments/jax"}, ("/environments/torch", "/environments/jax")),
    ],
)
def test_another_environment_is_refused_with_both_sides(changes, words):
    reason = check_identity(HELLO, EXPECTED | changes)
    for word in words:
        assert word in reason


@pytest.mark.parametrize(
    ("pin", "found"),
    [
        ("jax[cuda13]==0.10.2", ("jax", "0.10.2")),
        ("numpy<2", (None, None)),
        ("setuptools==59.*", (None, None)),
        ("ruamel.yaml==0.18", ("ruamel-yaml", "0.18")),
    ],
)
def test_only_exact_pins_are_held(pin, found):
    assert parse_pin(pin) == found


def test_messages_are_taken_in_any_pieces():
    conversation = Conversation(EXPECTED)
    data = (json.dumps(HELLO) + "\n" + json.dumps({"message": "first_step", "ns": 5}) + "\n").encode()
    for byte in data:
        conversation.receive(bytes([byte]))
    assert conversation.refusal is None and conversation.messages["first_step"] == {"ns": 5}
    assert conversation.phase == "warm_up" and conversation.truncated() is None


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([{"message": "first_step", "ns": 5}], "before `hello`"),
        ([HELLO, HELLO], "twice"),
        ([HELLO, {"message": "bye"}], "does not fit its schema"),
        ([HELLO, {"message": "first_step", "ns": -5}], "does not fit its schema"),
        ([["hello"]], "does not fit its schema"),
        ([HELLO, {"message": "result"}, {"message": "warm", "steps": 3}], "after its last message"),
    ],
)
def test_a_worker_that_talks_out_of_turn_is_refused(lines, words):
    conversation = Conversation(EXPECTED)
    conversation.receive("".join(json.dumps(line) + "\n" for line in lines).encode())
    assert words in conversation.refusal


class Activated:
    """A request whose environment Snakemake builds itself."""

    environment = {"status": "ready", "reason": None, "prefix": None, "deployment": "conda"}


def test_the_environment_that_snakemake_activated_is_used(monkeypatch):
    monkeypatch.setenv("CONDA_PREFIX", "/checkout/.snakemake/conda/abc_")
    assert prepare.prefix_of(Activated) == "/checkout/.snakemake/conda/abc_"
    monkeypatch.delenv("CONDA_PREFIX")
    with pytest.raises(Refused, match="CONDA_PREFIX is not set"):
        prepare.prefix_of(Activated)
