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
    "engine/page.html": "<!-- A\n     page -->\n<p>\n",
    "engine/tool.py": "# A tool.\nprint(1)\n",
    "engine/data.json": "{}\n",
    "scripts/checks/central_types.txt": "# Types.\ncall one::Call\n",
    "build/made.cpp": "int made;\n",
    "scripts/build": "#!/bin/sh\n# Builds.\ntrue\n",
    "tests/run_test.cpp": "int a;\nint b;\n",
    "tests/run_all": "#!/bin/sh\nfalse\n",
    "tests/notes": "No command.\n",
    "README.md": "Four words are here.\n",
    "docs/design.md": "One two.\n",
    "docs/results/times.md": "One two three.\n",
    "CHANGELOG.md": "",
}
TABLE = """\
row                 now  ceiling   spare     goal
CHANGELOG             0        0       0
README                4        4       0
call                  1        1       0
commands              1        1       0
docs                  2        2       0
engine         {}
json                  1        1       0
python                1        1       0
results               3        3       0
sources        {}
tests                 2        2       0        1
tests_commands        1        1       0
"""
AS_SET = "       6        6       0"
CEILINGS = "".join(" ".join([row[0], row[2], *row[4:]]) + "\n" for row in map(str.split, TABLE.format(AS_SET, AS_SET).splitlines()[1:]))
ABOVE = "       7        6      -1"
TEXT_ABOVE = 'size: above the ceiling: {}. Take a mechanism away, see CONTRIBUTING.md, "Size"\n'


class SizeTest(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in FILES.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.ceilings = self.root / "scripts/checks/sizes.txt"
        self.ceilings.write_text(CEILINGS)

    def run_size(self, *flags):
        done = subprocess.run([sys.executable, COMMAND, "--root", self.root, *flags], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_the_table_of_a_tree_at_its_ceilings(self):
        self.assertEqual(self.run_size(), (0, TABLE.format(AS_SET, AS_SET), ""))

    def test_a_line_more_is_above_the_ceiling_until_it_is_raised(self):
        (self.root / "engine/more.h").write_text("int more;\n")
        whole = TABLE.format(ABOVE, ABOVE)
        self.assertEqual(self.run_size(), (1, whole, TEXT_ABOVE.format("engine, sources")))
        self.assertEqual(self.run_size("--set"), (1, whole, TEXT_ABOVE.format("engine, sources")))
        self.assertEqual(self.run_size("--raise", "engine")[2], TEXT_ABOVE.format("sources"))
        self.assertIn("size: error: --raise: sources only falls; take as much away elsewhere\n", self.run_size("--raise", "sources")[2])
        self.assertIn("engine 7\n", self.ceilings.read_text())

    def test_a_new_library_has_no_room_until_it_is_raised(self):
        (self.root / "motor").mkdir()
        (self.root / "motor/run.css").write_text("a {}\n")
        (self.root / "engine/tool.py").unlink()
        self.assertEqual(self.run_size("--set")[2], TEXT_ABOVE.format("motor"))
        self.assertEqual(self.run_size("--raise", "motor")[0], 0)

    def test_a_ceiling_falls_with_the_size(self):
        (self.root / "engine/tool.py").unlink()
        self.assertEqual(self.run_size("--set")[0], 0)
        self.assertIn("engine 5\n", self.ceilings.read_text())
        self.assertIn("python 0\n", self.ceilings.read_text())

    def test_a_ceiling_that_is_no_number_is_named(self):
        self.ceilings.write_text("# Ceilings\ndocs many\n")
        text = f"size: {self.ceilings}:2: expected a row and its ceiling, as in 'docs 40000'; got 'docs many'\n"
        self.assertEqual(self.run_size(), (65, "", text))

    def test_an_unknown_row_is_a_usage_error(self):
        status, _, error = self.run_size("--raise", "motor")
        self.assertEqual(status, 2)
        self.assertIn("size: error: --raise: expected one of CHANGELOG, README, call, commands, docs, engine, json, python, "
                      "results, sources, tests, tests_commands, got motor\n", error)


if __name__ == "__main__":
    unittest.main()
