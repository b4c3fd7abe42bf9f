"""Results of the verbs: figures by name, tables for pandas, and the verb's own page in a notebook."""

from __future__ import annotations

import csv
import html
import importlib
import io
import json
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Iterator

if TYPE_CHECKING:
    import pandas

BLOCK = r'<script type="application/json" id="{}">(.*?)</script>'  # docs/pages.md, "The document"
DOCUMENT = "document"  # the table of what is in no list
# Scripts, but none of the notebook's rights: a page shows names that come from strangers' files.
FRAME = ('<iframe srcdoc="{}" sandbox="allow-scripts allow-downloads allow-popups" '
         'style="width: 100%; height: 40em; border: 0; resize: vertical"></iframe>')


class Record(SimpleNamespace):
    """An object of a result: its members are attributes; record["name"] takes any name, and iteration yields the names."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no {name!r} here; there are: {', '.join(self)}")

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __repr__(self) -> str:
        return f"<{', '.join(name if isinstance(value, (list, Record)) else f'{name}={value}' for name, value in vars(self).items())}>"


class Result(Record):
    """What a verb found. Its members are those of `--format json` (docs/formats.md), its tables those of `--format csv`.

    path: the file that the verb wrote, which other verbs take; one in a temporary folder lasts as long as the process
    page: the result as a page in HTML, which a notebook shows; "" for what has none
    """

    __slots__ = ("_text", "page", "path")
    _table = DOCUMENT  # what to_pandas() returns
    _plotted = ("operators", "name", "ms")  # a table, its names and its figures

    def __init__(self, text: str, page: str = "", path: Path | None = None) -> None:
        super().__init__(**vars(json.loads(text, object_hook=lambda members: Record(**members))))
        self._text, self.page, self.path = text, page, path

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._text, self.page, self.path)

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as Python's json reads it."""
        document: dict[str, Any] = json.loads(self._text)
        return document

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Returns the rows of each table. "document" holds, in one row, what is in no list."""
        found: dict[str, list[dict[str, Any]]] = {}
        _add_row(found, DOCUMENT, {}, self.to_dict(), {})
        return found

    def to_pandas(self, table: str | None = None) -> pandas.DataFrame:
        """Returns a table, such as "operators" (default: the result's main one), as a DataFrame. It needs pandas, an extra."""
        import pandas
        tables = self.tables()
        name = table or (self._table if self._table in tables else DOCUMENT)
        if name not in tables:
            raise KeyError(f"no table {name!r} here; there are: {', '.join(tables)}")
        return pandas.DataFrame(tables[name])

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page (.html) or the JSON (.json), which load() reads again. Returns the path."""
        target = Path(path)
        texts = {suffix: text for suffix, text in ((".json", self._text), (".html", self.page)) if text}
        if target.suffix not in texts:
            raise ValueError(f"expected a name that ends with {' or '.join(texts)}, got {str(path)!r}")
        target.write_text(texts[target.suffix], encoding="utf-8")
        return target

    def plot(self, largest: int = 15) -> Any:
        """Draws the largest rows of the result's main figure as bars, and returns matplotlib's Axes. It needs matplotlib, an extra."""
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
        table, name, figure = self._plotted
        sums: dict[str, float] = {}
        for row in self.tables().get(table, ()):
            sums[row[name]] = sums.get(row[name], 0) + (row.get(figure) or 0)
        rows = sorted(sums.items(), key=lambda row: abs(row[1]))[-largest:]
        axes = pyplot.subplots()[1]
        axes.barh([row[0] for row in rows], [row[1] for row in rows])
        axes.set_title(self.verdict, wrap=True)
        axes.set(xlabel=figure)
        return axes

    def __bool__(self) -> bool:
        raise TypeError(f"a {type(self).__name__} is neither true nor false: ask for a member, such as {', '.join(list(self)[:4])}")

    @property
    def verdict(self) -> str:
        """The page's first sentence; "" for what has no page."""
        return str(json.loads(_block(self.page, "page"))["verdict"]) if self.page else ""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.verdict or ', '.join(self)}>"

    def _repr_html_(self) -> str | None:
        return FRAME.format(html.escape(self.page)) if self.page else None


