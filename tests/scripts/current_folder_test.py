"""Every verb and every function of the package in a folder of traps: files of names that a program may load or run from where one stands.
Each leaves a mark; strace lists what is opened or run below that folder, which has nothing that a command names. Run by itself it says so
of each. The verbs are the program's own list: a new one fails here until it has a line in VERBS."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "release" / "bin"
sys.path.insert(0, str(ROOT / "capture"))
import understudy  # noqa: E402

LIBRARIES = """libcuda.so.1 libmpi.so.40 libseccomp.so.2 libtorch.so libtorch_cpu.so libtorch_cuda.so libc10.so libcupti.so.13
    libnvidia-ml.so.1 libcusparseLt.so.0 libnccl.so.2 libgomp.so.1 libcudart.so.13 libcublas.so.13 libcudnn.so.9 libpq.so.5
    libunderstudy_allocations.so mpi/lib/libmpi.so.40 lib/libtorch_cpu.so""".split()
MODULES = [*sys.stdlib_module_names, "sitecustomize", "usercustomize", "torch/__init__", "otava/__init__", "triton/__init__", "numpy/__init__",
           "sqlalchemy/__init__", "psycopg/__init__", "yaml/__init__", "understudy_fleet/__init__", "understudy_fleet/command",
           "understudy/__init__", "capture/understudy/start", "capture/understudy/operator_results", "start", "meta_rules"]
PROGRAMS = """python3 python judge ldconfig gcc mpirun torchrun sh env ninja c++ g++ sed grep dirname nproc replay generate ptxas nvidia-modprobe
    scripts/capture scripts/fidelity scripts/compile_kernels scripts/mpirun .venv/bin/python .venv/bin/python3 .venv-fleet/bin/python""".split()
DATA = ["H100", "x.pth", "pyvenv.cfg", "capture.json", "platforms/H100.json", "gallery/a/bench.et", "docs/README.md"]
CAPTURE = "--stop --steady 0 --warmup 0 --timed 2 --profiled 1 --no-fault-counts"
VERBS = {
    "calibrate": ["--only matmul --budget 1 --threads 1 -q -o {out}/rows.jsonl"],
    "capture": [CAPTURE + " -o {out}/t {examples}/mlp.py", "--as H100 -o {out}/t {examples}/mlp.py --device cuda",
                CAPTURE + " -o {out}/t --count-allocations --speed-probe {examples}/mlp.py"],
    "compare": ["{in}/report.json {in}/report.json"],
    "completion": ["bash"],
    "compose": ["{in}/plan.yaml -o {out}/mix.et"],
    "examples": [""],
    "fleet": ["--version"],
    "fleet add": ["{db} {samples}/linear"],
    "fleet drift": ["{db}"],
    "fleet gc": ["{db}"],
    "fleet history": ["{db}"],
    "fleet import": ["{db} {in}/report.json --platform p"],
    "fleet init": ["{out}/new.db --store {out}/store"],
    "fleet jobs": ["{db}", "postgresql:///none?host={out}"],
    "fleet nightly": ["{db} --generate-only -q --otava {in}/otava", "{db} --replay-flags '--iterations 1' -q"],
    "fleet platforms": ["{db} --baseline p"],
    "fleet remove": ["{db} mlp"],
    "fleet report": ["{db} -o {out}/site"],
    "fleet select": ["{db} --budget 1"],
    "fleet verify": ["{db}"],
    "fleet worker": ["{db}"],
    "generate": ["{in}/traces -o {out}/b.et", "{profiles}/bert_small_h100.json.gz -o {out}/b.et", "{in}/mlp.et --batch 128:256 -o {out}/b.et",
                 "{in}/mlp.et --emit {out}/p", "{captures}/triton -o {out}/b.et --kernels sm_90"],
    "inspect": ["{profiles}/bert_small_h100.json.gz", "{in}/mlp.et", "{in}/report.json --format html"],
    "judge": ["node"],
    "operators": ["{in}/mlp.et --threads 1"],
    "predict": ["{in}/mlp.et --card H100", "--from-profile {examples}/bert_h100.json.gz --card H200"],
    "replay": ["{in}/mlp.et --iterations 1", "{in}/mlp.et --sandbox off --iterations 1 --counters default"],
    "shard": ["{in}/tables.json --ranks 2 --platform {in}/platform.json"],
    "suite": ["--seconds 1 --rounds 1"]}
# A status that is not 0 by what there is to do here, not by the folder.
STATUSES = {"compare": (0, 1), "suite": (0, 1), "fleet jobs": (0, 1)}
NOT_RUN = {"replay --device cuda, --kernels": "a GPU", "fleet nightly --engine slurm": "Slurm",
           "replay, understudy capture of a prefix or a wheel": "an installed one (package.install, package.wheel)"}
# What is called of the package, in this order.
CALLS = {
    "set_command_capture": "us.set_command_capture(None)", "step": "us.step()", "use_nccl_form": "us.use_nccl_form()",
    "count_allocations": "us.count_allocations()", "load_speed_probe": "us.load_speed_probe()()", "load": "us.load('{in}/report.json')",
    "profile_handler": "us.profile_handler('{out}/profiles')",
    "capture_step": "us.capture_step(lambda: sys.modules['torch'].ones(9) + 1, '{out}/s', warmup=1, timed=1, profiled=1, count_faults=False, "
                    "steady_s=0)",
    "capture": "us.capture('{out}/c')", "generate": "us.generate(['{in}/traces'])", "replay": "us.replay('{in}/mlp.et', ranks=1, iterations=1)",
    "compare": "us.compare('{in}/report.json', '{in}/report.json')", "predict": "us.predict('{in}/mlp.et', card='H100')",
    "inspect": "us.inspect('{profiles}/bert_small_h100.json.gz')", "suite": "us.suite(seconds=1, rounds=1, device='cpu')"}
MARKS = """#include <stdio.h>
__attribute__((constructor)) static void f(void) {{ FILE* file = fopen("{mark}", "a"); fputs("a library\\n", file); fclose(file); }}
"""
OPENED = re.compile(r'(?:openat2?\((?:AT_FDCWD|\d+)<([^>]*)>, |(?:open|execve)\()"([^"]*)"')


class CurrentFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory())).resolve()
        cls.mark, cls.traps, cls.given, cls.out = (folder / name for name in ("MARK", "traps", "in", "out"))
        for each in (cls.traps, cls.given, cls.out):
            each.mkdir()
        (folder / "x.c").write_text(MARKS.format(mark=cls.mark), encoding="utf-8")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "x.so", folder / "x.c"], check=True)
        code = f"open({str(cls.mark)!r}, 'a').write(f'module {{__name__}}\\n')\n"
        for name in (*LIBRARIES, *(f"{module}.py" for module in MODULES), *PROGRAMS, *DATA):
            (cls.traps / name).parent.mkdir(parents=True, exist_ok=True)
            if name in LIBRARIES:
                shutil.copy(folder / "x.so", cls.traps / name)
            else:
                text = f"#!/bin/sh\necho program {name} >>{cls.mark}\n" if name in PROGRAMS else f"import os; {code}" if name == "x.pth" else code
                (cls.traps / name).write_text("{" if name in ("H100", "capture.json") else text, encoding="utf-8")
                (cls.traps / name).chmod(0o755)
        cls.places = {"in": cls.given, "out": cls.out, "examples": ROOT / "capture/understudy/examples", "samples": ROOT / "fleet_samples",
                      "profiles": ROOT / "tests/profiles", "captures": ROOT / "tests/captures", "db": cls.given / "fleet.db"}
        cls.make_inputs()

    @classmethod
    def make_inputs(cls):
        def run(*words, **options):
            subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=cls.given, **options)

        shutil.copytree(ROOT / "fleet_samples/mlp", cls.given / "traces")
        run(BIN / "generate", "traces", "-o", "mlp.et", "-q")
        run(BIN / "generate", ROOT / "fleet_samples/gpt_ddp", "-o", "ddp.et", "-q")
        run(BIN / "replay", "mlp.et", "-q", "--iterations", "2", "--report", "report.json")
        run(BIN / "generate", "mlp.et", "-q", "--emit", "emitted", env={**os.environ, "UNDERSTUDY_PYTHON": sys.executable})
        run(ROOT / "tests/golden/shard/make_inputs", cls.given)
        (cls.given / "plan.yaml").write_text(f"sources:\n  a: {{path: {cls.given}/traces}}\npieces:\n  p: {{of: a}}\nrun: [p]\n", encoding="utf-8")
        site = cls.given / "site/otava"
        site.mkdir(parents=True)
        (site / "__init__.py").touch()
        (site / "series.py").write_text("class AnalysisOptions: pass\nMetric = lambda *_: None\nclass Series:\n    def __init__(self, *_): pass\n"
                                        "    change_points = {'ms': []}\n    analyze = lambda self, _: self\n", encoding="utf-8")
        (cls.given / "otava").write_text(f'#!/bin/sh\nPYTHONPATH=:{site.parent} exec {sys.executable} "$@"\n', encoding="utf-8")
        (cls.given / "otava").chmod(0o755)
        run(BIN / "fleet", "init", "fleet.db", "--store", "store")
        run(BIN / "fleet", "add", "fleet.db", ROOT / "fleet_samples/mlp")
        run(BIN / "fleet", "nightly", "fleet.db", "--generate-only", "-q")
        with sqlite3.connect(cls.given / "fleet.db") as fleet:
            job, = fleet.execute("SELECT benchmark_hash FROM benchmark").fetchone()
            fleet.execute("INSERT INTO environment (hash, software, json) VALUES ('e', 'torch 1', "
                          "'{\"threads\": 1, \"versions\": {}, \"settings\": {}}')")
            fleet.execute("INSERT INTO platform VALUES ('p') ON CONFLICT DO NOTHING")
            for night in range(1, 10):
                fleet.execute("INSERT INTO result (benchmark_hash, platform, environment, night, date_utc, source, median_ms, low_ms, high_ms, "
                              "coverage, peak_bytes, classes) VALUES (?, 'p', 1, ?, '2026-01-01T00:00:00Z', 'replay', 9, 9, 9, 1, 1, '{}')",
                              (job, night))

    def stand(self, words, statuses=(0,), **variables):
        """Runs a command in the folder of traps. Returns what it said and a list of what it took from there."""
        self.mark.unlink(missing_ok=True)
        shutil.rmtree(self.out)
        self.out.mkdir()
        log = self.out.parent / "log"
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "UNDERSTUDY_NODE_LOCK": str(self.out.parent / "lock"),
                       "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **variables}
        traced = ["strace", "-f", "-y", "-qq", "--seccomp-bpf", "-e", "trace=open,openat,openat2,execve", "-o", str(log)]
        done = subprocess.run([*traced, *words], cwd=self.traps, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              errors="replace", check=False)
        self.assertIn(done.returncode, statuses, f"{words}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        found = self.mark.read_text(encoding="utf-8").splitlines() if self.mark.exists() else []
        for line in log.read_text(errors="replace").splitlines():
            if match := OPENED.search(line):
                path = os.path.normpath(os.path.join(match[1] or self.traps, match[2]))
                if path.startswith(f"{self.traps}/"):
                    found.append(line.partition(" ")[2])
        return done, found

    def listed(self, *program):
        """The verbs that a program's help lists."""
        shown = subprocess.run([BIN / "understudy", *program, "--help"], capture_output=True, text=True, check=True).stdout
        return re.findall(r"^  (\w+)  ", shown, re.MULTILINE)

    def test_verbs(self):
        links = (path.name for path in BIN.iterdir() if path.is_symlink())  # judge is no verb of the list
        verbs = [*self.listed(), *links, *(f"fleet {name}" for name in self.listed("fleet"))]
        self.assertEqual(sorted(set(verbs) - {"help", "fleet help"}), sorted(VERBS))
        hostile = {"PATH": f":.:{os.environ['PATH']}", "PYTHONPATH": ":.", "PYTHONUSERBASE": ".", "UNDERSTUDY_PYTHON": sys.executable}
        for verb, lines in VERBS.items():
            for line in lines:
                # Of the user's own script, a Python with the user's path is started.
                variables = {**hostile, "PYTHONPATH": "", "PYTHONUSERBASE": ""} if verb == "capture" else hostile
                with self.subTest(f"{verb} {line}"):
                    words = [str(BIN / "understudy"), *verb.split(), *re.findall(r"'[^']*'|\S+", line.format(**self.places))]
                    done, found = self.stand([word.strip("'") for word in words], STATUSES.get(verb, (0,)), **variables)
                    self.assertEqual(found, [], done.stderr)
                    print(f"understudy {verb} {line}: nothing of the current folder")
        for what, need in NOT_RUN.items():
            print(f"{what}: NOT RUN, needs {need}")

    def test_an_emitted_project(self):
        done, found = self.stand([sys.executable, str(self.given / "emitted/main.py"), "--iterations", "1"])
        self.assertEqual(found, [], done.stderr)

    def test_functions(self):
        public = [name for name in understudy.__all__ if name != "__version__" and not isinstance(getattr(understudy, name), type)]
        self.assertEqual(sorted(public), sorted(CALLS))
        script = self.given / "calls.py"
        for calls in (CALLS, {"replay": "us.replay('{in}/ddp.et', ranks=2, iterations=1)"}):
            script.write_text(f"import sys\nsys.path.insert(0, {str(ROOT / 'capture')!r})\nimport understudy as us\n" + "".join(
                f"{call.format(**self.places)}\nprint('{name}')\n" for name, call in calls.items()), encoding="utf-8")
            done, found = self.stand([sys.executable, str(script)], PATH=f":.:{os.environ['PATH']}")
            self.assertEqual((found, done.stdout.split()), ([], list(calls)), done.stderr)


if __name__ == "__main__":
    unittest.main()
