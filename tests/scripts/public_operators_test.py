"""Tests that the list of public operators is what the pinned torch and fbgemm register."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "checks" / "public_operators"
LIST = SCRIPT.parents[2] / "et_schema" / "facts" / "src" / "public_operators.inc"


class PublicOperatorsTest(unittest.TestCase):
    def check(self, script):
        return subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)

    def test_the_list_is_that_of_the_installed_packages(self):
        done = self.check(SCRIPT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_name_too_many_and_one_too_few_are_noticed(self):
        text = LIST.read_text()
        self.assertEqual(text.count('"aten::add.Scalar('), 1)
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder, "scripts/checks", SCRIPT.name)
            changed = Path(folder, LIST.relative_to(SCRIPT.parents[2]))
            script.parent.mkdir(parents=True)
            changed.parent.mkdir(parents=True)
            Path(folder, "capture").symlink_to(SCRIPT.parents[2] / "capture")
            script.write_text(SCRIPT.read_text())
            changed.write_text(text.replace('"aten::add.Scalar(', '"aten::add.Acme('))
            done = self.check(script)
            self.assertEqual(done.returncode, 1)
            self.assertIn("not what the installed torch and fbgemm register", done.stderr)


if __name__ == "__main__":
    unittest.main()
