#!/usr/bin/env python3
"""Tests that emitter/source/src/public_schemas.txt is what this torch says of its operators;
--update writes it.

It lists the operators of LibTorch's C++ libraries, except those that write into given tensors,
which are called by name.
"""
import sys
from pathlib import Path

import torch

VERSION = "2.11."
TABLE = Path(__file__).resolve().parent.parent.parent / "emitter" / "source" / "src" / "public_schemas.txt"


SPACES = {"_c10d_functional", "_quantized", "aten", "c10d", "mkl", "mkldnn", "mkldnn_prepacked", "onednn", "prepacked",
          "profiler", "quantized", "sparse"}


def schemas():
    registered = set(torch._C._dispatch_get_all_op_names())
    texts = {str(schema) for schema in torch._C._jit_get_all_schemas()}
    names = {text: text.split("(")[0] for text in texts if text.partition("::")[0] in SPACES}
    return sorted(text.replace("SymInt", "int") for text, name in names.items()
                  if name in registered and "!) out" not in text)


def main():
    if not torch.__version__.startswith(VERSION):
        print(f"skipped: torch {torch.__version__}, the table is of {VERSION}*")
        return
    text = "".join(schema + "\n" for schema in schemas())
    if sys.argv[1:] == ["--update"]:
        TABLE.write_text(text)
    elif TABLE.read_text() != text:
        sys.exit(f"{TABLE}: not what torch {torch.__version__} has; run this with --update, and look at the difference")


sys.path.insert(0, str(TABLE.parents[3] / "capture"))
from understudy_capture.endings import run_main  # noqa: E402

if __name__ == "__main__":
    run_main("public_schemas_test.py", main)
