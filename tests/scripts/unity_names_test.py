"""Tests which names are found: those that a source may take from another one compiled with it."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMMAND = Path(__file__).resolve().parents[2] / "scripts/checks/unity_names"
HEADER = """#pragma once
namespace job::texts {
[[nodiscard]] std::string parse_error(const std::string& text);  // at { and (
inline constexpr double kPercent = 100;
}  // namespace job::texts
"""
OWN = """#include <string>
namespace job {
namespace {
constexpr const char* kTexts = R"(two { brackets ()";
template <typename Text = std::string>
std::string parse_error(const Text& text, std::pair<int, int> place = {1, 2}) {
  return text;
}
constexpr double kPercent = 1e2;
}  // namespace
}  // namespace job
"""


class UnityNamesTest(unittest.TestCase):
    def check(self, user, own=OWN):
        """Status and output for a target with a source with `own` names and a source that uses a
        header's."""
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder).resolve()
            unit = folder / "CMakeFiles/job.dir/Unity/unity_0_cxx.cxx"
            unit.parent.mkdir(parents=True)
            files = {folder / "include/job/texts.h": HEADER, folder / "own.cpp": own, folder / "user.cpp": user,
                     unit: f'#include "{folder}/own.cpp"\n#include "{folder}/user.cpp"\n'}
            for path, text in files.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            (folder / "compile_commands.json").write_text(json.dumps(
                [{"file": str(unit), "command": f"c++ -I{folder}/include -c {unit}"}]))
            done = subprocess.run([sys.executable, COMMAND, folder], capture_output=True, text=True)
            return done.returncode, done.stdout.replace(f"{folder}/", "")

    def test_a_function_that_hides_one_of_a_header(self):
        self.assertEqual(
            self.check('#include "job/texts.h"\nnamespace job {\nusing texts::parse_error;\n'
                       'TEST(A, B) { EXPECT_EQ(parse_error("x"), ""); }\n}\n'),
            (1, "own.cpp: parse_error stands in its unnamed namespace; user.cpp uses that of include/job/texts.h\n"))

    def test_a_constant_in_a_deeper_namespace(self):
        self.assertEqual(
            self.check('#include "job/texts.h"\nnamespace job::texts {\ndouble whole() {\n  return kPercent;\n}\n}\n'),
            (1, "own.cpp: kPercent stands in its unnamed namespace; user.cpp uses that of include/job/texts.h\n"))

    def test_a_call_outside_of_a_body(self):
        self.assertEqual(self.check('#include "job/texts.h"\nnamespace job {\nconst auto x = parse_error("x");\n}\n')[0], 1)

    def test_what_cannot_be_mistaken(self):
        start = '#include "job/texts.h"\n'
        for user in ('namespace job { void f() { texts::parse_error("x"); } }',  # qualified
                     'namespace job { void f(Texts& all) { all.parse_error("x"); } }',  # a member
                     'namespace job { void f() { say("parse_error(1)"); } }  // parse_error(1)',
                     'namespace job { void f() { const double kPercent = 5; } }',  # its own
                     'namespace job { namespace { std::string parse_error(int x); } void f() { parse_error(1); } }',
                     'namespace other { using namespace job::texts; void f() { parse_error("x"); } }'):
            self.assertEqual(self.check(start + user), (0, ""), user)
        self.assertEqual(self.check('namespace job { void f() { parse_error("x"); } }'), (0, ""))  # not included

    def test_what_is_not_in_an_unnamed_namespace(self):
        user = '#include "job/texts.h"\nnamespace job { void f() { texts::g(parse_error("x")); } }'
        self.assertEqual(self.check(user, OWN.replace("namespace {", "namespace deeper {")), (0, ""))
        self.assertEqual(self.check(user)[0], 1)

    def test_a_build_of_single_sources_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "compile_commands.json").write_text("[]")
            done = subprocess.run([sys.executable, COMMAND, folder], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (
            1, "unity_names: the build compiles no sources together; give one of the preset asan-ubsan\n"))


if __name__ == "__main__":
    unittest.main()
