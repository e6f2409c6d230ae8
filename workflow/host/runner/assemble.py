"""The record of a cell: what the worker said, what the runner saw, and a reason for everything that is not known."""

import datetime
import json
import os
import shlex
from pathlib import Path

from host import catalogue, fingerprint, machine, records
from host.planning import axes
from host.runner import command

MEASURED = ("timer", "step_ns", "warmup_steps", "block_ns", "losses", "startup_seconds", "cpu", "gc_collections")
STARTUP = ("spawn", "import", "build", "compile", "feed", "first_step")
HASHES = {"adapter": "adapter", "worker": "worker", "network": "network", "environment": "environment file"}
HASHES["data"] = "data set"


def now():
    """Return the time in UTC, ISO 8601, to the millisecond."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def record(request, status, reason, started, seen):
    """Return the record of a cell.

    request  host.runner.request.Request
    status   one of the schema's; reason None for ok
    started  UTC, ISO 8601
    seen     what is known, as far as the runner came: messages, ending, prepared, worker, telemetry, flags, gate,
             variables, cores, prefix, scratch
    """
    messages = seen.get("messages", {})
    result, built, hello = (messages.get(name, {}) for name in ("result", "built", "hello"))
    why = dict(result.get("why", {}))
    absent = (
        "the cell ended {} before this was known".format(status) if status != "ok" else "the task has no such thing"
    )
    made = {
        "schema": records.SCHEMA,
        "cell": request.cell,
        "protocol": request.protocol,
        "study": request.study,
        "status": status,
        "reason": reason,
        "status_detail": detail(status, seen),
        "block": request.block,
        "fingerprint": fingerprints(request, why),
        "seed": seen["prepared"].seed if "prepared" in seen else None,
        "weights_sha256": built.get("weights_sha256"),
        "graph_sha256": seen["prepared"].graph_sha256 if "prepared" in seen else None,
        "parameter_count": built.get("parameter_count"),
    }
    made.update({name: result.get(name) for name in MEASURED})
    made["startup_seconds"] = startup(messages, seen, why)
    made["phases_ns"] = result.get("phases_ns")
    made["telemetry"], made["memory_bytes"] = telemetry(messages, seen, why)
    made["versions"] = versions(hello, built)
    made["knobs"] = knobs(built, result, seen)
    made["machine"] = seen.get("machine") or machine.facts()
    made["gate"] = seen.get("gate")
    made["flags"] = sorted({*result.get("flags", []), *seen.get("flags", [])})
    made["why"] = why
    made["started_utc"], made["ended_utc"] = started, now()
    made["command"] = repeat_command(request)
    if made["gate"] is None and request.task != "gate":
        why["gate"] = "not a gate cell"
    if made["study"] is None:
        why["study"] = "run by hand, for no study"
    if made["block"] is None:
        why["block"] = "run by hand, in no block"
    for name in sorted(set(made) - {"reason"}):
        if made[name] is None:
            why.setdefault(name, absent)
    return redact(made, private_paths(seen))


def detail(status, seen):
    """Return the record's status_detail; the output's tail only where the cell did not end ok."""
    ending = seen.get("ending")
    failure = seen.get("messages", {}).get("failure", {})
    return {
        "phase": None if status == "ok" else failure.get("phase") or (ending.phase if ending else seen.get("phase")),
        "exit_code": ending.exit_code if ending else None,
        "signal": ending.signal if ending else None,
        "exception": failure.get("exception") or seen.get("exception"),
        "output_tail": ending.tail if ending and status != "ok" else None,
    }


def fingerprints(request, why):
    """Return the record's fingerprint; a part whose file is not there is None with the reason in `why`."""
    sources = fingerprint.sources(request.cell, request.adapter_path, request.environment_file)
    found = {}
    for part, source in sources.items():
        try:
            found[part] = source()
        except (OSError, SyntaxError, ValueError) as error:
            found[part] = None
            why["fingerprint." + part] = "the {} cannot be read: {}".format(HASHES[part], type(error).__name__)
    return found


