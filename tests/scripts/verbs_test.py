"""Tests the verbs as Python functions: what they return, raise and show, on programs of the build and on ones that only print."""

import contextlib
import csv
import inspect
import io
import json
import pickle
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "capture"))
import understudy as us  # noqa: E402
from understudy import programs, results  # noqa: E402

SAMPLES = ROOT / "fleet_samples"
VERBS = (us.compare, us.generate, us.inspect, us.predict, us.replay, us.suite)
PAGE = ('<!doctype html>\n<script type="application/json" id="page">{"verdict": "It is <b>."}</script>\n'
        '<script type="application/json" id="data">%s</script>\n')
CALLS = """
import understudy as us
reveal_type(us.replay("bench.et"))
reveal_type(us.replay("bench.et").to_dict())
reveal_type(us.Error("replay", 1, {}).file)
reveal_type(us.capture("out").step())
us.replay("bench.et", iterations="many")
us.compare("a.json")
"""


def printed(*words):
    return subprocess.run(words, env=programs.environment(), capture_output=True, text=True, check=True).stdout


def cell(value):
    """Returns a value as --format csv prints it; a number that was read and printed again may differ in its last digit."""
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    try:
        return f"{float(text):.12g}"
    except ValueError:
        return text


def read_csv(text):
    blocks = (block.partition("\n") for block in text.rstrip("\n").split("\n\n"))
    return {head.removeprefix("# "): list(csv.DictReader(io.StringIO(rows))) for head, _, rows in blocks}


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Scratch(unittest.TestCase):
    def setUp(self):
        self.scratch = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()


