"""Tests that links and paths in the texts lead to something."""

import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PROGRAM = re.compile("^    .*$", re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)+/?")


def texts():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True)
    return [ROOT / name for name in listed.stdout.split() if (ROOT / name).is_file()]


def slugs(path):
    """The anchors of a text's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower().replace("`", "")).replace(" ", "-") for heading in headings}


class DocsTest(unittest.TestCase):
    def test_links_lead_somewhere(self):
        checked = 0
        for text in texts():
            for target in LINK.findall(PROGRAM.sub("", text.read_text(encoding="utf-8"))):
                if target.startswith(("http:", "https:", "mailto:")):
                    continue
                file, _, anchor = target.partition("#")
                path = (text.parent / file).resolve() if file else text
                self.assertTrue(path.exists(), f"{text.relative_to(ROOT)}: {target}")
                if anchor and path.suffix == ".md":
                    self.assertIn(anchor, slugs(path), f"{text.relative_to(ROOT)}: {target}")
                checked += 1
        self.assertGreater(checked, 30)

    def test_paths_in_the_source_are_there(self):
        folders = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")} - {"build"}
        checked = 0
        for text in texts():
            if text.name == "CHANGELOG.md":
                continue  # the text tells of the past
            for code in CODE.findall(text.read_text(encoding="utf-8")):
                for word in code.split():
                    word = word.rstrip(",;:.)")
                    if not PATH.fullmatch(word) or word.split("/")[0] not in folders:
                        continue
                    self.assertTrue(any(ROOT.glob(word.rstrip("/"))), f"{text.relative_to(ROOT)}: {word}")
                    checked += 1
        self.assertGreater(checked, 30)


if __name__ == "__main__":
    unittest.main()
