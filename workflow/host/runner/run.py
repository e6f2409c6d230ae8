"""Run one cell from beginning to end: the order of things, and what is cleaned up whatever happens."""

import contextlib
import os
import shutil
import tempfile
import traceback
import uuid
from pathlib import Path

from host import machine, records
from host.runner import assemble, classify, command, gate, hunt, lock, prepare
from host.runner.conversation import Conversation
from host.runner.request import Recorded, Refused
from host.runner.start import Guardian, Worker
from host.runner.watch import Output, Watch


def run(request, parents, say):
    """Run a cell and write its record; return (status, reason) of the record.

    request  host.runner.request.Request
    parents  host.runner.parents.Parents: whose death ends the run
    say      called with messages for the user
    raises   Interrupted if the run must end without a record; OSError if no record can be written there
    """
    started = assemble.now()
    seen = {"flags": []}
    try:
        status, reason = attempt(request, parents, say, seen)
    except Recorded:
        raise FileExistsError(request.record) from None
    except Refused as refusal:
        status, reason = refusal.status, refusal.reason
    except Exception as error:  # whatever it is, the cell must leave a record that says so
        status, reason = "failed", "the runner itself failed: {}: {}".format(type(error).__name__, error)
        seen["exception"] = "".join(traceback.format_exception(error))[-4000:]
    finally:
        clean_up(seen)
    try:
        made = assemble.record(request, status, reason, started, seen)
        records.write(made, request.record)
    except records.Invalid as error:  # what the worker sent fits no record: keep the reason, drop the numbers
        reason = "the runner itself failed: its record does not fit the schema: {}".format(error)
        records.write(assemble.record(request, "failed", reason, started, {"exception": str(error)}), request.record)
        status = "failed"
    return status, reason


def attempt(request, parents, say, seen):
    """Prepare, start and watch the worker; return (status, reason). Fills `seen` as it goes."""
    seen["phase"] = "prepare"
    seen["machine"] = machine.facts()  # before this process leaves the worker its cores
    prepare.check(request)
    shared = request.task == "gate"
    descriptor = lock.acquire(request.lock, shared, say, parents.check) if request.lock else None
    if request.record.exists():
        raise Recorded  # by another call, while this one waited for the machine
    try:
        worker_cores, other_cores = machine.worker_cores(request.cell["threads"])
        seen["cores"] = len(worker_cores)
        if other_cores:
            os.sched_setaffinity(0, other_cores)
        else:
            seen["flags"].append("sampler_shares_cores")
        seen["guardian"] = Guardian(descriptor)  # it holds the lock too, until everything of this cell is gone
    finally:
        seen["lock"] = descriptor
    seen["token"] = uuid.uuid4().hex
    seen["scratch"] = scratch = Path(tempfile.gettempdir()) / ("levelfield-" + seen["token"])
    seen["guardian"].order(token=seen["token"], scratch=str(scratch))  # first: whoever dies now, it is removed
    scratch.mkdir(mode=0o700)
    made = gate.bundle(request) if request.task == "gate" else None
    seen["prepared"] = prepare.prepare(request, scratch, made)
    seen["phase"] = "start"
    conversation, ending, kills = start_and_watch(request, parents, seen, worker_cores)
    seen["messages"] = conversation.messages
    status, reason = classify.conclude(conversation, ending, request, kills)
    if status == "ok" and made is not None:
        seen["phase"] = "comparison"
        seen["gate"] = gate.judge(made, conversation.messages, scratch)
        gate.tell(seen["gate"], request.cell, say)
    return status, reason


def start_and_watch(request, parents, seen, cores):
    """Start the worker and watch it to its end; return (conversation, ending, kernel's kills for memory meanwhile)."""
    prepared, scratch, guardian = seen["prepared"], seen["scratch"], seen["guardian"]
    token = seen["token"]
    seen["variables"] = command.variables(request, prepared.prefix, str(scratch), token)
    conversation = Conversation({"prefix": prepared.prefix, "weights_sha256": prepared.weights_sha256, **prepared.pins})
    kills = machine.oom_kills()
    python = str(Path(prepared.prefix) / "bin" / "python")
    try:
        worker = seen["worker"] = Worker(
            [python, "-m", "worker", str(prepared.job)], seen["variables"], cores, command.limits(request)
        )
    except OSError as error:
        raise Refused("failed", "the environment's Python cannot be started: {}: {}".format(python, error)) from None
    guardian.order(watch=worker.process.pid, start_ns=worker.start_ns)
    with contextlib.ExitStack() as stack:
        log = None
        if request.log:
            request.log.parent.mkdir(parents=True, exist_ok=True)
            log = stack.enter_context(request.log.open("wb"))
        watch = Watch(
            worker, conversation, Output(log), parents, request.protocol["deadline_seconds"], request.grace_seconds
        )
        ending = seen["ending"] = watch.run()
    after = machine.oom_kills()
    kills = None if kills is None or after is None else after - kills
    seen["telemetry"], seen["no_telemetry"] = guardian.report()
    note_flags(conversation, ending, hunt.end_all(token, own={guardian.process.pid}), seen["flags"])
    return conversation, ending, kills


def note_flags(conversation, ending, left_behind, flags):
    """Add what a reader should know of a worker's end, whatever its status."""
    if left_behind:
        flags.append("children_left_behind")
    if ending.hung_after_result:
        flags.append("hung_after_result")
    elif conversation.finished and (ending.signal or ending.exit_code):
        flags.append("ended_badly_after_result")


def clean_up(seen):
    """End what is left of the worker and the guardian, and remove the scratch folder; safe to call at any point."""
    worker = seen.get("worker")
    if worker is not None:
        if worker.process.returncode is None:
            hunt.send(os.killpg, worker.group, 9)
        hunt.end_all(seen["token"], own={seen["guardian"].process.pid, worker.process.pid})
        if worker.process.returncode is None:
            with contextlib.suppress(Exception):
                worker.process.wait(timeout=hunt.PATIENCE_SECONDS)
        worker.close()
    if "guardian" in seen:
        seen["guardian"].close()
    if seen.get("lock") is not None:
        os.close(seen.pop("lock"))
    if seen.get("scratch"):
        shutil.rmtree(seen["scratch"], ignore_errors=True)
