"""Errors of the fleet's commands: the same facts and lines as the programs have (docs/formats.md, "Errors as JSON")."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any, Iterator

from understudy.endings import BAD_INPUT, FAILED, USAGE

CANNOT_WRITE = 74
FACTS = ("file", "rank", "node", "field", "expected", "got", "hint")


class Problem(Exception):
    """Ends a command with a status. A step's problem breaks its job alone."""

    def __init__(self, summary: str, status: int = FAILED, **facts: Any) -> None:
        super().__init__(summary)
        self.summary, self.status, self.facts = summary, status, facts

    def text(self) -> str:
        shown = [f"\n  {fact + ':':<9} {escaped(str(self.facts[fact]))}" for fact in FACTS if self.facts.get(fact) not in (None, "")]
        return escaped(self.summary) + "".join(shown)

    def json(self) -> str:
        facts = {fact: self.facts.get(fact, None if fact in ("rank", "node") else "") for fact in FACTS}
        return json.dumps({"error": {"summary": self.summary, **facts}}, ensure_ascii=False)


class DatabaseProblem(Problem):
    """Of the database that all steps of a night share: it ends the night, not a job."""


def usage(summary: str, **facts: Any) -> Problem:
    return Problem(summary, USAGE, **facts)


def damaged(**facts: Any) -> DatabaseProblem:
    return DatabaseProblem("the fleet's database is damaged", BAD_INPUT, hint="restore the copy that `understudy fleet gc --backup` made", **facts)


@contextlib.contextmanager
def reading(expected: str) -> Iterator[None]:
    """JSON of the database that has other members than its writer gave it is damage."""
    try:
        yield
    except (AttributeError, KeyError, TypeError) as problem:
        raise damaged(expected=expected, got=str(problem)) from problem


def escaped(text: str) -> str:
    """Returns the text with control characters as JSON has them: they would move a terminal's cursor."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", text)


def in_one_line(text: str, most_bytes: int = 600) -> str:
    """Returns the text of a failure as one line of limited length."""
    line = "; ".join(" ".join(part.split(" ")).strip() for part in re.sub(" +", " ", text).split("\n")).strip("; ")
    line = re.sub("(; )+", "; ", line)
    cut = line.encode()[:most_bytes].decode(errors="ignore")
    return line if cut == line else cut + " …"
