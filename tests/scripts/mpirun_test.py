"""scripts/mpirun starts the mpirun on PATH with what Open MPI needs."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
YIELDS = "OMPI_MCA_mpi_yield_when_idle"


class MpirunTest(unittest.TestCase):
    def started(self, cores, *arguments, **variables):
        """The output of an mpirun that prints its environment, on a machine with `cores` cores."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("mpirun", "env"), ("nproc", f"echo {cores}")):
                program = pathlib.Path(folder) / name
                program.write_text(f"#!/bin/sh\n{text}\n")
                program.chmod(0o755)
            environment = {key: value for key, value in os.environ.items() if key != YIELDS}
            environment |= {"PATH": f"{folder}:{os.environ['PATH']}", **variables}
            out = subprocess.run([ROOT / "scripts/mpirun", *arguments], env=environment, check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
            return dict(line.split("=", 1) for line in out.splitlines() if "=" in line)

    def test_ranks_with_cores_of_their_own_spin(self):
        self.assertNotIn(YIELDS, self.started(100000, "-np", "8", "replay"))

    def test_more_ranks_than_free_cores_yield(self):
        for flag in ("-np", "-n", "--np"):
            self.assertEqual(self.started(1, flag, "2", "replay")[YIELDS], "1", flag)
        self.assertEqual(self.started(1, "-np", "1", "a", ":", "-np", "1", "b")[YIELDS], "1")

    def test_the_users_choice_stays(self):
        self.assertEqual(self.started(1, "-np", "2", "replay", **{YIELDS: "0"})[YIELDS], "0")


if __name__ == "__main__":
    unittest.main()
