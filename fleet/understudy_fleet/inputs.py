"""Jobs' traces: what is added, and whether it changed."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import time
from pathlib import Path
from typing import Any, Iterator

import yaml
from understudy.endings import BAD_INPUT

from .problems import Problem, escaped
from .store import digest_of_file

TRACE_ENDINGS = (".json", ".gz", ".et", ".tar", ".tgz", ".zip")
ZIP, BENCHMARK = b"PK\x03\x04", b"manifest.json"  # what a file of traces, and a benchmark, may begin with
TAKEN = "traces (PyTorch's, Chakra's, an archive of them), a folder of jobs, or a manifest (.yaml)"
# File times have a resolution of up to two seconds (FAT): two writes within it look the same.
RECENT_S = 2
# Flags of generate that decide a benchmark's content, and how many values each takes (None: any number); others could write elsewhere.
FLAGS: dict[str, int | None] = {"--allow-missing": 0, "--batch": 1, "--exclude": 1, "--indices": 1, "--no-backward": 0, "--obfuscate": 0,
                                "--only": 1, "--profile": None, "--step": 1, "--subgraph": None}
ALLOWED = ", ".join(FLAGS)


def refused_flag(words: list[str]) -> str:
    """Returns the first word that is neither an allowed flag nor a value of one; "" if all are allowed."""
    place = 0
    while place < len(words):
        name, equals, _ = words[place].partition("=")
        if name not in FLAGS:
            return words[place]
        place += 1
        most = FLAGS[name]
        if not equals and most:
            place += most
        while most is None and place < len(words) and not words[place].startswith("-"):
            place += 1
    return ""


def _names_below(path: str) -> list[tuple[str, str]]:
    """Returns (name, path) of the regular files of a job, as generate takes them: reading a pipe would block for ever."""
    if not os.path.isdir(path):
        if os.path.exists(path) and not os.path.isfile(path):
            raise _unreadable(path, "neither a file nor a folder")
        return [(os.path.basename(path), path)]
    names = []
    for folder, folders, files in os.walk(path, onerror=_raise):
        folders[:] = [name for name in folders if not name.startswith(".")]
        whole = (os.path.join(folder, name) for name in files if not name.startswith("."))
        names += [(os.path.relpath(name, path), name) for name in whole if os.path.isfile(name)]
    if not names:
        raise _unreadable(path, "a folder without files")
    return sorted(names)


def _raise(problem: OSError) -> None:
    raise _unreadable(str(problem.filename), problem.strerror)


def _unreadable(path: str, got: str | None) -> Problem:
    return Problem("a job's traces cannot be read", BAD_INPUT, file=path, expected="traces of all ranks: a file, an archive or a folder", got=got,
                   hint="add the right path (understudy fleet add), or remove it")


def input_stat(path: str) -> tuple[str, bool]:
    """Returns a digest of names, sizes, times and inodes of a job's files, and whether one changed so recently that its next change might
    go unnoticed."""
    text, is_recent, now = "", False, time.time()
    for name, file in _names_below(path):
        try:
            found = os.stat(file)
        except OSError as problem:
            raise _unreadable(file, problem.strerror) from problem
        text += f"{name}\n{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino} {found.st_dev}\n"
        is_recent = is_recent or max(found.st_mtime, found.st_ctime) + RECENT_S >= int(now)
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest(), is_recent


def input_hash(path: str) -> str:
    """Returns a digest of the names and contents of a job's files."""
    try:
        text = "".join(f"{name}\n{digest_of_file(file)}\n" for name, file in _names_below(path))
    except OSError as problem:
        raise _unreadable(str(problem.filename), problem.strerror) from problem
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def benchmark_key(content: str | None, generator: str, flags: list[str]) -> str:
    """Returns a digest of all that decides a benchmark."""
    return hashlib.sha256(f"{content}\n{generator}\n{json.dumps(flags, ensure_ascii=False)}".encode()).hexdigest()


def _no_jobs(file: str | Path, expected: str, got: str, hint: str = "") -> Problem:
    return Problem("there are no jobs", BAD_INPUT, file=file, expected=expected, got=got, hint=hint)


def _is_trace(path: Path) -> bool:
    return not path.name.startswith(".") and path.name.endswith(TRACE_ENDINGS)


def _entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _holds_traces(folder: Path) -> bool:
    return any(map(_is_trace, _entries(folder)))


def _start(path: Path) -> bytes:
    if not stat.S_ISREG(path.stat().st_mode):
        return b""
    with open(path, "rb") as file:
        return file.read(64)


def _is_benchmark(path: Path) -> bool:
    start = _start(path)
    return start.startswith(ZIP) and start[30:].startswith(BENCHMARK)


def _job_at(path: Path) -> dict[str, Any]:
    if path.exists() and _is_benchmark(path):
        raise _no_jobs(path, TAKEN, "a benchmark", "add what it was made of, of which each night makes it anew")
    name = path.resolve().name if path.name in ("", "..") else path.name
    for ending in (".gz", ".tar", ".tgz", ".zip", ".json"):
        if name.endswith(ending) and len(name) > len(ending):
            name = name[:-len(ending)]
    return {"name": name, "path": os.path.normpath(os.path.abspath(path)), "weight": 1.0, "tags": {}, "flags": []}


def is_manifest(path: str) -> bool:
    return path.endswith((".yaml", ".yml"))


