"""Builds the package understudy-capture for pip (PEP 517 and 660), using only the standard
library."""

import base64
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "understudy_capture"
VERSION = "0.1.0"
STEM = f"{PACKAGE}-{VERSION}"
INFO = f"{STEM}.dist-info"
# The package does not depend on torch: it uses the torch of the training program.
METADATA = f"""Metadata-Version: 2.1
Name: understudy-capture
Version: {VERSION}
Summary: Records one step of a PyTorch training program for Understudy
License: Apache-2.0
Requires-Python: >=3.9
"""
WHEEL = """Wheel-Version: 1.0
Generator: understudy-capture
Root-Is-Purelib: true
Tag: py3-none-any
"""
COMMANDS = f"[console_scripts]\nunderstudy-capture = {PACKAGE}.command:main\n"
OLDEST = (1980, 1, 1, 0, 0, 0)  # fixed, so that equal builds give equal bytes


def sources():
    return sorted(path for path in (HERE / PACKAGE).iterdir() if path.is_file())


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory,
                        {f"{PACKAGE}/{path.name}": path.read_bytes() for path in sources()})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, {f"{PACKAGE}.pth": f"{HERE}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    name = f"{STEM}.tar.gz"
    with tarfile.open(Path(sdist_directory) / name, "w:gz") as archive:
        for path in [HERE / "pyproject.toml", Path(__file__), *sources()]:
            archive.add(path, f"{STEM}/{path.relative_to(HERE)}")
        entry = tarfile.TarInfo(f"{STEM}/PKG-INFO")
        entry.size = len(METADATA.encode())
        archive.addfile(entry, io.BytesIO(METADATA.encode()))
    return name


def _write_wheel(folder, files):
    files = {**files, f"{INFO}/METADATA": METADATA.encode(), f"{INFO}/WHEEL": WHEEL.encode(),
             f"{INFO}/entry_points.txt": COMMANDS.encode()}
    record = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{INFO}/RECORD"] = "\n".join([*record, f"{INFO}/RECORD,,", ""]).encode()
    name = f"{STEM}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, OLDEST)
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return name


def _digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