def startup(messages, seen, why):
    """Return the seconds of each part of the start, as far as the worker came; None if it never said hello."""
    if "hello" not in messages:
        return None
    hello, result = messages["hello"], messages.get("result", {})
    found = dict.fromkeys(STARTUP)
    found["import"] = hello["import_seconds"]
    spawn = (hello["monotonic_ns"] - seen["worker"].start_ns) / 1e9 - hello["import_seconds"]
    found["spawn"] = round(max(0.0, spawn), 6)
    found["build"] = messages.get("built", {}).get("build_seconds")
    if "first_step" in messages:
        found["first_step"] = messages["first_step"]["ns"] / 1e9
    found.update({name: value for name, value in result.get("startup_seconds", {}).items() if name in STARTUP})
    why["startup_seconds.compile"] = "the adapters do not compile in a step of its own: the first step holds it"
    for name in STARTUP:
        if found[name] is None and name != "compile":
            why["startup_seconds." + name] = "the worker did not say"
    return found


def telemetry(messages, seen, why):
    """Return (telemetry, memory_bytes) of the record."""
    found = seen.get("telemetry")
    peak = messages.get("result", {}).get("memory_bytes", {}).get("rss_peak")
    if found is None:
        why["telemetry"] = seen.get("no_telemetry", "no worker was started")
        if peak is None:
            return None, None
    window = None
    if found is not None:
        if "start" in messages and "stop" in messages:
            start_ns = seen["worker"].start_ns
            window = [round((messages[edge]["monotonic_ns"] - start_ns) / 1e9, 4) for edge in ("start", "stop")]
        else:
            why["telemetry.window_seconds"] = "no timed steps were completed"
        found = dict(found, window_seconds=window)
    memory = {"rss_peak": peak, "tree_rss_peak": max(found["rss_bytes"]) if found else None}
    if peak is None:
        why.setdefault("memory_bytes.rss_peak", "the worker did not say")
    if found is None:
        why["memory_bytes.tree_rss_peak"] = "there is no telemetry"
    return found, memory


def versions(hello, built):
    """Return what the adapter says of its framework, and what the worker found installed; None without a worker."""
    if not hello and not built:
        return None
    own = {name: hello[name] for name in ("python", "numpy", "distributions") if name in hello}
    return {**own, **built.get("versions", {})}


def knobs(built, result, seen):
    """Return the settings in force, with the variables and the cores that the worker was started with."""
    if "variables" not in seen:
        return None
    found = dict(result.get("knobs") or built.get("knobs") or {})
    return dict(found, variables=command.recorded(seen["variables"]), cores=seen["cores"])


def repeat_command(request):
    """Return the shell command that measures this cell again, from the checkout's root, beside the first record."""
    words = [".venv/bin/python", "-m", "host.measure", "--cell", json.dumps(request.cell, sort_keys=True)]
    words += ["--protocol", json.dumps(request.protocol, sort_keys=True)]
    status = request.environment_path or ".environments/{}/{}.json".format(
        request.accelerator, request.cell["framework"]
    )
    words += ["--environment", relative(status)]
    if request.here is not None:
        words.append("--check-hardware")
    if request.accelerator != "cpu":
        words += ["--accelerator", request.accelerator]
    if request.memory_limit_bytes:
        words += ["--memory-limit-bytes", str(request.memory_limit_bytes)]
    words += ["--record", "results/again/" + axes.record_path(request.cell)]
    return "PYTHONPATH=workflow " + shlex.join(words)


def relative(path):
    """Return a path below the checkout's root as seen from there; of any other, where its like is by default."""
    path = Path(os.path.abspath(path))
    if path.is_relative_to(catalogue.ROOT):
        return str(path.relative_to(catalogue.ROOT))
    return "/".join([".environments", *path.parts[-2:]])


def private_paths(seen):
    """Return [(folder of this machine, what a record says instead)], longest first."""
    pairs = {str(catalogue.ROOT): "<checkout>", os.path.expanduser("~"): "<home>"}  # "~" itself where there is none
    if seen.get("scratch"):
        pairs[str(seen["scratch"])] = "<scratch>"
    prefix = seen["prepared"].prefix if "prepared" in seen else None
    if prefix and not Path(prefix).is_relative_to(catalogue.ROOT):
        pairs[prefix] = "<environment>"
    return sorted(((path, word) for path, word in pairs.items() if len(path) > 1), key=lambda pair: -len(pair[0]))


def redact(value, pairs):
    """Return a record's value with the machine's folders in its texts replaced, at any depth."""
    if isinstance(value, dict):
        return {name: redact(part, pairs) for name, part in value.items()}
    if isinstance(value, list) and not all(isinstance(part, (int, float)) for part in value):
        return [redact(part, pairs) for part in value]
    if isinstance(value, str):
        for path, word in pairs:
            value = value.replace(path, word)
    return value
