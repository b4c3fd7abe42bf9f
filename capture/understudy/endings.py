"""How a command of the project ends: its status, and one line instead of a Python traceback."""

import os
import sys

FAILED, USAGE, BAD_INPUT, BUG = 1, 2, 65, 70
INTERRUPTED, PIPE_CLOSED = 130, 141  # 128 + SIGINT, 128 + SIGPIPE, as shells report them
DEBUG = "UNDERSTUDY_DEBUG"


class Refused(Exception):
    """Ends the command with this line and status, for errors that the user can fix."""

    def __init__(self, text, status=FAILED):
        super().__init__(text)
        self.status = status


def run_main(name, main):
    """Runs main() and ends the process with the status that it returns (None: 0).

    A Refused is printed as one line; so is an OSError about a file that cannot be read or written
    (status 65). Ctrl-C ends with 130, a closed pipe with 141. Anything else is a bug of the
    project: one line and status 70, with the traceback if UNDERSTUDY_DEBUG=1.
    """
    try:
        status = main() or 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = _say(name, "interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The rest of the buffer cannot be written; without this line Python would report it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = PIPE_CLOSED
    except Refused as problem:
        status = _say(name, problem, problem.status)
    except Exception as problem:
        if os.environ.get(DEBUG) == "1":
            raise
        status = _say_unexpected(name, problem)
    sys.exit(status)


def _say_unexpected(name, problem):
    if isinstance(problem, OSError) and problem.filename is not None:
        return _say(name, f"{problem.filename}: {problem.strerror}", BAD_INPUT)
    return _say(name, f"a bug of ours: {type(problem).__name__}: {problem}; please report it, with "
                f"what {DEBUG}=1 shows", BUG)


def _say(name, text, status):
    print(f"{name}: {text}", file=sys.stderr)
    return status
