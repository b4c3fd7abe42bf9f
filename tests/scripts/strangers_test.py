"""Files of a stranger: each that would do more than compute is refused, or its operator is left out. Beside each is one that differs from
it in a number or a name alone, and runs."""

import gzip
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "release" / "bin"
BYTES = {"float32": 4, "int64": 8}
DTYPES = {"float32": 6, "int64": 4}
FULL = ("aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None) -> Tensor")
FILL = "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)"


def count(sizes):
    return 1 if not sizes else sizes[0] * count(sizes[1:])


class Bench:
    """A benchmark of one rank, written by hand."""

    def __init__(self):
        self.schemas, self.storages, self.slots, self.instructions = [], [], [], []

    def tensor(self, sizes, dtype="float32", **outside):
        self.storages.append({"device": "cpu", "bytes": max(count(sizes) * BYTES[dtype], 1), **outside})
        self.slots.append({"storage": len(self.slots), "dtype": dtype, "sizes": sizes, "strides_recorded": True, **outside})
        return f"%{len(self.slots) - 1}"

    def call(self, schema, arguments, results, name=None):
        self.schemas.append(schema)
        self.instructions.append({"op": name or schema.partition("(")[0], "node": len(self.instructions) + 1,
                                  "schema": len(self.schemas) - 1, "args": arguments, "results": results})

    def full(self, sizes, value, dtype):
        tensor = self.tensor(sizes, dtype)
        self.call(FULL, [sizes, value, DTYPES[dtype], None, "@cpu", False], [tensor])
        return tensor

    def write(self, path, **members):
        parts = {"schema": [{"text": text} for text in self.schemas], "storage": self.storages, "slot": self.slots, "i": self.instructions}
        lines = [dict(zip(("schemas", "storages", "slots", "instructions"), map(len, parts.values())))]
        lines += [{name: number, **item} for name, items in parts.items() for number, item in enumerate(items)]
        world = {"id": 0, "name": "world", "description": "", "backend": "", "size": 1, "ranks": [0]}
        chosen = {"step": "a step", "filters": [], "operators": len(self.instructions), "labels": 0, "rounds": 1, "opened": []}
        manifest = {"format": "understudy-bench", "version": 1, "tool_version": "0.1.0", "world_size": 1, "sources": [],
                    "process_groups": [world], "ranks": [{"rank": 0, "program": "programs/0.jsonl", "selection": chosen, "losses": {}}]}
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("manifest.json", json.dumps(manifest))
            file.writestr("programs/0.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
            for name, text in members.items():
                file.writestr(f"{name}/0.json", text)


class Strangers(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_here(self, *words, **variables):
        words = [BIN / words[0] if (BIN / words[0]).exists() else words[0], *words[1:]]
        return subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False, errors="replace",
                              env={**os.environ, "UNDERSTUDY_PYTHON": sys.executable, **variables})

    def replay(self, *flags):
        """The status, and what was dropped."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        done = self.run_here("replay", "b.et", "-q", "--iterations", "3", "--warmup", "0", "--passes", "1", "--threads", "1", "--report",
                             "report.json", *flags)
        dropped = json.loads(report.read_text(encoding="utf-8"))["coverage"].get("dropped", []) if report.exists() else []
        return done.returncode, [row["note"] for row in dropped], done.stderr

    def expect_refused(self, *flags):
        status, dropped, said = self.replay(*flags)
        self.assertTrue(status in (1, 65) or dropped, (status, said))
        self.assertNotIn("crashed", said)  # status 1: it failed, as another operator's refusal does

    def expect_replayed(self, *flags):
        self.assertEqual(self.replay(*flags), (0, [], ""))

    def write_call(self, schema, tensors, arguments, results, later=()):
        bench = Bench()
        for sizes, value, dtype in tensors:
            bench.full(sizes, value, dtype) if not later else bench.tensor(sizes, dtype, external=True)
            bench.slots[-1] |= {"value": {"rule": "constant", "a": float(value), "why": "x"}} if later else {}
        bench.call(schema, arguments, [bench.tensor(sizes) for sizes in results])
        for at, (_, value, _) in enumerate(later):
            bench.call(FILL, [f"%{at}", value], [f"%{at}"])
        bench.write(self.folder / "b.et")

    def test_kernels_that_check_nothing(self):
        """In the guarded first iteration, and in later ones, when the integers have been written."""
        for case in json.loads((ROOT / "tests" / "cases" / "strangers" / "calls.json").read_text(encoding="utf-8")):
            schema, bad, good, arguments, results = case.values()
            with self.subTest(schema.partition("(")[0]):
                self.write_call(schema, bad, arguments, results)
                self.expect_refused()
                self.write_call(schema, good, arguments, results)
                self.expect_replayed()
                self.write_call(schema, good, arguments, results, later=good)
                self.expect_replayed("--no-restore")
                if [sizes for sizes, *_ in bad] == [sizes for sizes, *_ in good]:
                    self.write_call(schema, good, arguments, results, later=bad)
                    status, _, said = self.replay("--no-restore")
                    self.assertEqual((status, said.split("\n")[0]), (65, "replay: an operator would reach beyond its tensors"))

    def test_rows_of_operator_maps(self):
        """What is said of each, or null, where it is replayed, resized or emitted in turn; the first in all three ways."""
        for number, case in enumerate(json.loads((ROOT / "tests" / "cases" / "strangers" / "rows.json").read_text(encoding="utf-8"))):
            row = {"operators": ["mine::x"], "takes": ["Tensor x"], "does": case["does"]}
            rows = json.dumps({"format": "understudy operator map", "version": 1, "functions": case["functions"], "rows": [row]})
            rows = rows.replace("MARK", str(self.folder / "MARK"))
            (self.folder / "rows.json").write_text(rows, encoding="utf-8")
            ways = [way for way in ("replay", "batch", "emit") if way in case]  # some would compute for years
            telling = [way for way in ways if case[way]] or ways
            for use in (telling[number % len(telling)],) if number else ways:
                bench = Bench()
                bench.call("mine::x(Tensor x) -> Tensor", [bench.tensor([8, 2], external=True)], [bench.tensor([8, 2])])
                bench.write(self.folder / "b.et", **({} if use == "emit" else {"op_maps": rows}))
                shutil.rmtree(self.folder / "p", ignore_errors=True)
                with self.subTest(case["name"], use=use):
                    if use == "replay":
                        self.expect_replayed() if case[use] is None else self.expect_refused()
                        continue
                    how = ("--batch", "8:16", "-o", "o.et") if use == "batch" else ("--emit", "p", "--op-library", "rows.json")
                    done = self.run_here("generate", "b.et", "-q", *how)
                    said = next((line[12:] for line in done.stderr.splitlines() if line.startswith("  got:")), None)
                    self.assertEqual((done.returncode, said), (0, None) if case[use] is None else (65, case[use]), done.stderr)
                    emitted = "def row" in "".join(path.read_text(encoding="utf-8") for path in self.folder.glob("p/step*.py"))
                    self.assertEqual((emitted, (self.folder / "MARK").exists()), (use == "emit" and case[use] is None, False))

    def emitted(self, schema, arguments, name=None):
        """Generates the project of one call, and runs it."""
        bench = Bench()
        bench.call(schema, arguments(bench), [bench.tensor([8])], name)
        bench.write(self.folder / "b.et")
        shutil.rmtree(self.folder / "p", ignore_errors=True)
        done = self.run_here("generate", "b.et", "--emit", "p", "-q", "--allow-missing")
        return done if done.returncode != 0 else self.run_here(sys.executable, "p/main.py", "--iterations", "1")

    def test_emitted_operators(self):
        mark = self.folder / "MARK"
        (self.folder / "x.c").write_text(f'#include <stdio.h>\n__attribute__((constructor)) void f(void) {{ fopen("{mark}", "w"); }}\n',
                                         encoding="utf-8")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", "x.so", "x.c"], cwd=self.folder, check=True)
        library = [f"'{self.folder}/x.so"]
        load = "load_library::__call__.__call__(str path) -> Tensor"
        done = self.emitted(load, lambda _: library, "mine::y")
        self.assertEqual((done.returncode, done.stderr), (65, "generate: the program of a rank does not hold together\n"
                         "  file:     b.et/programs/0.jsonl\n  rank:     0\n  node:     1\n  field:    schema\n  expected: a schema of mine::y\n"
                         "  got:      one of load_library::__call__.__call__\n"
                         "  hint:     make the benchmark again with `generate`\n"))  # fmt: skip
        for schema, arguments in ((load, library), ("__class__::__getattribute__.__call__(str name) -> Tensor", ["'mro"]),
                                  ("prim::Print(str text) -> Tensor", ["'x"]), ("profiler::_record_function_exit(Tensor x) -> Tensor", [1])):
            done = self.emitted(schema, lambda _, given=arguments: given)
            self.assertIn(done.returncode, (2, 65), done.stderr)
            self.assertFalse(mark.exists(), schema)
        done = self.emitted("aten::relu(Tensor self) -> Tensor", lambda bench: [bench.tensor([8], external=True)])
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_kernels_read_and_leave_nothing(self):
        if importlib.util.find_spec("triton") is None:
            self.skipTest("no Triton")
        secret = self.folder / "secret"
        secret.write_text("SECRET", encoding="utf-8")
        for path, made in ((str(secret), 0), (os.__file__, 2)):
            code = (f"import os, time\ndata = open({path!r}).read()\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\n    os._exit(0)\n"
                    "assert 'STRANGER' not in os.environ\n")
            shutil.copytree(ROOT / "tests" / "captures" / "triton", self.folder / "t", dirs_exist_ok=True)
            compiled = self.folder / "t" / "rank-0.compiled.json.gz"
            document = json.loads(gzip.decompress(compiled.read_bytes()))
            for kernel in document["triton"]:
                kernel["source"] = code + kernel["source"]
            compiled.write_bytes(gzip.compress(json.dumps(document).encode()))
            done = self.run_here("generate", "t", "-o", "b.et", "--kernels", "sm_90", "--format", "json", STRANGER="token", TMPDIR=str(self.folder))
            self.assertEqual((done.returncode, json.loads(done.stdout)["kernels"]["kernels"]), (0, made), done.stderr)
            left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(self.folder).encode() in p.read_bytes()]
            self.assertEqual(left, [])

    def test_answers_that_no_call_can_have(self):
        python, own = self.folder / "python", self.folder / "own"
        shutil.copytree(ROOT / "capture" / "understudy", own)
        text = (own / "operator_results.py").read_text(encoding="utf-8")
        python.write_text(f"#!/bin/sh\nexec {sys.executable} -I -B {own}/start.py operator_results\n", encoding="utf-8")
        python.chmod(0o755)
        for answer in ("'dtype': 'float32'", "'storage_of': 1 << 30", "'same_as': 40", "'strides': [1] * 9", "'sizes': [1 << 40] * 2, 'strides': [1] * 2",
                       "'sizes': [2], 'strides': [1 << 50]", "'offset_from': -1", "'offset_from': 1 << 60", "'list_sizes'"):
            changed = "line['list_sizes'] = [1000000]" if answer == "'list_sizes'" else f"line['tensors'][0] |= {{{answer}}}"
            (own / "operator_results.py").write_text(text.replace(
                "    def answer(self, line):\n        os", f"    def answer(self, line):\n        if line.get('tensors'): {changed}\n        os"),
                encoding="utf-8")
            done = self.run_here("generate", ROOT / "tests" / "profiles" / "bert_small_h100.json.gz", "-o", "p.et", "-q", UNDERSTUDY_PYTHON=str(python))
            if answer == "'dtype': 'float32'":
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                continue
            self.assertEqual(done.returncode, 1, (answer, done.stderr))
            self.assertRegex(done.stderr, "^generate: the results of operators cannot be found\n  file:     .*/python\n  field:    aten::.*\n"
                             "  expected: [0-9]+ answers, of tensors that the calls can have\n  got:      one that does not fit\n$")  # fmt: skip

    def test_memory_of_a_profiles_operators(self):
        profile = json.loads(gzip.decompress((ROOT / "tests" / "profiles" / "bert_small_h100.json.gz").read_bytes()))
        event = next(event for event in profile["traceEvents"] if event.get("name") == "aten::t")
        event["name"] = "aten::tril_indices"
        event["args"].update({"Input Dims": [[]] * 7, "Input type": ["Scalar"] * 3 + [""] * 4, "Concrete Inputs": ["40000", "40000", "0"] + [""] * 4})
        event["args"].pop("Input Strides", None)
        (self.folder / "p.json").write_text(json.dumps(profile), encoding="utf-8")
        self.assertEqual(self.run_here("generate", "p.json", "-o", "p.et", "-q").returncode, 0)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 4 << 20)  # KiB; it would take 12 GB


if __name__ == "__main__":
    unittest.main()