class BuiltTest(Scratch):
    """Of the build's programs."""

    @classmethod
    def setUpClass(cls):
        cls.bench = us.generate(SAMPLES / "mlp")
        cls.report = us.replay(cls.bench, threads=1, iterations=2, warmup=0)

    def assert_tables(self, result, text):
        expected = read_csv(text)
        self.assertEqual(list(result.tables()), list(expected))
        for name, rows in result.tables().items():
            for row, wanted in zip(rows, expected[name], strict=True):
                self.assertEqual({key: cell(row.get(key)) for key in wanted}, {key: cell(value) for key, value in wanted.items()}, name)
                self.assertLessEqual(set(row), set(wanted))

    def test_a_result_is_what_the_verb_prints(self):
        program = programs.command("inspect")
        for words, result in (([self.bench.path], us.inspect(self.bench)), ([self.bench.path, "--by", "name"], us.inspect(self.bench, by="name")),
                              ([SAMPLES / "gpt_ddp", "--match"], us.inspect(SAMPLES / "gpt_ddp", match=True))):
            self.assertEqual(result.page, printed(*program, *words, "--format", "html"))
            self.assertEqual(result.to_dict(), json.loads(printed(*program, *words, "--format", "json")))
            self.assert_tables(result, printed(*program, *words, "--format", "csv"))
        self.assert_tables(self.report, printed(*program, self.report.path, "--format", "csv"))

    def test_figures_have_their_names(self):
        self.assertEqual((self.bench.world_size, self.bench.ranks[0].operators), (1, 77))
        document = json.loads(self.report.path.read_text())
        self.assertEqual(self.report.to_dict(), document)
        self.assertEqual(self.report.iteration_ms.median, document["iteration_ms"]["median"])
        self.assertIn(f"median={self.report.iteration_ms.median}", repr(self.report.iteration_ms))
        self.assertEqual((self.report.values.nan, self.report["coverage"]["count"], list(self.report.losses)), (0, 1.0, []))
        self.assertIn("all 77 operators were replayed", self.report.verdict)
        self.assertEqual(repr(self.report), f"<Report: {self.report.verdict}>")
        copied = pickle.loads(pickle.dumps(self.report))
        self.assertEqual((copied, copied.page, copied.path), (self.report, self.report.page, self.report.path))
        with self.assertRaisesRegex(AttributeError, "no 'iteration' here; there are: format, version, .*iteration_ms"):
            self.report.iteration
        for result in (self.bench, self.report):  # no member hides a part of the class
            self.assertEqual(set(result) & {name for name in dir(type(result)) if not name.startswith("__")}, set())

    def test_tables_for_pandas(self):
        frame = self.report.to_pandas()
        self.assertEqual(list(frame.columns), ["name", "class", "count", "ms", "recorded_ms"])
        self.assertEqual(frame["count"].sum(), 77)
        self.assertEqual(self.report.to_pandas("document")["iteration_ms.median"][0],
                         self.report.iteration_ms.median)
        with self.assertRaisesRegex(KeyError, "no table 'operator' here; there are: document, .*operators"):
            self.report.to_pandas("operator")

    def test_one_result_is_another_verbs_input(self):
        compared = us.compare(self.report, [self.report, self.report.path])
        self.assertEqual(([row.world_size for row in compared.a], len(compared.b)), ([1], 2))
        predicted = us.predict(self.bench, card="H100", report=self.scratch / "p.json")
        self.assertEqual(predicted.to_dict(), json.loads((self.scratch / "p.json").read_text()))
        self.assertEqual([row.file for row in us.compare(self.report, predicted).b], [str(self.scratch / "p.json")])
        self.assertEqual((compared.is_slower, compared.is_faster, compared.is_unsure), (False, False, True))
        for name, result in (("c.html", compared), ("r.html", self.report), ("r.json", self.report), ("p.json", predicted)):
            loaded = us.load(result.save(self.scratch / name))
            self.assertEqual((type(loaded), loaded.to_dict().keys()), (type(result), result.to_dict().keys()), name)
        self.assertEqual(us.load(self.bench.path).ranks[0].operators, 77)
        with self.assertRaisesRegex(ValueError, "expected a name that ends with .json or .html, got 'c.csv'"):
            compared.save("c.csv")
        with self.assertRaisesRegex(TypeError, "a Comparison is neither true nor false: ask for a member, such as format, version, a, b"):
            bool(compared)
        with self.assertRaisesRegex(TypeError, "expected a file, or a Benchmark, Report or Prediction, which have one; got <Comparison: "):
            us.inspect(compared)

    def test_predictions_without_a_step(self):
        self.assertEqual(us.predict(card="H100 80GB").Device, "NVIDIA H100 80GB HBM3")
        table = self.scratch / "calls.csv"
        table.write_text("OPName,B,M,N,K,Dtype\nlinear,1,4096,4096,4096,bfloat16\n")
        row = us.predict(operators=table, card="H100").operators[0]
        self.assertEqual((row.OPName, row.M), ("linear", 4096))
        self.assertTrue(row.low < row.ms < row.high)

    def test_all_ranks_are_started(self):
        bench = us.generate(SAMPLES / "gpt_ddp", output=self.scratch / "ddp.et")
        self.assertEqual(bench.path, self.scratch / "ddp.et")
        self.assertEqual(us.replay(bench, threads=1, iterations=1, warmup=0).world_size, 2)
        with self.assertRaises(us.Error) as caught:
            us.replay(bench, device="cuda:63")
        self.assertEqual((caught.exception.field, caught.exception.summary), ("--device", "the replay cannot run on cuda:63"))

    def test_the_gallery(self):
        ran = us.suite(ROOT / "gallery", seconds=1, rounds=1)
        self.assertEqual(sum(replay.step.endswith("_cpu") for replay in ran.replays), 4)

    def test_an_error_has_the_facts(self):
        with self.assertRaises(us.Error) as caught:
            us.inspect("no/such/traces")
        for error in (caught.exception, pickle.loads(pickle.dumps(caught.exception))):
            self.assertEqual((error.verb, error.status, error.file, error.rank, error.got),
                             ("inspect", 65, "no/such/traces", None, "no such file or folder"))
            self.assertEqual(str(error), "inspect: a file that cannot be read\n  file:     no/such/traces\n"
                             "  expected: a file or folder that can be read\n  got:      no such file or folder")
        with self.assertRaises(us.Error) as caught:
            us.replay(self.bench, iteration=3)
        self.assertEqual(caught.exception.hint, "did you mean --iterations?")

    def test_a_reader_that_has_enough_ends_it_in_silence(self):
        shell = f"{sys.executable} -m understudy inspect {self.bench.path} 2>&1 | true; echo ${{PIPESTATUS[0]}}"
        self.assertEqual(printed("bash", "-c", f"cd {ROOT / 'capture'} && {shell}"), "141\n")

    def test_all_have_one_version(self):
        self.assertEqual(printed(*programs.command("inspect"), "--version"), f"understudy inspect {us.__version__}\n")
        self.assertEqual(printed(sys.executable, ROOT / "scripts/capture", "--version"), f"understudy capture {us.__version__}\n")

    def test_keywords_are_the_verbs_flags(self):
        for verb in VERBS:
            text = printed(*programs.command(verb.__name__), "--help-all")
            flags = {name.replace("-", "_") for name in re.findall(r"^  (?:-\w,)?--([\w-]+)", text, re.MULTILINE)}
            parameters = inspect.signature(verb).parameters.values()
            keywords = {each.name for each in parameters if each.kind == each.KEYWORD_ONLY} - {"ranks"}
            self.assertLessEqual(keywords, flags, verb.__name__)
            described = set(re.findall(r"^    (\w+(?:, \w+)*): ", verb.__doc__, re.MULTILINE))
            self.assertLessEqual(keywords, {name for names in described for name in names.split(", ")}, verb.__name__)


