"""Tests that the folder of a capture is whole or absent."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CAPTURE = Path(__file__).resolve().parents[2] / "capture"
sys.path.insert(0, str(CAPTURE))
from understudy.output import BadOutput, OutputFolder  # noqa: E402

ENDED_BY_A_SIGNAL = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from understudy.output import OutputFolder
output = OutputFolder(sys.argv[2])
output.begin()
output.file("rank-0.et.json.gz").write_text("half")
os.kill(os.getpid(), int(sys.argv[3]))
"""


class OutputTest(unittest.TestCase):
    def setUp(self):
        self.parent = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.folder = self.parent / "mine"

    def begin(self, folder=None):
        output = OutputFolder(folder or self.folder)
        output.begin()
        return output

    def fill(self, output, rank, text="whole"):
        output.file(f"rank-{rank}.et.json.gz").write_text(text)

    def describe(self, output, ranks=1):
        files = [{"files": [f"rank-{rank}.et.json.gz"]} for rank in range(ranks)]
        output.file("capture.json").write_text(
            json.dumps({"format": "understudy-capture", "ranks": files}))

    def capture(self, text="whole"):
        output = self.begin()
        self.fill(output, 0, text)
        self.describe(output)
        output.publish()

    def names(self, folder=None):
        return sorted(path.name for path in (folder or self.folder).iterdir())

    def test_it_has_no_name_before_it_is_whole(self):
        output = self.begin()
        self.fill(output, 0)
        self.assertFalse(self.folder.exists())
        self.assertTrue(all(name.startswith(".mine.") for name in self.names(self.parent)))
        self.describe(output)
        output.publish()
        self.assertEqual(self.names(), ["capture.json", "rank-0.et.json.gz"])
        self.assertEqual(self.names(self.parent), ["mine"])

    def test_what_is_given_up_leaves_nothing_not_even_parents(self):
        output = self.begin(self.parent / "a" / "b" / "mine")
        self.fill(output, 0)
        output.discard()
        self.assertEqual(self.names(self.parent), [])

    def test_ranks_are_put_together(self):
        first, second = self.begin(), self.begin()
        self.fill(first, 0)
        self.fill(second, 1)
        self.describe(first, ranks=2)
        first.publish([second.partial])
        second.publish_part()
        self.assertEqual(self.names(), ["capture.json", "rank-0.et.json.gz", "rank-1.et.json.gz"])
        self.assertEqual(self.names(self.parent), ["mine"])

    def test_a_rank_of_another_machine_publishes_its_own(self):
        elsewhere = self.begin()
        self.fill(elsewhere, 1)
        elsewhere.publish_part()
        self.assertEqual(self.names(), ["rank-1.et.json.gz"])
        self.assertEqual(self.names(self.parent), ["mine"])

    def test_a_capture_is_replaced_and_what_lies_beside_stays(self):
        self.capture("old")
        (self.folder / "manifest.json").write_text("mine")
        (self.folder / "rank-7.notes").write_text("mine")
        self.assertTrue(OutputFolder(self.folder).check())
        output = self.begin()
        output.file("rank-1.et.json.gz").write_text("new")
        self.describe(output)
        output.publish()
        self.assertEqual(self.names(), ["capture.json", "manifest.json", "rank-1.et.json.gz",
                                        "rank-7.notes"])
        self.assertEqual(self.names(self.parent), ["mine"])

    def test_a_failed_one_leaves_the_capture_that_was_there(self):
        self.capture("old")
        output = self.begin()
        self.fill(output, 0, "new")
        output.discard()
        self.assertEqual((self.folder / "rank-0.et.json.gz").read_text(), "old")
        self.assertEqual(self.names(self.parent), ["mine"])

    def test_what_is_no_capture_is_refused(self):
        self.folder.mkdir()
        self.assertFalse(OutputFolder(self.folder).check())
        (self.folder / "thesis.tex").write_text("precious")
        with self.assertRaises(BadOutput) as caught:
            self.begin()
        self.assertEqual(str(caught.exception),
                         f"{self.folder}: it is there and is no capture (no capture.json of one), "
                         "so it is not replaced; name another, or remove it")
        for text in ("[]", "{", '{"format": "other"}'):
            (self.folder / "capture.json").write_text(text)
            with self.assertRaises(BadOutput):
                self.begin()
        self.assertEqual(self.names(self.parent), ["mine"])

    def test_a_file_and_the_root_are_refused(self):
        self.folder.write_text("")
        with self.assertRaises(BadOutput) as caught:
            self.begin()
        self.assertEqual(str(caught.exception),
                         f"{self.folder}: it is there and is no folder; name another")
        with self.assertRaises(BadOutput) as caught:
            self.begin("/")
        self.assertEqual(str(caught.exception), "/: this is no folder to write a capture to")

    def test_a_link_to_another_capture_is_refused(self):
        self.capture("old")
        link = self.parent / "link"
        link.symlink_to(self.folder)
        with self.assertRaises(BadOutput) as caught:
            self.begin(link)
        self.assertEqual(str(caught.exception), f"{link}: it is a symbolic link; name the folder that it leads to, or remove the link")

    def test_a_description_cannot_point_outside_of_its_folder(self):
        self.capture("old")
        precious = self.parent / "precious"
        precious.write_text("")
        (self.folder / "capture.json").write_text(json.dumps(
            {"format": "understudy-capture", "ranks": [{"files": ["../precious"]}]}))
        self.capture("new")
        self.assertTrue(precious.exists())

    def test_folders_of_killed_captures_go_and_live_ones_stay(self):
        killed, fresh = self.parent / ".mine.0.partial", self.parent / ".mine.1.partial"
        for folder in (killed, fresh):
            folder.mkdir()
        os.utime(killed, (0, 0))
        live = self.begin()
        os.utime(live.partial, (0, 0))
        self.begin().discard()
        self.assertEqual(self.names(self.parent), sorted([fresh.name, live.partial.name]))
        live.discard()

    def test_a_signal_that_ends_the_process_leaves_nothing_behind(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            done = subprocess.run([sys.executable, "-c", ENDED_BY_A_SIGNAL, CAPTURE, self.folder,
                                   str(int(number))], preexec_fn=lambda: [
                                       signal.signal(each, signal.SIG_DFL)
                                       for each in (signal.SIGTERM, signal.SIGHUP)])
            self.assertEqual(done.returncode, -number)
            self.assertEqual(self.names(self.parent), [])

    def test_handlers_of_the_program_stay(self):
        before = signal.signal(signal.SIGTERM, lambda *_: None)
        self.addCleanup(signal.signal, signal.SIGTERM, before)
        mine = signal.getsignal(signal.SIGTERM)
        self.capture()
        self.assertIs(signal.getsignal(signal.SIGTERM), mine)


if __name__ == "__main__":
    unittest.main()
