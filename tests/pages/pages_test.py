"""The page in a headless Chromium: no complaint of the console, figures equal to the data's, tables, plots and timelines by
keyboard, hostile texts, 10,000 operators. Usage: pages_test.py BIN (the folder of the built programs)."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from browser import Browser

BIN = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else Path("build/release/bin")
OPERATORS = 10_000
PAGES = ["report", "comparison", "timeline", "prediction", "fleet", "benchmark", "platforms", "platform"]

PAGE = "JSON.parse(document.getElementById('page').textContent)"

# Each figure that names its place in the data: the place's value, and both texts.
FIGURES = """(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (pointer) => pointer.split("/").slice(1).reduce((value, key) => value[key], data);
  return [...document.querySelectorAll("data[data-at]")].map((node) =>
    [node.dataset.at, Number(node.value), at(node.dataset.at), node.textContent]);
})()"""

# Each table that names its place: its rows, of the document and as shown, beside the data's.
TABLES = """(() => {
  const [page, data] = ["page", "data"].map((id) => JSON.parse(document.getElementById(id).textContent));
  const at = (pointer) => pointer.split("/").slice(1).reduce((value, key) => value[key], data);
  const tables = page.sections.flatMap(({ blocks }) => blocks).flatMap(({ table }) => (table && table.at && table.shown ? [table] : []));
  const isShown = (table, i) => !document.querySelectorAll(`#${table.id} thead th`)[i].hidden;
  return tables.map((table) => ({
    ...table,
    data: at(table.at),
    drawn: [...document.getElementById(table.id).tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)),
    written: table.rows.slice(0, table.shown).map((row) => row.map((cell, i) => understudy.format(cell, table.columns[i].hint)).filter((_, i) => isShown(table, i))),
  }));
})()"""


def member(row, key):
    """Of a row of the data, by a key such as "ratio/value"; None where it lacks it."""
    for part in key.split("/"):
        row = row.get(part) if isinstance(row, dict) else None
    return row


def shown_value(value):
    """An empty text is shown as "–", a yes or no in words."""
    return None if value == "" else {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def value_of(cell):
    """A cell of a block: a link is its text."""
    return cell[0] if isinstance(cell, list) else cell


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="understudy-pages-")))
        subprocess.run([BIN / "page_samples", cls.folder, str(OPERATORS)], check=True)
        cls.browser = cls.enterClassContext(Browser())

    def open(self, name, **more):
        return self.browser.open(self.folder / f"{name}.html", **more)

    def test_no_complaint_in_either_scheme(self):
        for name in PAGES:
            for scheme in ("light", "dark"):
                with self.subTest(name=name, scheme=scheme):
                    page = self.open(name, scheme=scheme)
                    page.value("document.documentElement.scrollHeight")
                    self.assertEqual(page.problems(), [])

    def test_scheme_is_the_readers(self):
        colours = [
            self.open("report", scheme=scheme).value("getComputedStyle(document.documentElement).backgroundColor")
            for scheme in ("light", "dark")
        ]
        self.assertEqual(colours, ["rgb(255, 255, 255)", "rgb(21, 24, 28)"])

    def test_figures_equal_the_data(self):
        for name in ("report", "comparison"):
            with self.subTest(name=name):
                figures = self.open(name).value(FIGURES)
                self.assertGreater(len(figures), 3)
                for pointer, value, there, _ in figures:
                    self.assertEqual(value, there, pointer)

    def test_tables_equal_the_data(self):
        for name in ("report", "comparison", "fleet", "platforms", "platform"):
            tables = self.open(name).value(TABLES)
            with self.subTest(name=name):
                self.assertGreater(len(tables), 0)
            for table in tables:
                with self.subTest(name=name, table=table["id"]):
                    self.compare_table(table)

    def compare_table(self, table):
        rows = table["data"]
        if isinstance(rows, dict):
            rows = [{"name": name, "value": value} for name, value in rows.items()]
        self.assertGreater(len(rows), 0)
        self.assertEqual(len(table["rows"]), len(rows))
        self.assertEqual(table["drawn"], table["written"])
        for i, column in enumerate(table["columns"]):
            if column["key"]:
                found = [value_of(cells[i]) for cells in table["rows"]]
                self.assertEqual(found, [shown_value(member(row, column["key"])) for row in rows], column["key"])

    def test_the_script_writes_figures_as_the_program_does(self):
        cells = (self.folder / "cells.json").read_text(encoding="utf-8")
        written = self.open("platform").value(f"{cells}.map(([value, hint]) => understudy.format(value, hint))")
        self.assertEqual(written, [text for _, _, text in json.loads(cells)])

    def test_unknown_hints_are_read(self):
        html = (self.folder / "report.html").read_text(encoding="utf-8")
        html = html.replace('"hint":"distribution"', '"hint":"cloud"').replace('"hint":"figure"', '"hint":"weight"')
        (self.folder / "unknown.html").write_text(html.replace('"facts":', '"sums":', 1), encoding="utf-8")
        page = self.open("unknown")
        self.assertEqual(page.problems(), [])
        self.assertGreater(page.value("document.querySelector('#iteration-times tbody').rows.length"), 0)
        self.assertIn('"sums"', page.value("document.querySelector('pre').textContent"))

    def test_hostile_texts_stay_texts(self):
        for name in PAGES:
            with self.subTest(name=name):
                page = self.open("hostile-" + name)
                self.assertEqual(page.problems(), [])
                self.assertNotEqual(page.value("document.title"), "broken out")
                self.assertEqual(page.value("document.images.length"), 0)
                # Sorting and choosing make nodes anew.
                page.value("document.querySelectorAll('thead button').forEach((button) => button.click())")
                self.assertEqual(page.value("document.images.length"), 0)
                self.assertNotEqual(page.value("document.title"), "broken out")

    def test_a_table_is_sorted_by_key(self):
        page = self.open("report")
        self.assertEqual(page.value("document.querySelectorAll('#operators-table thead button').length"), 0, "three rows need no order")
        page = self.open("fleet")
        page.value("document.querySelector('#jobs-table thead th:nth-child(4) button').focus()")
        page.key("Enter")
        first = "document.querySelector('#jobs-table tbody tr').cells[3].textContent"
        self.assertEqual(page.value("document.querySelector('#jobs-table thead th:nth-child(4)').ariaSort"), "descending")
        self.assertEqual(page.value(first), "70.25")
        page.key("Enter")
        self.assertEqual(page.value("document.querySelector('#jobs-table thead th:nth-child(4)').ariaSort"), "ascending")
        self.assertEqual(page.value(first), "31.25")
        # What is not known is last, either way.
        page.value("document.querySelector('#jobs-table-more button').click()")
        self.assertEqual(page.value("document.querySelector('#jobs-table tbody tr:last-child').cells[3].textContent"), "–")

    def test_the_keyboard_reaches_everything(self):
        page = self.open("fleet")
        page.key("Tab")
        self.assertEqual(page.value("document.activeElement.className"), "skip")
        reached = set()
        for _ in range(400):
            page.key("Tab")
            reached.add(page.value("document.activeElement.tagName + ' ' + (document.activeElement.id || document.activeElement.className || document.activeElement.type || '')"))
            if page.value("document.activeElement === document.body"):
                break
        tags = {name.split(" ")[0].lower() for name in reached}
        self.assertLessEqual({"a", "button", "div", "svg"}, tags)

    def test_a_series_is_read_by_key(self):
        page = self.open("benchmark")
        page.value("document.querySelector('#platform-0 svg[tabindex]').focus()")
        state = "document.querySelector('#platform-0 figure output').textContent"
        page.key("ArrowRight")
        self.assertEqual(page.value(state), "night 1: median 31.25 ms, 95 % from 30.94 ms, to 31.56 ms")
        for _ in range(20):
            page.key("ArrowRight")
        self.assertEqual(page.value(state), "night 21: median 40.95 ms, 95 % from 40.54 ms, to 41.36 ms, slower (30.3 % longer)")
        self.assertEqual(page.problems(), [])

    def test_a_timeline_is_read_by_key(self):
        page = self.open("timeline")
        page.value("document.querySelector('canvas').focus()")
        state = "document.querySelector('figure.timeline output').textContent"
        page.key("ArrowRight")
        self.assertEqual(page.value(state), "aten::mm (matmul): 1 µs, at 0 ns; rank 0, thread 1, 1 of 2")
        page.key("ArrowRight")
        self.assertEqual(page.value(state), "aten::mm (matmul): 500 ns, at 1.5 µs; rank 0, thread 1, 2 of 2")
        page.key("ArrowDown")
        self.assertEqual(page.value(state), "allreduce (communication): 700 ns, at 900 ns; rank 0, communication, 1 of 1")
        page.key("Enter")
        page.key("+")
        page.key("0")
        self.assertEqual(page.problems(), [])

    def test_a_timeline_is_drawn(self):
        page = self.open("timeline")
        # The first event's lane, a quarter of the way through it, has a colour; beyond all events there is none.
        colour = """(() => { const canvas = document.querySelector("canvas"); const pen = canvas.getContext("2d");
          const at = (share, y) => [...pen.getImageData(150 + share * (canvas.width - 158), y, 1, 1).data];
          return [at(0.1, 24 + 18 + 10)[3], at(0.6, 24 + 18 + 10)[3]]; })()"""
        page.wait("document.querySelector('canvas').dataset.drawMs !== undefined")
        self.assertEqual(page.value(colour), [255, 0])

    def test_ten_thousand_operators(self):
        page = self.open("large")
        self.assertEqual(page.problems(), [])
        rows = "document.querySelectorAll('#operators-table tbody tr').length"
        self.assertEqual(page.value(rows), 15)
        data = page.value("JSON.parse(document.getElementById('data').textContent).operators.length")
        self.assertEqual(data, OPERATORS)
        search = "document.querySelector('#operators-table-more input')"
        page.value(f"{search}.value = 'operator_0777'; {search}.dispatchEvent(new Event('input'))")
        self.assertEqual(page.value(rows), 10)
        state = "document.querySelector('#operators-table-more output').textContent"
        self.assertEqual(page.value(state), "10 of 10 rows")
        page.value(f"{search}.value = ''; {search}.dispatchEvent(new Event('input'))")
        page.value("[...document.querySelectorAll('#operators-table-more button')].at(-1).click()")
        self.assertEqual(page.value(state), f"{OPERATORS} of {OPERATORS} rows")
        page.wait("document.querySelector('#large-timeline canvas').dataset.drawMs !== undefined")

    def test_landmarks_and_names(self):
        for name in PAGES:
            with self.subTest(name=name):
                page = self.open(name)
                self.assertEqual(page.value("document.querySelectorAll('main, header, footer').length"), 3)
                self.assertEqual(page.value("document.querySelectorAll('h1').length"), 1)
                self.assertEqual(page.value("document.documentElement.lang"), "en")
                unnamed = """[...document.querySelectorAll("svg[role], canvas, section, nav, div[role=region], input")].filter((node) =>
                  !(node.getAttribute("aria-label") || node.getAttribute("aria-labelledby") || node.labels?.length)).length"""
                self.assertEqual(page.value(unnamed), 0)
                lost = """[...document.querySelectorAll("[aria-labelledby]")].filter((node) =>
                  !document.getElementById(node.getAttribute("aria-labelledby"))).length"""
                self.assertEqual(page.value(lost), 0)
                twice = """(() => { const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
                  return ids.filter((id, i) => ids.indexOf(id) !== i); })()"""
                self.assertEqual(page.value(twice), [])

    def test_on_a_phone_nothing_is_cut_off(self):
        for name in PAGES:
            with self.subTest(name=name):
                page = self.open(name, width=390)
                wide = """[...document.querySelectorAll("div.table, .table td, .table th")].filter((node) =>
                  node.scrollWidth > node.clientWidth + 1 || node.getBoundingClientRect().right > 390).map((node) => node.outerHTML.slice(0, 80))"""
                self.assertEqual(page.value(wide), [])
                titles = "[...document.querySelectorAll('.table tbody td')].filter((node) => !node.dataset.title).length"
                self.assertEqual(page.value(titles), 0)

    def test_paper(self):
        page = self.open("report")
        page.call("Emulation.setEmulatedMedia", media="print")
        self.assertEqual(page.value("getComputedStyle(document.querySelector('nav.contents')).display"), "none")
        self.assertEqual(page.value("getComputedStyle(document.documentElement).color"), "rgb(0, 0, 0)")
        self.assertTrue(page.call("Page.printToPDF")["data"].startswith("JVBERi"))


class Programs(unittest.TestCase):
    """The pages that programs print have the figures of their JSON."""

    def test_page_of_a_comparison(self):
        make_reports = Path(__file__).parents[1] / "golden" / "compare" / "make_reports"
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, make_reports, folder], check=True)
            reports = [Path(folder) / "base.json", Path(folder) / "slow.json"]
            printed = [
                subprocess.run([BIN / "compare", *reports, "--fail-on", "never", "--format", form], check=True, capture_output=True).stdout
                for form in ("json", "html")
            ]
            page_file = Path(folder) / "changes.html"
            page_file.write_bytes(printed[1])
            expected = json.loads(printed[0])
            with Browser() as browser:
                page = browser.open(page_file)
                self.assertEqual(page.problems(), [])
                self.assertEqual(page.value("JSON.parse(document.getElementById('data').textContent)"), expected)
                for pointer, value, there, _ in page.value(FIGURES):
                    self.assertEqual(value, there, pointer)
                for kinds, table in ((["class", "gap"], "class-table"), (["operator"], "operator-table")):
                    rows = [row for row in expected["rows"] if row["kind"] in kinds]
                    shown = page.value(f"{PAGE}.sections.flatMap((of) => of.blocks).find((of) => of.table?.id === '{table}').table.rows")
                    self.assertEqual(
                        [[row["a_ms"], row["b_ms"], row["change_ms"], row["ratio"]["value"]] for row in rows],
                        [[cells[1], cells[2], cells[3], cells[4]] for cells in shown],
                    )
                    self.assertEqual([row["verdict"] for row in rows], [cells[8].split(" ")[0] for cells in shown])

    def test_page_of_a_report(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(__file__).parents[1] / "unit" / "data" / "report_2_ranks.json"
            page_file = Path(folder) / "run.html"
            page_file.write_bytes(
                subprocess.run([BIN / "inspect", report, "--format", "html"], check=True, capture_output=True).stdout
            )
            printed = subprocess.run([BIN / "inspect", report, "--format", "json"], check=True, capture_output=True).stdout
            expected = json.loads(printed)
            with Browser() as browser:
                page = browser.open(page_file)
                self.assertEqual(page.problems(), [])
                data = page.value("JSON.parse(document.getElementById('data').textContent)")
                for key in ("iteration_ms", "coverage", "memory", "values", "losses", "pace", "environment", "counters"):
                    self.assertEqual(data[key], expected[key], key)
                for figure, there in zip(data["operators"], expected["operators"]):
                    self.assertEqual(figure, {key: value for key, value in there.items() if key != "samples_ms"})


if __name__ == "__main__":
    unittest.main()
