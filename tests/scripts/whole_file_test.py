"""Tests that a file that a command in Python writes is whole under its name, or absent."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

CAPTURE = Path(__file__).resolve().parents[2] / "capture"
sys.path.insert(0, str(CAPTURE))
from understudy.endings import Refused  # noqa: E402
from understudy.whole_file import write_whole  # noqa: E402


class WholeFileTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "table.md"

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_a_file_is_new_or_takes_the_old_ones_place(self):
        for text in ("one\n", "другой\n"):
            write_whole(self.file, text)
            self.assertEqual(self.file.read_text(encoding="utf-8"), text)
        umask = os.umask(0)
        os.umask(umask)
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o666 & ~umask)
        self.assertEqual(self.names(), ["table.md"])

    def test_links_are_neither_followed_nor_replaced(self):
        other = self.folder / "other"
        other.write_text("kept")
        for target in (other, self.folder / "nowhere"):
            self.file.symlink_to(target)
            with self.assertRaises(Refused) as caught:
                write_whole(self.file, "text")
            self.assertEqual(str(caught.exception), f"{self.file}: it is a symbolic link; name the file that it leads "
                                                    "to, or remove the link")
            self.assertEqual(caught.exception.status, 2)
            self.assertTrue(self.file.is_symlink())
            self.file.unlink()
        self.assertEqual(other.read_text(), "kept")
        self.assertEqual(self.names(), ["other"])

    def test_it_is_on_the_disk_before_it_has_its_name_and_its_name_is_before_the_end(self):
        done = []
        fsync, rename = os.fsync, Path.rename
        with mock.patch("os.fsync", lambda number: (done.append("sync"), fsync(number))), \
                mock.patch.object(Path, "rename", lambda a, b: (done.append("rename"), rename(a, b))):
            write_whole(self.file, "text")
        self.assertEqual(done, ["sync", "rename", "sync"])

    def test_what_cannot_be_written_leaves_the_old_file_and_nothing_beside_it(self):
        write_whole(self.file, "old")
        with mock.patch("os.fsync", side_effect=OSError(28, "No space left on device")), self.assertRaises(OSError):
            write_whole(self.file, "new")
        self.assertEqual(self.file.read_text(), "old")
        self.assertEqual(self.names(), ["table.md"])

    def test_a_pipe_is_written_to(self):
        done = subprocess.run([sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv[1])\n"
                               "from understudy.whole_file import write_whole\n"
                               "write_whole('/dev/stdout', 'text')", CAPTURE], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "text")


if __name__ == "__main__":
    unittest.main()
