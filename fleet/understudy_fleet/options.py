"""Command lines: options declared once give the parser, --help and errors, in the form of the other verbs."""

from __future__ import annotations

import difflib
import sys
import textwrap
from dataclasses import dataclass
from typing import Any, Callable, Sequence

from .problems import Problem, usage

WIDTH, HELP_AT = 100, 28
STATUSES = ("2   usage error: wrong flags, or a world size, benchmark or library that does not match", "65  an input file is missing or invalid",
            "70  internal error (a bug)", "74  an output could not be written")
Read = Callable[[str], Any]


class Finished(Exception):
    """--help and --version have printed; nothing is left to do."""


@dataclass
class Option:
    """`spec`: "-o,--output FILE", "--all", or the name of an argument, "DATABASE". `read` returns a value or raises ValueError."""

    spec: str
    help: str
    default: Any = None
    read: Read = str
    required: bool = False
    many: bool = False
    greedy: bool = False  # one flag takes all words up to the next flag
    shows: str = ""  # of the default

    @property
    def names(self) -> list[str]:
        return self.spec.partition(" ")[0].split(",")

    @property
    def is_flag(self) -> bool:
        return self.spec.startswith("-")

    @property
    def takes_value(self) -> bool:
        return " " in self.spec or not self.is_flag

    @property
    def key(self) -> str:
        return self.names[-1].lstrip("-").replace("-", "_").lower()

    def line(self) -> str:
        shown = self.shows or ("" if self.default in (None, False, "", 0, []) else f"{self.default:g}" if isinstance(self.default, float) else str(self.default))
        text = f"{self.help} (default: {shown})" if shown else self.help
        head = f"  {self.spec}"
        lines = textwrap.wrap(text, WIDTH - HELP_AT)
        first = f"{head:<{HELP_AT}}{lines.pop(0)}" if len(head) < HELP_AT - 1 else head
        return "\n".join([first, *(" " * HELP_AT + line for line in lines)])


def number(kind: type, least: float, most: float) -> Read:
    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            bounds = f"{least} to {most}" if kind is int else f"{least:f} to {most:f}"
            raise ValueError(f"Value {text} not in range {bounds}")
        return value

    return read


def one_of(*words: str) -> Read:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text} not in {{{','.join(words)}}}")
        return text

    return read


def say(text: str) -> None:
    """Prints a result."""
    sys.stdout.write(text)
    sys.stdout.flush()


def words(text: str) -> list[str]:
    return text.split()


DATABASE = Option("DATABASE", "The fleet: a file, or postgresql://…", required=True)
FORMAT = Option("--format FORMAT", "How to print the result: text, json, csv or html (a page in one file)", "text", one_of("text", "json", "csv", "html"))


def quiet(text: str) -> Option:
    return Option("-q,--quiet", f"Nothing on standard error but errors; {text}", False)


@dataclass
class Command:
    name: str
    summary: str
    description: str
    options: Sequence[Option]
    examples: str
    success: str = "success"
    failure: str = "the database failed"
    replaced: tuple[tuple[str, str], ...] = ()  # flags that are gone, and what takes their place

    def help(self) -> str:
        named, flags = [option for option in self.options if not option.is_flag], [option for option in self.options if option.is_flag]
        usage_line = " ".join(f"{option.spec}..." if option.many else option.spec if option.required else f"[{option.spec}]" for option in named)
        return "\n".join([
            *textwrap.wrap(self.description, WIDTH), f"Usage: understudy fleet {self.name} [OPTIONS] {usage_line}", "",
            "Arguments", *(option.line() for option in named), "",
            "Options", *(option.line() for option in flags), "",
            "Help", "  -h,--help                   Print this help", "  --help-all                  Print this help",
            "  --version                   Print the version", "",
            "EXAMPLES", self.examples, "", "EXIT STATUS", f"  0   {self.success}", f"  1   {self.failure}", *(f"  {line}" for line in STATUSES), ""])

    def problem(self, got: str) -> Problem:
        return usage("invalid arguments", got=got, hint=f"understudy fleet {self.name} --help lists the flags")

    def parse(self, given: Sequence[str]) -> Any:
        """Returns the values by key, and the keys that were `given`."""
        values: dict[str, Any] = {option.key: [] if option.many else option.default for option in self.options}
        flags = {name: option for option in self.options if option.is_flag for name in option.names}
        places = [option for option in self.options if not option.is_flag]
        left, named = list(given), set()
        while left:
            word = left.pop(0)
            name, equals, value = word.partition("=")
            if word in ("-h", "--help", "--help-all", "--version"):
                raise Finished(word)
            if name.startswith("-") and len(name) > 1:
                option = flags.get(name)
                if option is None:
                    raise self.unknown(name, list(flags))
                if option.takes_value and not equals and not left:
                    raise self.problem(f"{name}: 1 required {option.spec.partition(' ')[2]} missing")
                texts = [value if equals else left.pop(0)] if option.takes_value else []
                while option.greedy and left and not left[0].startswith("-"):
                    texts.append(left.pop(0))
            elif places:
                option, texts = places[0], [word]
                if not option.many:
                    places.pop(0)
            else:
                raise usage("one argument too many", got=word, hint=f"understudy fleet {self.name} --help lists the flags")
            named.add(option.key)
            self.take(option, texts, values)
        for option in self.options:
            if option.required and option.key not in named:
                raise self.problem(f"{option.spec.partition(' ')[0].rpartition(',')[2]} is required")
        return Values(values, named)

    def take(self, option: Option, texts: list[str], values: dict[str, Any]) -> None:
        if not option.takes_value:
            values[option.key] = True
        for text in texts:
            try:
                value = option.read(text)
            except ValueError as problem:
                raise self.problem(f"{option.names[-1]}: {problem}") from problem
            values[option.key] = [*values[option.key], value] if option.many else value

    def unknown(self, name: str, flags: list[str]) -> Problem:
        if by := dict(self.replaced).get(name):
            return usage(f"unknown flag {name}", hint=by)
        near = difflib.get_close_matches(name, flags, 1)
        return usage(f"unknown flag {name}", hint=f"did you mean {near[0]}?" if near else f"understudy fleet {self.name} --help lists the flags")


class Values:
    def __init__(self, values: dict[str, Any], given: set[str]) -> None:
        self.__dict__.update(values)
        self.given = given

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)
