"""Tests that README's first lines run as they are written, in order; scripts/demo has built the clone."""

import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEMO = "scripts/demo"


class ReadmeTest(unittest.TestCase):
    def test_the_first_lines_run(self):
        paragraphs = (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")
        first, *lines = next(text for text in paragraphs if text.startswith("    ")).splitlines()
        self.assertEqual(first.split()[0], DEMO)
        with tempfile.TemporaryDirectory() as folder:
            clone = Path(folder) / "understudy"
            clone.mkdir()
            for path in ROOT.iterdir():
                (clone / path.name).symlink_to(path)
            done = subprocess.run(["bash", "-exc", "\n".join(lines)], cwd=clone, capture_output=True, text=True)
            # A busy machine's second run may be slower: status 1 of the last line.
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertTrue(done.stderr.endswith("+ understudy compare base.json new.json\n"), done.stderr)
            self.assertIn("<html", (clone / "page.html").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
