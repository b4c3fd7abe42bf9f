"""A file that is complete or absent, even if the program or the machine stops."""

import contextlib
import os
import secrets
from pathlib import Path

from .endings import USAGE, Refused


def write_whole(path, text):
    """Writes the text to a new file in the same folder, then renames it. Raises Refused if `path` is a link."""
    path = Path(path)
    if path.is_symlink() and not _is_open_already(path):
        raise Refused(f"{path}: it is a symbolic link; name the file that it leads to, or remove the link", USAGE)
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")  # a device or a pipe must not be replaced by a file
        return
    partial = path.with_name(f".{path.name[:200]}.part-{secrets.token_hex(8)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
    write_through(path.parent)


def write_through(path):
    """Flushes a file's content, or a folder's names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_open_already(path):
    """Returns whether the path is standard output or another open file of this process: such names may be links to anything."""
    return str(path).startswith(("/dev/std", "/dev/fd/", "/proc/self/fd/"))
