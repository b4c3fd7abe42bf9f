"""Tests which types are found: those of one name in one namespace, in two files."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMMAND = Path(__file__).resolve().parents[2] / "scripts/checks/type_names"
PLAN = """#pragma once
namespace job::rooms {
/// What struct Plan { is.
template <class Step = std::vector<int>>
struct [[nodiscard]] Plan final : Base<Step> {
  struct Step {};
};
}  // namespace job::rooms
"""


class TypeNamesTest(unittest.TestCase):
    def check(self, other, central=""):
        """Status and output for a tree with PLAN and another header, and a list of central types."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"one/plan.h": PLAN, "two/other.h": other, "scripts/checks/central_types.txt": central}.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True)
                path.write_text(text)
            done = subprocess.run([sys.executable, COMMAND, folder], capture_output=True, text=True)
            return done.returncode, done.stdout

    def test_a_second_type_of_the_name(self):
        for other in ("namespace job { namespace rooms { class Plan { int x; }; } }",
                      "namespace job::rooms { enum class Plan : std::uint8_t { kOne }; }"):
            self.assertEqual(self.check(other),
                             (1, "job::rooms::Plan: defined in one/plan.h and in two/other.h\n"), other)

    def test_a_central_type_that_is_gone(self):
        self.assertEqual(self.check("", "# Types.\nplan job::rooms::Plan\nplan job::rooms::Step\n"),
                         (1, "job::rooms::Step: defined nowhere; take its line out of scripts/checks/central_types.txt\n"))

    def test_what_is_another_type_or_none(self):
        for other in ("namespace job::other { struct Plan {}; }",
                      "namespace job::rooms { namespace { struct Plan {}; } }",
                      "namespace job::rooms { struct Plan; enum class Plan : int; }",
                      "namespace job::rooms { struct Own { struct Plan {}; }; void f() { struct Plan {}; } }",
                      "namespace job::rooms { template <> struct Plan<int> {}; struct Plan made() { return {}; } }",
                      'namespace job::rooms { const char* kText = "struct Plan {}"; }  // struct Plan {}'):
            self.assertEqual(self.check(other), (0, ""), other)

    def test_a_folder_without_types_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, COMMAND, folder], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"type_names: no type in {folder}; give a tree of C++ sources\n"))


if __name__ == "__main__":
    unittest.main()
