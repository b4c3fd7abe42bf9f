"""The folder that a capture writes: it is complete, or does not exist."""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import time
from pathlib import Path

CAPTURE_FORMAT = "understudy-capture"
DESCRIPTION = "capture.json"
SETTLED_S = 60  # a younger folder without a lock may be about to get one
ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)  # a launcher sends these when a rank has failed


class CaptureFailed(RuntimeError):
    """The capture failed; nothing of it remains."""


def failure_of(do):
    """Calls a function. Returns why it failed, for the other ranks, which wait for this one; None if it did not."""
    try:
        do()
    except Exception as problem:
        return text_of(problem)
    return None


def text_of(problem):
    return str(problem) or type(problem).__name__


class BadOutput(CaptureFailed):
    """A capture must not, or cannot, be written to this place."""


def write_through(path):
    """Flushes a file's content, or a folder's names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class OutputFolder:
    """Writes files to a hidden folder, which is renamed to the wanted one when it is complete.

    Each rank has its own hidden folder; rank 0's publish() merges them.
    """

    def __init__(self, folder):
        self.folder = Path(os.path.abspath(folder))
        self.partial = None
        # discard() removes these folders if empty. Several ranks may create them: all ranks check here before the first one begins.
        self._missing = [parent for parent in self.folder.parents if not parent.exists()]
        self._lock = None
        self._handled = {}  # signal → previous handler

    def check(self):
        """Raises BadOutput unless the folder is new, empty or a capture. Returns True if it is a capture."""
        if not self.folder.name:
            raise BadOutput(f"{self.folder}: this is no folder to write a capture to")
        if self.folder.is_symlink():  # somebody else's folder may hold one to a capture of the user
            raise BadOutput(f"{self.folder}: it is a symbolic link; name the folder that it leads to, or remove the link")
        if not self.folder.exists():
            return False
        if not self.folder.is_dir():
            raise BadOutput(f"{self.folder}: it is there and is no folder; name another")
        if _is_capture(self.folder):
            return True
        if any(self.folder.iterdir()):
            raise BadOutput(f"{self.folder}: it is there and is no capture (no {DESCRIPTION} of "
                            "one), so it is not replaced; name another, or remove it")
        return False

    def begin(self):
        """Makes the hidden folder; raises BadOutput if that fails."""
        self.check()
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self._remove_stale()
            partial = self.folder.with_name(f".{self.folder.name}.{secrets.token_hex(4)}.partial")
            partial.mkdir()
        except OSError as problem:
            raise BadOutput(f"{problem.filename}: {problem.strerror}; name another folder") \
                from problem
        self.partial = partial
        with contextlib.suppress(OSError):  # a file system without locks
            self._lock = _locked(partial)
        self._end_cleanly()

    def file(self, name):
        return self.partial / name

    def publish(self, others=()):
        """Renames the folder, after merging the hidden folders of other ranks (`others`)."""
        for other in others:
            # Files of a rank on another machine are not visible here; that rank publishes them itself.
            for path in sorted(Path(other).iterdir()) if Path(other).is_dir() else []:
                path.replace(self.partial / path.name)
            shutil.rmtree(other, ignore_errors=True)
        for path in [*self.partial.iterdir(), self.partial]:
            write_through(path)
        with contextlib.suppress(OSError):
            self.folder.rmdir()  # if it is empty
        if self.folder.exists():
            self._replace_files()
        else:
            self.partial.rename(self.folder)
        write_through(self.folder.parent)
        self._end()

    def publish_part(self):
        """Publishes the files that rank 0 cannot see because it is on another machine."""
        if self.partial.is_dir():
            self._replace_files()
        self._end()

    def discard(self):
        """Deletes everything of this capture."""
        if self.partial is None:
            return
        shutil.rmtree(self.partial, ignore_errors=True)
        for parent in self._missing:
            with contextlib.suppress(OSError):
                parent.rmdir()
        self._end()

    def _replace_files(self):
        """Replaces the old capture by the new one; other files in the folder stay."""
        self.folder.mkdir(exist_ok=True)
        for name in _files_of(self.folder) if self.file(DESCRIPTION).exists() else []:
            (self.folder / name).unlink(missing_ok=True)
        for path in sorted(self.partial.iterdir(), key=lambda path: path.name == DESCRIPTION):
            path.replace(self.folder / path.name)
        self.partial.rmdir()
        write_through(self.folder)

    def _remove_stale(self):
        """Deletes hidden folders of killed captures: old ones without a lock."""
        for path in self.folder.parent.glob(f".{self.folder.name}.*.partial"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > SETTLED_S:
                    os.close(_locked(path))
                    shutil.rmtree(path)

    def _end_cleanly(self):
        """Removes the files of the capture before a signal ends the process."""
        def end(number, _frame):
            self.discard()
            os.kill(os.getpid(), number)

        for number in ENDING_SIGNALS:
            with contextlib.suppress(ValueError):  # not on the main thread
                if signal.getsignal(number) is signal.SIG_DFL:
                    self._handled[number] = signal.signal(number, end)

    def _end(self):
        self.partial = None
        for number, before in self._handled.items():
            with contextlib.suppress(ValueError):
                signal.signal(number, before)
        self._handled = {}
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _is_capture(folder):
    try:
        return json.loads((folder / DESCRIPTION).read_text())["format"] == CAPTURE_FORMAT
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _files_of(folder):
    """Returns the files of the capture in a folder, its description first; none without a description."""
    if not _is_capture(folder):
        return []
    ranks = json.loads((folder / DESCRIPTION).read_text()).get("ranks", [])
    # Uses only the names: a description from elsewhere must not point outside of its folder.
    return [DESCRIPTION, *(Path(name).name for rank in ranks for name in rank["files"])]


def _locked(folder):
    """Locks the folder until it is closed or the process ends; OSError if another process has the
    lock."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
