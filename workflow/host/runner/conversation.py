"""What the worker says on its channel, checked line by line against the schema, the environment and the weights."""

import json
import os
import re

from host import records

LONGEST_BYTES = 64 << 20  # of one message; a garbage stream without a line's end must not fill the memory
QUOTED = 200  # characters of an offending line that a reason quotes
# What the worker does after each message; before the first one it imports the framework.
NEXT_PHASE = {
    "hello": "build",
    "built": "feed and first step",
    "first_step": "warm_up",
    "warm": "steps",
    "start": "steps",
    "stop": "blocks",
    "result": "end",
    "failure": "end",
}


class Conversation:
    """Collects messages. `refusal` is the reason to stop the worker at once, None as long as all is well."""

    def __init__(self, expected):
        """Hold what must be true: {"prefix", "python", "pins": [...], "weights_sha256"}; None is not checked."""
        self.expected = expected
        self.messages = {}
        self.refusal = None
        self.phase = "import"
        self.held = bytearray()

    @property
    def finished(self):
        """Return whether the worker has said its last word."""
        return "result" in self.messages or "failure" in self.messages

    def receive(self, data):
        """Take bytes from the channel, in pieces as they come."""
        if self.refusal:
            return
        if b"\n" not in data:
            self.held += data  # a bytearray: a long message grows without being copied each time
        else:
            *lines, rest = (self.held + data).split(b"\n")
            self.held = bytearray(rest)
            for line in lines:
                if line.strip() and not self.refusal:
                    self.take(bytes(line))
        if len(self.held) > LONGEST_BYTES and not self.refusal:
            self.refusal = "the worker's data channel carried {} MiB without the end of a message: {}".format(
                LONGEST_BYTES >> 20, quote(self.held)
            )

    def take(self, line):
        """Check one line and keep its message."""
        try:
            message = json.loads(line, parse_constant=refuse_constant)
        except (ValueError, RecursionError) as error:
            self.refusal = "the worker's data channel carried what is not JSON ({}): {}".format(error, quote(line))
            return
        try:
            records.check(message, "message")
        except records.Invalid as error:
            self.refusal = "the worker sent a message that does not fit its schema ({}): {}".format(error, quote(line))
            return
        kind = message.pop("message")
        if kind != "hello" and "hello" not in self.messages and kind != "failure":
            self.refusal = "the worker sent {!r} before `hello`: {}".format(kind, quote(line))
            return
        if kind in self.messages or self.finished:
            self.refusal = "the worker sent {!r} {}: {}".format(
                kind, "twice" if kind in self.messages else "after its last message", quote(line)
            )
            return
        self.messages[kind] = message
        self.phase = NEXT_PHASE[kind]
        if kind == "hello":
            self.refusal = check_identity(message, self.expected)
        elif kind == "built":
            self.refusal = check_weights(message, self.expected)

    def truncated(self):
        """Return the start of a message without its end, quoted, or None."""
        return quote(self.held) if self.held.strip() else None


def refuse_constant(name):
    """Refuse the numbers that Python's JSON knows and JSON does not."""
    raise ValueError("{} is no JSON number".format(name))


def quote(line):
    """Return the beginning of a line for a reason, unprintable bytes escaped."""
    text = repr(bytes(line[:QUOTED]).decode("utf-8", errors="replace"))
    return text + (" ... ({} bytes)".format(len(line)) if len(line) > QUOTED else "")


def check_identity(hello, expected):
    """Return why the worker's environment is not the one that the cell asks for, or None."""
    wanted = expected.get("prefix")
    if wanted and os.path.realpath(hello["prefix"]) != os.path.realpath(wanted):
        return "the worker ran in another environment: its prefix is {}, the cell's is {}".format(
            hello["prefix"], wanted
        )
    problems = []
    python = expected.get("python")
    if python and not (hello["python"] + ".").startswith(python + "."):
        problems.append("Python is {}, {} is asked for".format(hello["python"], python))
    for pin in expected.get("pins") or []:
        name, version = parse_pin(pin)
        if name is None:
            continue
        found = hello["distributions"].get(name)
        if found is None:
            problems.append("{} is not installed, {} is asked for".format(name, version))
        elif without_local(found) != without_local(version):
            problems.append("{} is {}, {} is asked for".format(name, found, version))
    if not problems:
        return None
    return "the environment is not what its file pins: {}. Build it again (delete its status file).".format(
        "; ".join(problems)
    )


def parse_pin(pin):
    """Return (normalised name, version) of `name[extra]==version ; marker`, (None, None) for what pins nothing."""
    match = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[^\]]*\])?\s*===?\s*([^\s;,*]+)\s*(;.*)?$", pin)
    if not match:
        return None, None
    return re.sub(r"[-_.]+", "-", match.group(1)).lower(), match.group(3)


def without_local(version):
    """Return a version without its local part: 2.13.0+cpu is 2.13.0."""
    return version.split("+")[0]


def check_weights(built, expected):
    """Return why the starting weights are not the host's, or None."""
    wanted = expected.get("weights_sha256")
    if wanted is None or built["weights_sha256"] == wanted:
        return None
    return (
        "the worker started from other weights than the host drew: SHA-256 {} in the worker, {} on the host. Its NumPy "
        "draws differently: no result of this environment can be compared.".format(built["weights_sha256"], wanted)
    )
