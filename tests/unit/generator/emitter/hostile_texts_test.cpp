#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <utility>

#include "foreign_text.h"
#include "generator/emitter/source/emit.h"
#include "testing/made_program.h"

namespace understudy::emitter {
namespace {

namespace fs = std::filesystem;
using et_schema::Argument;
using et_schema::Bench;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;
using Text = std::function<std::string()>;

SlotId add_slot(Program& program, bool external) {
  const SlotId made = testing_programs::add_tensor(program, {512, 512}, external);
  if (external) {
    program.slots[made].value = et_schema::ValueRule{et_schema::ValueRule::Zeros{}, {}};
  }
  return made;
}

Instruction& add_call(Program& program, std::string schema, std::vector<Argument> args) {
  const SlotId made = add_slot(program, false);
  return testing_programs::add_call(program, schema, std::move(args),
                                    {testing_programs::ref(made)});
}

/// A benchmark in which each text is asked for: operators that can be called and such that cannot,
/// kernels, labels, communication, arguments.
Bench bench_of(const Text& text) {
  Program program;
  const Argument x = {Argument::SlotRef{add_slot(program, true)}};
  program.selection.step = text();
  add_call(program, "aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
           {x, {text()}});
  add_call(program, "mine::op(Tensor x, str mode, str? other) -> Tensor", {x, {text()}, {text()}});
  add_call(program, text(), {x});
  add_call(program, "mine::" + text() + "(Tensor x) -> Tensor", {x}).name = text();
  add_call(program, "mine::op." + text() + "(Tensor x) -> Tensor", {x});
  add_call(program, "mine::op2(Tensor x, *, int " + text() + "=3) -> Tensor",
           {x, {std::int64_t{4}}});
  add_call(program, "mine::op3(" + text() + " x) -> Tensor", {x});
  add_call(program, "mine::op5(Tensor x) -> (Tensor " + text() + ")", {x});
  add_call(program, "mine::op6(Tensor x, Stream s) -> Tensor", {x, {Argument::Opaque{text()}}});
  for (const InstructionKind kind : {InstructionKind::kKernel, InstructionKind::kNative}) {
    Instruction& label = program.instructions.emplace_back();
    label.kind = kind;
    label.name = text();
    label.args = {x};
  }
  Instruction& pinned = program.instructions.emplace_back();
  pinned.name = "aten::pin_memory." + text();
  pinned.args = {x};
  Instruction& reduction = program.instructions.emplace_back();
  reduction.kind = InstructionKind::kCollective;
  reduction.name = text();
  reduction.args = {{Argument::List{x}}, {Argument::List{x}}};
  reduction.comm.emplace();
  reduction.comm->kind = et_schema::CommKind::kAllReduce;
  reduction.comm->reduce_op = text();
  Bench bench;
  bench.sources = {{text(), 1, 2, text()}};
  bench.groups = {et_schema::ProcessGroup()};
  bench.groups.front().name = text();
  bench.programs = {program};
  return bench;
}

/// Pieces that end, open or continue something in the source.
std::string hostile(std::mt19937& random) {
  static const std::vector<std::string> kPieces = {"\n",
                                                   "\r\n",
                                                   "\\",
                                                   "\"",
                                                   "'",
                                                   "*/",
                                                   "/*",
                                                   "//",
                                                   "\"\"\"",
                                                   "'''",
                                                   "?\?/",
                                                   "\x7F",
                                                   "\t",
                                                   " ",
                                                   "a",
                                                   "#include <x>\n",
                                                   "\nimport os\n",
                                                   "); system(\"x\"); (",
                                                   "{",
                                                   "}",
                                                   "{}",
                                                   "%s",
                                                   "@NAME@",
                                                   "R\"(",
                                                   ")\"",
                                                   "\\u0022",
                                                   "at::evil(",
                                                   "${X}",
                                                   "`",
                                                   "\xE2\x80\xA8",
                                                   "\xE2\x80\xAE",
                                                   "\xFF",
                                                   "\xC3\xA9",
                                                   std::string(1, '\0'),
                                                   "->",
                                                   "(",
                                                   ")",
                                                   ",",
                                                   "!",
                                                   std::string(120, 'y')};
  std::string text;
  const std::size_t count = 1 + random() % 6;
  for (std::size_t i = 0; i < count; ++i) {
    text += kPieces[random() % kPieces.size()];
  }
  // It is no name, and no schema: those take another way.
  return " " + text + " ";
}

class HostileTexts : public testing::Test {
 protected:
  void SetUp() override {
    if (run("python3 --version") == "") {
      GTEST_SKIP() << "python3 reads what is emitted";
    }
    folder_ =
        fs::path(testing::TempDir()) / fmt::format("hostile_texts_{}", std::random_device()());
    fs::create_directories(folder_);
    std::ofstream(folder_ / "dump.py")
        << "import ast, sys\n"
           "tree = ast.parse(open(sys.argv[1], 'rb').read())\n"
           "texts = []\n"
           "for node in ast.walk(tree):\n"
           "    if isinstance(node, ast.Constant) and isinstance(node.value, str):\n"
           "        texts.append(node.value)\n"
           "        node.value = ''\n"
           "    for field in ('id', 'attr', 'name', 'arg'):\n"
           "        if isinstance(getattr(node, field, None), str):\n"
           "            setattr(node, field, 'name')\n"
           "print(ast.dump(tree))\n"
           "if len(sys.argv) > 2: print(ascii(texts))\n";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string run(const std::string& command) {
    std::string output;
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    std::array<char, 4096> part{};
    for (std::size_t read = 0; (read = fread(part.data(), 1, part.size(), pipe)) > 0;) {
      output.append(part.data(), read);
    }
    return pclose(pipe) == 0 ? output : "";
  }

  /// Its syntax tree without texts and names; empty: it has none.
  /// Files that are the same again are not read again.
  [[nodiscard]] std::string shape_of(const std::string& path, const std::string& content) {
    const auto [shape, is_new] = shapes_.try_emplace({path, content});
    if (is_new) {
      shape->second = read_shape(path, content);
    }
    return shape->second;
  }

  [[nodiscard]] std::string read_shape(const std::string& path, const std::string& content) const {
    const fs::path file = folder_ / ("file" + fs::path(path).extension().string());
    std::ofstream(file, std::ios::binary) << content;
    if (path.ends_with(".py")) {
      return run(fmt::format("python3 {0}/dump.py {1}", folder_.string(), file.string()));
    }
    // README.md, report.json: lines
    return std::string(static_cast<std::size_t>(std::count(content.begin(), content.end(), '\n')),
                       '\n');
  }

  void expect_same_shape(const Bench& plain, const Bench& bench, const std::string& name) {
    const Project expected = emit_project(plain, "a b");
    const Project project = emit_project(bench, name);
    ASSERT_EQ(project.files.size(), expected.files.size());
    for (const auto& [path, content] : expected.files) {
      if (path.starts_with("bench/")) {
        EXPECT_EQ(project.files.at(path), content);
        continue;
      }
      const std::string shape = shape_of(path, content);
      ASSERT_NE(shape, "") << path;
      EXPECT_EQ(shape_of(path, project.files.at(path)), shape) << project.files.at(path);
    }
  }

  fs::path folder_;
  std::map<std::pair<std::string, std::string>, std::string> shapes_;  ///< by path and content
};

TEST_F(HostileTexts, AreLiteralsAndCommentsWhateverTheyHold) {
  const Bench plain = bench_of([] { return " a b "; });
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    const Bench bench = bench_of([&] { return hostile(random); });
    const std::string name = hostile(random);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_same_shape(plain, bench, name);
  }
}

TEST_F(HostileTexts, AreTheSameTextsAgain) {
  const std::string text = "\n\\\"'?\?/\x01\xC3\xA9\xF0\x9F\x98\x80#";
  std::ofstream(folder_ / "file.py") << "x = " << text_literal(text) << "\n";
  EXPECT_EQ(run(fmt::format("python3 {0}/dump.py {0}/file.py texts | tail -n 1", folder_.string())),
            "['\\n\\\\\"\\'?\?/\\x01\\xe9\\U0001f600#']\n");
  EXPECT_EQ(commented("plain text, 3.0"), "plain text, 3.0");
  EXPECT_EQ(commented("ends in a \\"), "\"ends in a \\\\\"");
  EXPECT_EQ(commented(""), "\"\"");
}

/// Schemas with a few bytes changed, too few or too many arguments and results.
TEST_F(HostileTexts, MalformedSchemasAreCalledOrNamed) {
  const std::vector<std::string> schemas = {
      "aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
      "mine::op(Tensor(a!) x, int[2] n, *, float? eps=1e-05, bool[3] mask) -> (Tensor, Tensor[])",
      "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"};
  const std::vector<std::string> pieces = {
      "(", ")", "[", "]",  "[99999999999]", "?",        ",",  " ",
      "=", "*", "!", "->", "Tensor",        "int[4] n", "\n", "::"};
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Program program;
    const SlotId x = add_slot(program, true);
    std::string schema = schemas[random() % schemas.size()];
    for (std::size_t i = random() % 4; i > 0; --i) {
      const std::size_t at = random() % schema.size();
      schema.replace(at, random() % 4, pieces[random() % pieces.size()]);
    }
    std::vector<Argument> args;
    for (std::size_t i = random() % 8; i > 0; --i) {
      const std::array<Argument, 6> any = {{{Argument::SlotRef{x}},
                                            {Argument::None{}},
                                            {std::int64_t{1} << (random() % 64)},
                                            {1e300},
                                            {std::string("none")},
                                            {Argument::List{{true}, {std::int64_t{2}}}}}};
      args.push_back(any[random() % any.size()]);
    }
    Instruction& call = add_call(program, schema, args);
    if (random() % 2 == 0) {
      call.results.push_back({Argument::List{{Argument::SlotRef{add_slot(program, false)}}}});
    }
    Bench bench;
    bench.groups = {et_schema::ProcessGroup()};
    bench.programs = {program};
    const Project project = emit_project(bench, "demo");
    if (round % 100 == 0) {
      EXPECT_NE(shape_of("step_rank0.py", project.files.at("step_rank0.py")), "")
          << project.files.at("step_rank0.py");
    }
    // It is called, or missing with its reason.
    EXPECT_EQ(project.operators, 1U);
    for (const Missing& missing : project.missing) {
      EXPECT_FALSE(missing.reason.empty());
    }
  }
}

}  // namespace
}  // namespace understudy::emitter