class PrintedTest(Scratch):
    """Of programs that only print."""

    def run_fake(self, call, out="", said="", status=0, stderr=io.StringIO):
        """Returns what call() returns of programs that print this, and what it shows."""
        (self.scratch / "out").write_text(out)
        (self.scratch / "said").write_text(said, newline="")
        program = self.scratch / "understudy"
        program.write_text(f'#!/bin/sh\ncd {self.scratch}\nprintf "%s|" "$@" >>words\necho $UNDERSTUDY_PROGRESS >>words\n'
                           f"cat out\ncat said >&2\nexit {status}\n")
        program.chmod(0o755)
        with mock.patch.dict("os.environ", UNDERSTUDY_BIN=str(self.scratch)), contextlib.redirect_stderr(stderr()) as shown:
            try:
                return call(), shown.getvalue()
            except us.Error as error:
                return error, shown.getvalue()

    def test_a_verb_runs_once(self):
        result, _ = self.run_fake(lambda: us.inspect(["a", Path("--b=c")], memory=True, match=False, profile=["p", "q"], rank=3),
                                  PAGE % '{"ranks": [{"rank": 3, "late": [{"ms": 1}, 2]}], "a": {"b": null}}')
        self.assertEqual(result.verdict, "It is <b>.")
        self.assertIn('srcdoc="&lt;!doctype html&gt;', result._repr_html_())
        self.assertIn('sandbox="allow-scripts', result._repr_html_())
        self.assertEqual(result.tables(), {"document": [{"a.b": None}], "ranks": [{"rank": 3}],
                                           "ranks.late": [{"ranks": 3, "ms": 1}, {"ranks": 3, "place": 1, "value": 2}]})
        self.assertEqual((self.scratch / "words").read_text(),
                         "inspect|a|./--b=c|--profile=p|--profile=q|--memory|--rank=3|--format|html|\n")

    def test_failed_checks_raise_and_other_findings_do_not(self):
        error = json.dumps({"error": {"summary": "too little", "got": "0.5", "rank": 0}})
        slower, _ = self.run_fake(lambda: us.compare("a", "b"), PAGE % '{"rows": []}', status=1)
        self.assertEqual(slower.rows, [])
        failed, _ = self.run_fake(lambda: us.inspect("a"), PAGE % '{"ranks": 1}', f"a notice\n{error}\n", 1)
        self.assertEqual((str(failed), failed.rank, failed.result.ranks), ("inspect: too little\n  rank:     0\n  got:      0.5", 0, 1))
        killed, _ = self.run_fake(lambda: us.inspect("a"), said="\r\x1b[Kreading\r\x1b[Kkilled\n", status=137)
        self.assertEqual((str(killed), killed.status), ("inspect: ended with status 137\nkilled", 137))

    def test_progress_is_shown_and_an_error_is_not(self):
        error = '{"error":{"summary":"no"}}\n'
        for said in ("\r\x1b[Kreading\r\x1b[K", "a notice\n", "iterations: 1 of 2\n"):
            _, shown = self.run_fake(lambda: us.inspect("a"), said=said + error + "Traceback of torchrun\n", status=1)
            self.assertEqual(shown, said)
        self.run_fake(lambda: us.inspect("a"), stderr=Terminal)
        self.assertEqual((self.scratch / "words").read_text().splitlines()[-1], "inspect|a|--format|html|redraw")

    def test_a_program_that_is_not_there(self):
        with mock.patch.dict("os.environ", UNDERSTUDY_BIN="/nowhere"), self.assertRaises(us.Error) as caught:
            us.predict(card="H100")
        with mock.patch.dict("os.environ", UNDERSTUDY_BIN="bin"), self.assertRaisesRegex(us.Error, "^predict: UNDERSTUDY_BIN=bin names a file of "
                                                                                         "the current folder: expected a path that begins with /$"):
            us.predict(card="H100")
        self.assertEqual(str(caught.exception), f"predict: {programs.NOT_STARTED.format('/nowhere/understudy', 'No such file or directory')}")

    def test_numbers_of_a_table_are_numbers(self):
        text, page = results.parse("OPName,M,ms,low\nlinear,4,0.5,\n")
        self.assertEqual((json.loads(text), page), ({"operators": [{"OPName": "linear", "M": 4, "ms": 0.5, "low": None}]}, ""))


