"""Files by the SHA-256 of their content, in a folder that has the fleet's id. No link is followed out of it."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
import time
from pathlib import Path
from typing import Iterator

from .problems import Problem, usage

MARK = "understudy-store"
LOCKS = (".lock", ".night", ".platform")  # files of work that workers hold, whatever their age
DIGEST = re.compile("[0-9a-f]{64}")


def digest_of_file(path: str | Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def fleet_of(folder: Path) -> str:
    """Returns the id of the fleet whose store this is; "" for any other folder."""
    mark = folder / MARK
    if not stat.S_ISREG(_mode(mark)) or any(stat.S_ISLNK(_mode(folder / part)) for part in ("objects", "work")):
        return ""
    return mark.read_text(encoding="utf-8", errors="replace").partition("\n")[0]


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _cannot_write(problem: OSError) -> Problem:
    return Problem("the store cannot be written", file=problem.filename, got=problem.strerror,
                   hint="see that the disk has room and can be written")


def make_store(folder: Path, fleet: str) -> None:
    is_new = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    if not is_new and fleet_of(folder) != fleet:
        raise usage("the folder cannot become a store", file=folder, expected="an empty folder, this fleet's store, or a new name",
                    got="another fleet's store" if fleet_of(folder) else "a folder with other files", hint="choose another place")
    if is_new:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_file(folder / MARK, f"{fleet}\n".encode())
        except OSError as problem:
            raise _cannot_write(problem) from problem


def write_file(path: Path, content: bytes) -> None:
    """Writes a file as a whole: another name until its bytes are on the disk."""
    made, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=f".part-{os.getpid()}")
    try:
        with os.fdopen(made, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException as problem:
        os.unlink(name)
        if isinstance(problem, OSError):
            problem.filename = str(path)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


class Store:
    def __init__(self, folder: Path, fleet: str) -> None:
        self.folder = folder
        found = fleet_of(folder)
        if not found or found != fleet:
            raise Problem("the fleet's store is not where its database says", file=folder,
                          expected=f"a folder with the fleet's id in a file {MARK}", got="another fleet's store" if found else "none",
                          hint="name its folder: understudy fleet init DATABASE --store DIR")

    def path(self, digest: str) -> Path:
        folder = self.folder / "objects" / digest[:2]
        if not DIGEST.fullmatch(digest) or folder.is_symlink():
            raise Problem("the fleet's database or store is damaged", file=self.folder,
                          expected="an object's name of 64 hexadecimal digits, in a folder of the store", got=repr(digest),
                          hint="restore the copy that `understudy fleet gc --backup` made")
        return folder / digest[2:]

    def put(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        path = self.path(digest)
        if self.fault(digest):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_file(path, content)
            except OSError as problem:
                raise _cannot_write(problem) from problem
        return digest

    def fault(self, digest: str) -> str:
        """Returns "missing", "damaged" or "cannot be read"; "" for an object that is whole."""
        path = self.path(digest)
        if not path.exists():
            return "missing"
        try:
            return "" if digest_of_file(path) == digest else "damaged"
        except OSError:
            return "cannot be read"

    def has(self, digest: str) -> bool:
        return self.path(digest).is_file()

    def remove(self, digest: str) -> None:
        try:
            self.path(digest).unlink(missing_ok=True)
        except OSError as problem:
            raise _cannot_write(problem) from problem

    def objects(self) -> Iterator[tuple[str, Path]]:
        for path in sorted((self.folder / "objects").glob("*/*")):
            digest = path.parent.name + path.name
            if DIGEST.fullmatch(digest) and not path.parent.is_symlink() and stat.S_ISREG(_mode(path)):
                yield digest, path

    def make_folder(self, folder: Path) -> None:
        """Makes a folder in the store, in the place of a link."""
        try:
            if folder.is_symlink():
                folder.unlink()
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise _cannot_write(problem) from problem

    def remove_leftovers(self, age_s: float, only_counts: bool) -> tuple[int, int]:
        """Removes what killed workers left. Entries' own times count: a recent link to an old object stays. Returns files and bytes."""
        old = []
        for part, pattern in (("objects", ".*.part-*"), ("work", "*")):
            for path in (self.folder / part).rglob(pattern):
                found = path.lstat()
                if time.time() - found.st_mtime >= age_s and path.suffix not in LOCKS:
                    old.append((path, found))
        files = size = 0
        for path, found in sorted(old, key=lambda entry: len(entry[0].parts), reverse=True):  # inner entries first
            try:
                if not only_counts:
                    path.rmdir() if stat.S_ISDIR(found.st_mode) else path.unlink()
            except OSError:
                continue
            if not stat.S_ISDIR(found.st_mode):
                files, size = files + 1, size + found.st_size
        return files, size
