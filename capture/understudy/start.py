"""Starts a module of the project: python -I start.py [--path=FOLDERS] MODULE [ARGUMENT…]. `torch` alone prints where torch is."""

# Every Python that the project starts runs this file. The current folder may hold a stranger's files, so MODULE is imported in "/", with
# absolute folders alone on Python's path: those that the caller names, else this Python's own, PYTHONPATH, by which modules of a cluster
# bring packages, and the user's site-packages. Its main() runs in the caller's folder. MODULE is one of this package, which need not be
# installed, or has another's name before it: torch.distributed.run. Only what runs the user's own script is started without -I.

import contextlib
import importlib
import importlib.util
import os
import re
import site
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def absolute(path):
    """Returns the folders of a path but for the relative and empty ones, which mean the current folder."""
    return [folder for folder in re.split("[:;]", path) if os.path.isabs(folder)]


@contextlib.contextmanager
def at_root():
    """While entered, "/" is the current folder: libcusparseLt of torch's CUDA wheel looks for the driver's library in the current one."""
    here = os.open(".", os.O_PATH)
    os.chdir("/")
    try:
        yield
    finally:
        os.fchdir(here)
        os.close(here)


def load_package():
    """Loads this package from this file's folder, whatever else the path has of its name."""
    spec = importlib.util.spec_from_file_location("understudy", f"{HERE}/__init__.py", submodule_search_locations=[HERE])
    package = sys.modules["understudy"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)


def main():
    words = sys.argv[1:]
    if words[0].startswith("--path="):
        path = absolute(words.pop(0).partition("=")[2])
    elif sys.flags.isolated:
        path = [*absolute(os.environ.get("PYTHONPATH", "")), *sys.path, site.getusersitepackages()]
    else:
        path = [os.path.dirname(HERE) if folder == HERE else folder for folder in sys.path]
    path.append(os.path.normpath(f"{HERE}/../../fleet"))  # beside this package, but for a wheel, whose packages lie in one folder
    sys.path[:] = filter(os.path.isabs, path)  # HOME and PYTHONUSERBASE may be relative
    if words == ["torch"]:
        spec = importlib.util.find_spec("torch")
        print(spec.submodule_search_locations[0] if spec else "")
        return
    with at_root():
        load_package()
        module = importlib.import_module(words[0] if "." in words[0] else f"understudy.{words[0]}")
    sys.argv = words
    module.main()


if __name__ == "__main__":
    main()
