"""What an index gets: publish_test.py FOLDER BUILD. Downloads 20 MB of PyPI's packages into the folder once."""

import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER, BUILD = (Path(word).absolute() for word in sys.argv[1:])
TOOLS = ("build==1.6.1", "pypiserver==2.4.2", "scikit-build-core==1.1.2", "setuptools==80.9.0")
ADDRESS = "https://host.invalid/understudy"
# All that the metadata are made of.
PARTS = ("capture", "cmake", "scripts", "CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml")


def run(*words, status=0, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != status:
        raise AssertionError(f"{words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


class PublishTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tools = FOLDER / "tools" / "bin"
        if not (cls.tools / "pypi-server").exists():
            run(sys.executable, "-m", "venv", FOLDER / "tools")
            run(cls.tools / "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS)
        cls.path = {**os.environ, "PATH": f"{cls.tools}:{os.environ['PATH']}"}

    def setUp(self):
        self.scratch = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()

    def make_wheel(self, tree, **variables):
        """Makes the wheel of a tree, without programs."""
        run(self.tools / "pip", "wheel", tree, "--no-deps", "--no-build-isolation", "-w", tree / "dist", "-C", "wheel.cmake=false",
            env={**self.path, **variables})
        return next((tree / "dist").glob("*.whl"))

    def copy_of_the_tree(self, address):
        tree = self.scratch / "tree"
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            tree.mkdir(exist_ok=True)
            copy(ROOT / part, tree / part)
        cmake = (tree / "CMakeLists.txt").read_text()
        (tree / "CMakeLists.txt").write_text(cmake.replace("LANGUAGES CXX", f'LANGUAGES CXX HOMEPAGE_URL "{address}"') if address else cmake)
        return tree

    def serve(self):
        """Starts an index on this machine, and returns its address."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        (self.scratch / "index").mkdir()
        server = subprocess.Popen([self.tools / "pypi-server", "run", "-i", "127.0.0.1", "-p", str(port), "-a", ".", "-P", ".",
                                   "--disable-fallback", self.scratch / "index"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/")
                break
            except urllib.error.URLError:
                time.sleep(0.1)
        return f"http://127.0.0.1:{port}"

    def test_the_index_has_what_was_published(self):
        tree, index = self.copy_of_the_tree(ADDRESS), self.serve()
        (tree / "build" / "licences").mkdir(parents=True)
        (tree / "build" / "licences" / "libfmt9").write_text("MIT")
        wheel = self.make_wheel(tree, UNDERSTUDY_LICENCES="build/licences")
        run(tree / "scripts" / "publish", "--index", index, wheel,
            env={**os.environ, "TWINE_USERNAME": "me", "TWINE_PASSWORD": "none"})
        for kind in ("--only-binary=:all:", "--no-binary=:all:"):
            run(self.tools / "pip", "download", "understudy", kind, "--no-deps", "--no-build-isolation", "--index-url", f"{index}/simple/",
                "-d", self.scratch / "got", env=self.path)
        for got in (self.scratch / "got").iterdir():
            self.assertEqual(hashlib.sha256(got.read_bytes()).digest(), hashlib.sha256((tree / "dist" / got.name).read_bytes()).digest())
        self.assertEqual(sorted(path.suffix for path in (self.scratch / "got").iterdir()), [".gz", ".whl"])
        with zipfile.ZipFile(wheel) as files:
            head, _, text = files.read(next(name for name in files.namelist() if name.endswith("METADATA"))).decode().partition("\n\n")
            self.assertIn("understudy/py.typed", files.namelist())
        for line in (f"Project-URL: Homepage, {ADDRESS}", "License-Expression: Apache-2.0", "License-File: build/licences/libfmt9",
                     "Author: The maintainers of Understudy", "Classifier: Typing :: Typed"):
            self.assertIn(line, head.splitlines())
        self.assertIn(f"[![The page of a replay]({ADDRESS}/raw/main/docs/pages/report.png)]({ADDRESS}/blob/main/docs/pages.md)", text)
        self.assertEqual([link for link in re.findall(r"\]\(([^)]*)\)", text) if not link.startswith("https://")], [])

    def test_without_an_address_nothing_is_published(self):
        tree = self.copy_of_the_tree("")
        wheel = self.make_wheel(tree)
        said = run(tree / "scripts" / "publish", "--index", "http://127.0.0.1:1", wheel, status=2)
        self.assertEqual(said, "scripts/publish: CMakeLists.txt: project() has no HOMEPAGE_URL, the address that README's links lead to\n")

    def test_the_sdist_has_all_that_a_build_reads(self):
        run(self.tools / "python", "-m", "build", "--sdist", "--no-isolation", "-o", self.scratch, ROOT, env=self.path)
        sdist = next(self.scratch.glob("*.tar.gz"))
        with tarfile.open(sdist) as files:
            names = {name.partition("/")[2] for name in files.getnames()}
            files.extractall(self.scratch, filter="data")
        known = run("ninja", "-C", BUILD, "-t", "inputs", "programs") + run("ninja", "-C", BUILD, "-t", "deps")
        read = {os.path.relpath(os.path.join(BUILD, line.strip()), ROOT) for line in known.splitlines()}
        read = {name for name in read if (ROOT / name).is_file() and not name.startswith(("build/", "tests/", ".venv/", "../"))}
        self.assertGreater(len(read), 500)
        self.assertEqual(read - names, set())
        # CMake reads files of its own.
        run("cmake", "--preset", "release", "-DUNDERSTUDY_BUILD_TESTS=OFF", cwd=self.scratch / sdist.name.removesuffix(".tar.gz"),
            env={**os.environ, "UNDERSTUDY_TORCH_ROOT": str(next((ROOT / ".venv" / "lib").glob("python3*/site-packages/torch")).resolve())})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