class TypesTest(Scratch):
    def check(self, *words):
        return subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", self.scratch / "cache", *words], cwd=ROOT,
                              capture_output=True, text=True).stdout

    def test_the_package_keeps_its_types(self):
        self.assertRegex(self.check(), r"^Success: no issues found in \d\d source files\n$")

    def test_a_callers_mistakes_are_found(self):
        (self.scratch / "calls.py").write_text(CALLS)
        told = [line.partition(": ")[2] for line in self.check(self.scratch / "calls.py").splitlines()]
        self.assertEqual(told[:-1], [
            'note: Revealed type is "understudy.results.Report"',
            'note: Revealed type is "dict[str, Any]"',
            'note: Revealed type is "str | None"',
            'note: Revealed type is "bool"',
            'error: Argument "iterations" to "replay" has incompatible type "str"; expected "int | None"  [arg-type]',
            'error: Missing positional argument "b" in call to "compare"  [call-arg]'])


class NotebooksTest(unittest.TestCase):
    def test_they_run_and_show_pages(self):
        found = sorted((ROOT / "capture" / "understudy" / "examples").glob("*.ipynb"))
        self.assertEqual(len(found), 3)
        for path in found:
            notebook = nbformat.read(path, as_version=4)
            self.assertFalse(any(cell.get("outputs") for cell in notebook.cells), f"{path} holds outputs: clear them")
            path_of_package = {"PYTHONPATH": str(ROOT / "capture")}
            with tempfile.TemporaryDirectory() as folder, mock.patch.dict("os.environ", path_of_package, JUPYTER_RUNTIME_DIR=folder):
                NotebookClient(notebook, resources={"metadata": {"path": str(path.parent)}}).execute()
            outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
            pages = [output for output in outputs if "<iframe" in output.get("data", {}).get("text/html", "")]
            said = "".join(output.get("text", "") for output in outputs if output.get("name") == "stderr")
            self.assertTrue(pages, path)
            self.assertIn("\r\x1b[Kreading", said)
            self.assertNotIn("{", said)


if __name__ == "__main__":
    unittest.main()
