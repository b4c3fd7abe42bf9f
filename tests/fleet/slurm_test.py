"""A night on a real Slurm: munged, slurmctld and slurmd of this test's own, on loopback, in a temporary folder."""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from small_fleet import SmallFleet, expected_objects, faults_of  # noqa: E402

BIN = "build/release/bin"
JOBS = 20
CONF = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmdTimeout=15
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=night Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def states():
    return subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False).stdout


class Slurm:
    """The three daemons, in the foreground, as children of ours."""

    def __init__(self, folder):
        self.folder = Path(folder)
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        os.chmod(self.folder, 0o755)
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        conf = self.folder / "slurm.conf"
        conf.write_text(CONF.format(host=socket.gethostname(), folder=self.folder, controller=free_port(), node=free_port(), cores=len(os.sched_getaffinity(0))))
        os.environ["SLURM_CONF"] = str(conf)
        self.children = [
            self.start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/seed"),
        ]
        self.wait_for(lambda: (self.folder / "munge.socket").exists())
        self.children.append(self.start("slurmctld", "-D", "-f", conf))
        self.start_node()
        self.wait_for(lambda: "idle" in states())

    def start_node(self):
        self.children.append(self.start("slurmd", "-D", "-f", os.environ["SLURM_CONF"], "-N", socket.gethostname()))

    def end_node(self):
        """What a node that loses its power leaves: nothing of slurmd and of its jobs."""
        node = self.children.pop()
        node.kill()
        node.wait()
        own = f"SLURM_CONF={os.environ['SLURM_CONF']}".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                variables = (folder / "environ").read_bytes().split(b"\0")
                is_of_a_job = any(variable.startswith(b"SLURM_JOB_ID=") for variable in variables)
                if own in variables and (is_of_a_job or (folder / "comm").read_text() == "slurmstepd\n"):
                    os.kill(int(folder.name), signal.SIGKILL)

    def start(self, *words):
        with open(self.folder / f"{words[0]}.out", "a", encoding="utf-8") as log:
            return subprocess.Popen([str(word) for word in words], stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def wait_for(self, is_there):
        end = time.monotonic() + 120
        while not is_there():
            if time.monotonic() > end:
                raise AssertionError("Slurm did not come up: " + "".join(path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.log")))
            time.sleep(0.2)

    def stop(self):
        for child in reversed(self.children):
            child.terminate()
        for child in self.children:
            child.wait()


class SlurmNight(unittest.TestCase):
    def setUp(self):
        scratch = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.slurm = Slurm(scratch / "slurm")
        self.addCleanup(self.slurm.stop)
        self.expected = expected_objects(scratch / "undisturbed", BIN)
        (scratch / "fleet").mkdir()
        self.fleet = SmallFleet(scratch / "fleet", BIN, JOBS)

    def test_a_night_in_which_a_node_dies(self):
        node = os.open(self.fleet.lock, os.O_RDONLY | os.O_CREAT, 0o444)
        fcntl.flock(node, fcntl.LOCK_EX)  # begun steps wait
        night = self.fleet.start("nightly", "--engine", "slurm", "--jobs", "2", "--generate-only", "--format", "json")
        self.slurm.wait_for(lambda: self.fleet.rows("SELECT 1 FROM work WHERE attempts > 0"))
        self.slurm.end_node()
        os.close(node)
        self.slurm.wait_for(lambda: "down" in states())
        self.slurm.start_node()
        told, said = night.communicate()
        self.assertEqual(night.returncode, 0, said.decode())
        told = json.loads(told)
        self.assertEqual((told["made"], told["broken"], told["not_run"]), (JOBS, [], []))
        self.assertEqual(faults_of(self.fleet, self.expected, []), [])
        self.assertEqual(len(list((self.fleet.store / "slurm").glob("fleet-generate-*"))), 2)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    if os.geteuid() != 0 or not all(shutil.which(name) for name in ("munged", "slurmctld", "slurmd")):
        print("[  SKIPPED ] fleet.slurm: it takes root and Debian's slurm-wlm and munge")
        sys.exit()
    unittest.main()
