"""operator_results.py whose children try what a stranger's calls must not do, say so, and end. The file is named as for Python."""

import errno
import os
import signal
import socket
import sys

sys.path.append(os.path.dirname(sys.argv[-2]))
import operator_results  # noqa: E402


def probe(what, run):
    try:
        run()
    except OSError as why:
        print(what, errno.errorcode[why.errno], file=sys.stderr)
    except MemoryError:
        print(what, "MemoryError", file=sys.stderr)
    else:
        print(what, "IS ALLOWED", file=sys.stderr)


def read_program(*_):
    target = os.environ["TARGET"]
    probe("writes", lambda: open(target, "w"))
    probe("makes a file", lambda: open(target + ".new", "w"))
    probe("forks", os.fork)
    probe("execs", lambda: os.execv("/bin/true", ["true"]))
    probe("opens a socket", socket.socket)
    probe("signals its parent", lambda: os.kill(os.getppid(), signal.SIGCONT))
    probe("changes modes", lambda: os.chmod(target, 0o777))
    probe("takes memory", lambda: bytearray(8 << 30))
    raise SystemExit


operator_results.Program = read_program
operator_results.main()
