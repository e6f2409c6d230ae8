"""Find and end whatever a worker started: its group, what inherited its token, and orphans that the runner adopted.

Standard library only: the guardian uses it too, and must start in no time.
"""

import os
import signal
import time

TOKEN = "LEVELFIELD_TOKEN"  # a variable of the worker that whatever it starts inherits
PATIENCE_SECONDS = 5.0
ROUND_SECONDS = 0.02


def marked(token):
    """Return the ids of the running processes whose environment holds this token; finished ones have none left."""
    needle = "{}={}".format(TOKEN, token).encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open("/proc/{}/environ".format(name), "rb") as file:
                if needle in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:  # it has ended meanwhile, or is another user's
            continue
    return found


def adopted(own):
    """Return the ids of this process's children that are not its own: orphans that came to it as their subreaper."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in own:
            continue
        try:
            with open("/proc/{}/stat".format(name), "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])  # behind the name, which may hold anything
        except (OSError, ValueError, IndexError):  # it has ended meanwhile
            continue
        if parent == os.getpid():
            found.append(int(name))
    return found


def end_all(token, group=None, own=None):
    """Kill a worker's process group and everything that carries its token, until nothing is left.

    token    of the worker; a process that changed its group or lost its parent still has it
    group    the worker's process group, None if it has none any more
    own      ids of this process's own children, where it adopts orphans: a process that cleared its environment has
             no token, but loses its parent to this one. None: it adopts nobody
    returns  how many processes were found besides the group
    """
    ended = set()
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        if group is not None:
            send(os.killpg, group, signal.SIGKILL)
        found = sorted({*marked(token), *(adopted(own) if own is not None else ())})
        for process in found:
            send(os.kill, process, signal.SIGKILL)
        ended.update(found)
        reap_adopted(found)
        if not found or time.monotonic() > end:
            return len(ended)
        time.sleep(ROUND_SECONDS)


def send(call, target, number):
    """Send a signal; return False if there is nobody to receive it."""
    try:
        call(target, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def reap_adopted(processes):
    """Take the exit status of those processes that have become children of this one, so that none stays a zombie."""
    for process in processes:
        try:
            os.waitpid(process, os.WNOHANG)
        except ChildProcessError:
            continue
