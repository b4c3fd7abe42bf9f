"""What the verbs print of one benchmark is one value: of each quantity of docs/glossary.md, in text and JSON. values_test.py [-v] prints the table."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/fleet"))
from small_fleet import documents as documents_of  # noqa: E402

BIN = ROOT / "build/release/bin"
SAMPLES, PROGRAMS = ROOT / "fleet_samples", ROOT / "tests/played/programs.py"
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "ms": 1e-3, "s": 1}
# Name → what generate reads, flags of predict; or the capture without running that makes it.
BENCHMARKS = {
    "mlp": ([SAMPLES / "mlp"], []), "resnet": ([SAMPLES / "resnet18"], []), "two ranks": ([SAMPLES / "gpt_ddp"], []),
    "eight ranks": ([SAMPLES / "dlrm_8gpu/dlrm_pytorch_et.tar.gz", "--profile", SAMPLES / "dlrm_8gpu/dlrm_kineto.tar.gz"], []),
    "another batch": ([SAMPLES / "mlp", "--batch", "128:256"], ["--card", "H100"]),
    "a mix": (["--mix", SAMPLES / "mlp", SAMPLES / "resnet18"], []),
    "a GPU's profile": ([ROOT / "capture/understudy/examples/bert_h100.json.gz"], []),
    "not run": (["--as", "A100", PROGRAMS, "alone", "cuda"], ["--card", "A100"]),
    "not run, sharded": (["--as", "H100", "--world-size", "2", PROGRAMS, "fsdp", "cuda"], ["--card", "H100"]),
}
REPLAYED = ("mlp", "a mix")
NUMBER = r"([\d,.]+)(?: (B|KiB|MiB|GiB|ms|s)\b)?"
# Quantity → verb, and where its text says it; or its JSON, as a function.
TEXTS = {"operators": [("inspect", rf"{NUMBER} operators on")],
         "recorded step": [("inspect", rf"the recorded step took {NUMBER}"), ("predict", rf"times the original's {NUMBER}")],
         "peak of live tensors": [("inspect --memory", rf"^Live tensors need {NUMBER}"), ("predict", rf"memory: {NUMBER} of tensors at the peak"),
                                  ("capture", rf"memory +{NUMBER} of tensors at the peak")],
         "GFLOP of the step": [("inspect", rf"^ +{NUMBER} +GFLOP a step"), ("predict", rf"^ +{NUMBER} +GFLOP a step"), ("replay", rf"^ +{NUMBER} +GFLOP a step")],
         "TFLOP/s of a rank, predicted": [("predict", rf"^ +{NUMBER} +TFLOP/s of products")],
         "TFLOP/s of a rank, replayed": [("replay", rf"^ +{NUMBER} +TFLOP/s of products")],
         "predicted iteration": [("predict", rf"would take {NUMBER}")]}


def communication(document):
    return document["account"] and document["account"][0]["classes"].get("communication", 0) or None


def most(rows, key):
    return max((row[key] for row in rows if row and row.get(key)), default=None)


FIGURES = {
    "operators": {"generate": lambda d: sum(rank["operators"] for rank in d["ranks"]), "inspect": lambda d: sum(rank["operators"] for rank in d["ranks"])},
    "recorded step": {"generate": lambda d: (most([rank["profile"] for rank in d["ranks"]], "step_ns") or 0) / 1e9 or None,
                      "predict": lambda d: (most([rank.get("recorded_step") for rank in d["ranks"]], "recorded_ms") or 0) / 1e3 or None,
                      "fleet": lambda d: d["step_ms"] and d["step_ms"] / 1e3},
    "calls of a rank": {"inspect --by": lambda d: max(sum(each["count"] for each in rank["ops"]) for rank in d["ranks"]),
                        "predict": lambda d: len(d["operators"])},
    "names of operators": {"fleet": lambda d: d["operator_names"], "inspect --by": lambda d: len({each["name"] for rank in d["ranks"] for each in rank["ops"]})},
    "peak of live tensors": {"inspect --memory": lambda d: most(d["memory"], "peak_bytes"), "predict": lambda d: d["memory"]["peak_bytes"],
                             "capture": lambda d: most(d["ranks"], "peak_tensor_bytes")},
    "made before the step": {"generate": lambda d: most(d["ranks"], "external_bytes"), "inspect --memory": lambda d: most(d["memory"], "external_bytes")},
    "GFLOP of the step": {**{verb: lambda d: d["work"]["gflop"] for verb in ("inspect", "predict", "replay")},
                          **{f"compare {verb}": lambda d: d["a"][0]["work"]["gflop"] for verb in ("predict", "replay")}},
    "TFLOP/s of a rank, predicted": {"predict": lambda d: d["work"]["tflop_per_s"], "compare predict": lambda d: d["a"][0]["work"]["tflop_per_s"]},
    "TFLOP/s of a rank, replayed": {"replay": lambda d: d["work"]["tflop_per_s"], "compare replay": lambda d: d["a"][0]["work"]["tflop_per_s"]},
    "MFU": {"predict": lambda d: d["work"].get("mfu"), "compare predict": lambda d: d["a"][0]["work"].get("mfu")},
    "predicted iteration": {"predict": lambda d: d["iteration_ms"]["predicted"] / 1e3,
                            "compare predict": lambda d: next(row["a_ms"] / 1e3 for row in d["rows"] if row["kind"] == "iteration")},
    "communication on the device": {verb: communication for verb in ("generate", "inspect", "predict")},
    "calls of communication": {"inspect --collectives": lambda d: max(len(rank["calls"]) for rank in d["ranks"]) or None,
                               "predict": lambda d: most([row for row in d["classes"] if row["name"] == "communication"], "count")},
    "host's time of the step": {verb: lambda d: most(d["account"][:1], "host_ms") for verb in ("generate", "inspect", "predict")},
    "device's time of the step": {verb: lambda d: most(d["account"][:1], "device_ms") for verb in ("generate", "inspect", "predict")},
}


class OneValue(unittest.TestCase):
    def run_verb(self, *words, **variables):
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, cwd=self.folder,
                              env={**os.environ, "UNDERSTUDY_PROGRESS": "off", "PYTHONPATH": str(ROOT / "capture"), **variables})
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stderr[-2000:]}")
        return done.stdout + done.stderr

    def outputs(self, name, made_of, predicted):
        """Verb → its text and its JSON."""
        texts, documents = {}, {}
        if made_of[0] == "--as":
            texts["capture"] = self.run_verb(sys.executable, "-m", "understudy", "capture", "-o", "captured", *made_of)
            documents["capture"] = json.loads((self.folder / "captured/capture.json").read_text())
            made_of = ["captured", *(["--world-size", made_of[3]] if made_of[2] == "--world-size" else [])]
        make = ["generate", *made_of]
        if made_of[0] == "--mix":
            plan = {"sources": {each.name: {"path": str(each)} for each in made_of[1:]}, "pieces": {each.name: {"of": each.name} for each in made_of[1:]}}
            (self.folder / "mix.yaml").write_text(json.dumps({**plan, "run": [each.name for each in made_of[1:]]}))
            make = ["compose", "mix.yaml"]
        verbs = {make[0]: [*make, "-o", "b.et"], "inspect": ["inspect", "b.et"], "inspect --memory": ["inspect", "b.et", "--memory"],
                 "inspect --by": ["inspect", "b.et", "--by", "name"],
                 "inspect --collectives": ["inspect", "b.et", "--collectives"], "predict": ["predict", "b.et", *predicted],
                 "compare predict": ["compare", "predict.json", "predict.json"]}
        if name in REPLAYED:
            verbs |= {"replay": ["inspect", "replay.json"], "compare replay": ["compare", "replay.json", "replay.json"]}
        for verb, words in verbs.items():
            if verb == "compare predict":
                (self.folder / "predict.json").write_text(json.dumps(documents["predict"]))
            if verb == "replay":
                self.run_verb(BIN / "replay", "b.et", "--iterations", "3", "--warmup", "0", "--threads", "1", "--report", "replay.json")
            texts[verb] = self.run_verb(BIN / "understudy", *words)
            documents[verb] = json.loads(self.run_verb(BIN / "understudy", *words, "--format", "json", "-q"))
        if len(made_of) == 1:
            for words in (["init", "f.db", "--store", "store"], ["add", "f.db", *made_of], ["nightly", "f.db", "--generate-only"],
                          ["report", "f.db", "-o", "site"]):
                self.run_verb(BIN / "fleet", *words)
            documents["fleet"] = documents_of(next((self.folder / "site").glob("job-*.html")).read_text())[1]
        return texts, documents

    def test_of_each_quantity(self):
        for name, (made_of, predicted) in BENCHMARKS.items():
            with tempfile.TemporaryDirectory() as folder:
                self.folder = Path(folder)
                texts, documents = self.outputs(name, made_of, predicted)
                for quantity, figures in FIGURES.items():
                    values = {verb: figure(documents[verb]) for verb, figure in figures.items() if verb in documents}
                    said = {verb: re.search(pattern, texts[verb], re.MULTILINE) for verb, pattern in TEXTS.get(quantity, ()) if verb in texts}
                    print(f"{name:18} {quantity:26}", *(f"{verb} {value}" for verb, value in values.items()), sep="  ", flush=True)
                    with self.subTest(benchmark=name, quantity=quantity):
                        if not values:
                            continue
                        least, largest = min(values.values(), key=lambda each: each or 0), max(values.values(), key=lambda each: each or 0)
                        if largest is not None:
                            self.assertAlmostEqual(least, largest, delta=1e-9 * largest, msg=values)
                            for verb, match in said.items():
                                self.assertIsNotNone(match, f"{verb}: {texts[verb]}")
                                shown = float(match[1].replace(",", "")) * UNITS[match[2] or "B"]
                                self.assertAlmostEqual(shown / largest, 1, delta=0.06, msg=verb)


if __name__ == "__main__":
    unittest.main()