class Benchmark(Result):
    """A benchmark, bench.et: what it holds of the traces, and what was lost. Its `path` is the file."""

    _table, _plotted = "ranks", ("account", "what", "host_ms")


class Report(Result):
    """A replay's report: how long an iteration took, and how much of the original ran. Its `path` is the report as JSON."""

    _table = "operators"


class Comparison(Result):
    """What got slower or faster from A to B, with 95 % intervals."""

    _table, _plotted = "rows", ("rows", "name", "change_ms")

    def _verdict_of_step(self) -> str:
        return next((row.verdict for row in self.rows if row.kind == "iteration"), "")

    @property
    def is_slower(self) -> bool:
        """The step is slower in B, beyond its interval and the margin."""
        return self._verdict_of_step() == "SLOWER"

    @property
    def is_faster(self) -> bool:
        """The step is faster in B, beyond its interval and the margin."""
        return self._verdict_of_step() == "FASTER"

    @property
    def is_unsure(self) -> bool:
        """Neither that the step changed nor that it stayed could be told."""
        return self._verdict_of_step() not in ("SLOWER", "FASTER", "SAME")


class Prediction(Result):
    """How long an iteration, or single operators, would take. Its `path` is the prediction as JSON."""

    _table, _plotted = "operators", ("classes", "name", "ms")


class Inspection(Result):
    """What is in traces, a profile, a benchmark or a report."""

    _table, _plotted = "ranks.ops", ("ranks.ops", "name", "self_ns")


class Suite(Result):
    """This machine beside the platforms that ran a gallery's steps."""

    _table = "steps"


KINDS = {"understudy-report": Report, "understudy-prediction": Prediction, "understudy-comparison": Comparison}


def read(path: Path) -> Result:
    """Returns the result that a file of JSON, or a page, holds."""
    text, page = parse(path.read_text(encoding="utf-8"))
    return KINDS.get(json.loads(text).get("format"), Inspection)(text, page, path)


def parse(printed: str) -> tuple[str, str]:
    """Returns JSON and page of what a verb printed: a page, which holds the result; JSON; or single operators as CSV."""
    if printed.startswith("<!doctype html>"):
        return _block(printed, "data"), printed
    if printed.startswith("{"):
        return printed, ""
    rows = [{name: _number(cell) for name, cell in row.items()} for row in csv.DictReader(io.StringIO(printed))]
    return json.dumps({"operators": rows}), ""


def _number(cell: str) -> Any:
    try:
        return json.loads(cell)
    except ValueError:
        return cell or None


def _block(page: str, name: str) -> str:
    found = re.search(BLOCK.format(name), page, re.DOTALL)
    assert found, f"a page without {name}"
    return found[1]


def _add_row(tables: dict[str, list[dict[str, Any]]], table: str, cells: dict[str, Any], element: dict[str, Any],
             around: dict[str, Any]) -> None:
    """Adds an object's values to a table, and its lists as tables of their own, as cli/common/json_csv.h does."""
    lists: dict[str, Any] = {}
    for key, value in _members("", element):
        (lists if isinstance(value, list) else cells)[key] = value
    if cells:
        tables.setdefault(table, []).append(cells)
    for key, rows in lists.items():
        name = key if table == DOCUMENT else f"{table}.{key}"
        for place, row in enumerate(rows):
            if isinstance(row, dict):
                named = next((row[word] for word in ("rank", "name", "job") if word in row), place)
                _add_row(tables, name, dict(around), row, {**around, key: named})
            else:
                tables.setdefault(name, []).append({**around, "place": place, "value": row})


def _members(prefix: str, element: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in element.items():
        if isinstance(value, dict):
            yield from _members(f"{prefix}{key}.", value)
        else:
            yield prefix + key, value