def jobs_at(text: str, each: bool) -> list[dict[str, Any]]:
    """Returns one job for a file, an archive or a folder of traces; several for a folder whose subfolders hold traces or, if `each`, for
    every trace and subfolder in it."""
    path = Path(text)
    if not path.exists():
        raise _no_jobs(text, TAKEN, "no such file")
    if not path.is_dir():
        if not _is_trace(path) and not _start(path).startswith((b"{", b"[", b"\x1f\x8b", ZIP)):
            raise _no_jobs(text, TAKEN, "a file of another kind")
        return [_job_at(path)]
    if not each and _holds_traces(path):
        return [_job_at(path)]
    jobs = [_job_at(entry) for entry in _entries(path) if (_holds_traces(entry) if entry.is_dir() else each and _is_trace(entry))]
    if not jobs:
        raise _no_jobs(text, "folders with traces in them", "none", "--each takes every trace in it as a job")
    return jobs


class Manifest:
    """Reads a manifest (docs/formats.md, "fleet manifest"). Every error names its line."""

    def __init__(self, file: str) -> None:
        self.file = file

    def jobs(self) -> list[dict[str, Any]]:
        try:
            documents = list(yaml.compose_all(Path(self.file).read_bytes(), yaml.SafeLoader))
        except yaml.MarkedYAMLError as problem:
            mark = problem.problem_mark or problem.context_mark
            raise self.problem(mark.line if mark else None, "", "YAML", problem.problem or "something else") from problem
        except yaml.YAMLError as problem:
            raise self.problem(None, "", "YAML", str(problem).partition("\n")[0]) from problem
        if len(documents) > 1:
            raise self.problem(documents[1].start_mark.line - 1, "", "one document", "several")
        root = documents[0] if documents else None
        items = self.members(root, "", {"jobs"}).get("jobs")
        if not isinstance(items, yaml.SequenceNode) or not items.value:
            raise self.problem(self.line(root), "jobs", "a list of jobs", "none")
        jobs: list[dict[str, Any]] = []
        for item in items.value:
            made = self.job(item)
            if made["name"] in [job["name"] for job in jobs]:
                raise self.problem(self.line(item), "jobs.name", "each name once", made["name"])
            jobs.append(made)
        return jobs

    def job(self, item: Any) -> dict[str, Any]:
        parts = self.members(item, "jobs", {"name", "path", "weight", "tags", "flags"})
        if not isinstance(parts.get("path"), yaml.ScalarNode) or not parts["path"].value:
            raise self.problem(self.line(item), "jobs.path", "a text", "something else" if "path" in parts else "nothing")
        made = _job_at(Path(self.file).parent / self.word(parts["path"], "jobs.path"))
        if "name" in parts:
            made["name"] = self.word(parts["name"], "jobs.name")
        if "weight" in parts:
            made["weight"] = self.weight(parts["weight"])
        if "tags" in parts:
            for name, value in self.pairs(parts["tags"], "jobs.tags", "names and values"):
                if name in made["tags"]:
                    raise self.problem(self.line(parts["tags"]), "jobs.tags", "each name once", name)
                made["tags"][name] = self.word(value, f"jobs.tags.{name}")
        if "flags" in parts:
            flags = parts["flags"]
            if not isinstance(flags, yaml.SequenceNode):
                raise self.problem(self.line(flags), "jobs.flags", "a list of flags of generate", "something else")
            made["flags"] = [self.word(flag, "jobs.flags") for flag in flags.value]
            if refused := refused_flag(made["flags"]):
                raise self.problem(self.line(flags), "jobs.flags", ALLOWED, refused)
        return made

    def weight(self, node: Any) -> float:
        try:
            value = float(node.value)
        except (TypeError, ValueError):
            value = math.nan
        if not 0 <= value < math.inf:
            raise self.problem(self.line(node), "jobs.weight", "a number of 0 or more", str(node.value))
        return value

    def word(self, node: Any, field: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null":
            raise self.problem(self.line(node), field, "a text", "nothing" if isinstance(node, yaml.ScalarNode) else "something else")
        if escaped(node.value) != node.value or "\n" in node.value or "\t" in node.value:
            raise self.problem(self.line(node), field, "a text without control characters", escaped(node.value))
        return str(node.value)

    def pairs(self, node: Any, field: str, expected: str) -> Iterator[tuple[str, Any]]:
        if not isinstance(node, yaml.MappingNode):
            raise self.problem(self.line(node), field, expected, "something else")
        for key, value in node.value:
            yield self.word(key, field), value

    def members(self, node: Any, field: str, known: set[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if not isinstance(node, yaml.MappingNode):
            raise self.problem(self.line(node), field, "keys and values", "something else")
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name in found:
                raise self.problem(self.line(key), field, "each key once", name)
            if name not in known:
                raise self.problem(self.line(key), field, ", ".join(sorted(known)), name)
            found[name] = value
        return found

    @staticmethod
    def line(node: Any) -> int | None:
        return None if node is None else int(node.start_mark.line)

    def problem(self, line: int | None, field: str, expected: str, got: str) -> Problem:
        return Problem("the manifest cannot be read", BAD_INPUT, file=self.file if line is None else f"{self.file}:{line + 1}", field=field,
                       expected=expected, got=got, hint='docs/formats.md, "fleet manifest", has an example')
