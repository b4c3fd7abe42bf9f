"""Tests which lines and words scripts/checks/size counts, and how it holds them to their ceilings."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMMAND = Path(__file__).resolve().parents[2] / "scripts/checks/size"
FILES = {
    "engine/run.cpp": "// Runs.\n\nint run() {\n  /* two\n     lines */\n  return 1;  // one\n}\n",
    "engine/page.css": "/* Colours. */\na { color: red; }\n",
    "engine/tool.py": "# A tool.\nprint(1)\n",
    "engine/data.json": "{}\n",
    "build/made.cpp": "int made;\n",
    "scripts/setup": "#!/bin/sh\n# Sets up.\ntrue\n",
    "tests/run_test.cpp": "int a;\nint b;\n",
    "README.md": "Four words are here.\n",
    "docs/design.md": "One two.\n",
    "docs/results/times.md": "One two three.\n",
    "CHANGELOG.md": "",
}
TABLE = """\
row                 now  ceiling   spare
CHANGELOG             0        0       0
README                4        4       0
commands              1        1       0
docs                  2        2       0
engine                5        {}
results               3        3       0
sources               5        {}
tests                 2        2       0
"""


class SizeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, text in FILES.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.ceilings = self.root / "scripts/checks/sizes.txt"
        self.ceilings.parent.mkdir()
        self.ceilings.write_text("")

    def run_size(self, *flags):
        done = subprocess.run([sys.executable, COMMAND, "--root", self.root, *flags], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_what_stands_now_becomes_the_ceiling(self):
        whole = TABLE.format("5       0", "5       0")
        self.assertEqual(self.run_size("--set"), (0, whole, ""))
        self.assertEqual(self.run_size(), (0, whole, ""))

    def test_a_line_more_is_above_the_ceiling_until_it_is_raised(self):
        self.run_size("--set")
        (self.root / "engine/more.h").write_text("int more;\n")
        above = ('size: above the ceiling: engine, sources. Take a mechanism away, see CONTRIBUTING.md, "Size"\n')
        table = TABLE.replace("engine                5", "engine                6").replace("sources               5", "sources               6")
        whole = table.format("5      -1", "5      -1")
        self.assertEqual(self.run_size(), (1, whole, above))
        self.assertEqual(self.run_size("--set"), (1, whole, above))
        self.assertEqual(self.run_size("--raise", "engine", "--raise", "sources")[0], 0)

    def test_a_ceiling_falls_with_the_size(self):
        self.run_size("--set")
        (self.root / "engine/tool.py").unlink()
        self.run_size("--set")
        self.assertIn("engine 4\n", self.ceilings.read_text())

    def test_an_unknown_row_is_a_usage_error(self):
        status, _, error = self.run_size("--raise", "motor")
        self.assertEqual(status, 2)
        self.assertIn("size: error: --raise: expected one of CHANGELOG, README, commands, docs, engine, results, sources, tests, "
                      "got motor\n", error)


if __name__ == "__main__":
    unittest.main()
