"""One measured cell at a time on a machine, whoever started it: a file lock that ends with the process that holds it.

Measured cells take it alone; gate cells, which are not timed, share it among themselves.
"""

import errno
import fcntl
import os
import time

POLL_SECONDS = 0.25


def acquire(path, shared, say, alive):
    """Wait for the machine's lock; return its descriptor, which holds it until the last copy is closed.

    path    the lock file, made if it is not there; never removed, so that all wait for the same one
    shared  True for a gate cell
    say     called once with a message if the lock is taken
    alive   called between tries; raises to give up waiting
    """
    descriptor = open_file(path)
    waiting = False
    while True:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            return descriptor
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
        if not waiting:
            say("another cell is being measured on this machine ({}): waiting for it to end".format(path))
            waiting = True
        alive()
        time.sleep(POLL_SECONDS)


def open_file(path):
    """Return a descriptor of the lock file. Another user's file in a sticky folder may be opened but not created."""
    while True:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            pass
        try:
            created = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            os.fchmod(created, 0o666)
            return created
        except FileExistsError:
            continue
