// Machine code of Triton's kernels: what a cubin tells, what of it has to fit, and how bench.et
// holds it.

#include "et_schema/formats/bench/kernels.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "bench_samples.h"
#include "et_schema/base/zip.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/cubin/cubin.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

constexpr const char* kKey = "eb0eb541e3b41d95";

std::string cubin_of(int architecture) {
  std::ifstream file(std::string(UNDERSTUDY_TEST_DATA) + "/kernels/scale.sm_" +
                         std::to_string(architecture) + ".cubin",
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string build_json(int architecture, const std::string& function = "kernel") {
  return R"({"architecture":)" + std::to_string(architecture) + R"(,"cubin":"a/)" +
         std::to_string(architecture) + R"(","function":")" + function +
         R"(","warps":2,"cluster_blocks":1,"shared_bytes":0})";
}

std::string list_json(const std::string& builds,
                      const std::string& parameters = R"("*fp32","*fp32","i32","fp32")") {
  return R"({"format":"understudy-kernels","version":1,"kernels":[{"key":")" + std::string(kKey) +
         R"(","name":"scale","parameters":[)" + parameters + R"(],"builds":[)" + builds + "]}]}";
}

std::vector<CompiledKernel> parsed(const std::string& json) {
  static const std::map<std::string, std::string> files = {
      {"a/80", cubin_of(80)}, {"a/90", cubin_of(90)}, {"a/100", cubin_of(100)}};
  return parse_kernels(json, "kernels.json", [](const std::string& name) {
    const auto found = files.find(name);
    return found == files.end() ? nullptr : &found->second;
  });
}

std::string refusal_of(const std::string& json) {
  return error_of([&] { return parsed(json); });
}

TEST(Cubin, TellsParametersAndRegisters) {
  const std::map<int, std::uint32_t> registers = {{80, 0}, {90, 0}, {100, 0}};
  for (const auto& [architecture, none] : registers) {
    const std::vector<CubinKernel> kernels = read_cubin(cubin_of(architecture), "scale.cubin");
    ASSERT_EQ(kernels.size(), 1U) << architecture;
    EXPECT_EQ(kernels[0].name, "kernel");
    EXPECT_EQ(kernels[0].parameters,
              (std::vector<CubinParameter>{{0, 8}, {8, 8}, {16, 4}, {20, 4}, {24, 8}, {32, 8}}));
    EXPECT_GT(kernels[0].registers, none);
  }
}

TEST(Cubin, ThatIsCutIsRefusedAtEveryByte) {
  const std::string whole = cubin_of(90);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_THROW(static_cast<void>(read_cubin(whole.substr(0, bytes), "cut.cubin")), Error)
        << bytes;
  }
}

TEST(Cubin, WithOtherBytesIsReadOrRefused) {
  const std::string whole = cubin_of(100);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    try {
      static_cast<void>(read_cubin(damaged, "damaged.cubin"));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100U);
}

TEST(Cubin, OfAnotherKindIsRefused) {
  EXPECT_EQ(error_of([] { return read_cubin("PK", "x.cubin"); }),
            told("this is no machine code of a kernel", "file: x.cubin",
                 "expected: a 64-bit ELF file for CUDA", "got: another file",
                 "hint: compile the kernels again"));
}

TEST(Kernels, AreReadAndSortedByArchitecture) {
  const std::vector<CompiledKernel> kernels =
      parsed(list_json(build_json(100) + "," + build_json(80)));
  ASSERT_EQ(kernels.size(), 1U);
  ASSERT_EQ(kernels[0].builds.size(), 2U);
  EXPECT_EQ(kernels[0].builds[0].architecture, 80);
  EXPECT_EQ(*kernels[0].builds[1].cubin.bytes, cubin_of(100));
}

TEST(Kernels, WhoseSignatureTheCubinContradictsAreRefused) {
  EXPECT_EQ(refusal_of(list_json(build_json(90), R"("*fp32","*fp32","i64","fp32")")),
            told("the compiled kernels cannot be read", "file: kernels.json",
                 "field: kernels[0].builds[0].cubin",
                 "expected: parameters as the signature packs them: 6 of bytes 8 at 0, 8 at 8, 8 "
                 "at 16, 4 at 24, 8 at 32, 8 at 40",
                 "got: 6 of bytes 8 at 0, 8 at 8, 4 at 16, 4 at 20, 8 at 24, 8 at 32",
                 "hint: make it again with `understudy generate --kernels`"));
  EXPECT_EQ(refusal_of(list_json(build_json(90), R"("*fp32","nvTmaDesc")")),
            told("the compiled kernels cannot be read", "file: kernels.json",
                 "field: kernels[0].parameters", "expected: types of pointers and numbers",
                 "got: nvTmaDesc", "hint: make it again with `understudy generate --kernels`"));
}

TEST(Kernels, WithoutTheirCodeAreRefused) {
  EXPECT_NE(refusal_of(list_json(build_json(75))).find("a file beside kernels.json"),
            std::string::npos);
  EXPECT_NE(refusal_of(list_json(build_json(90, "other"))).find("a kernel of a/90"),
            std::string::npos);
  EXPECT_NE(refusal_of(list_json(build_json(90) + "," + build_json(90))).find("one twice"),
            std::string::npos);
}

/// A rank that launches the kernel.
Bench launching_bench(int ranks) {
  Bench bench = equal_ranks_bench(ranks);
  Instruction launch;
  launch.kind = InstructionKind::kKernel;
  launch.name = "scale";
  launch.args = {{std::string("r w - -")}, {"launch " + std::string(kKey) + " 32 1 1"}};
  bench.programs.edit_each([&](Program& program, std::size_t) {
    program.instructions.push_back(launch);
    attach_kernels(parsed(list_json(build_json(80) + "," + build_json(90))), program);
  });
  return bench;
}

TEST(Kernels, AreInABenchmarkOnceForAllRanks) {
  const Bench bench = launching_bench(4);
  ASSERT_EQ(bench.programs[3].kernels.size(), 1U);
  const std::string bytes = packed(bench);
  std::size_t cubins = 0;
  for (const auto& [name, data] : unzip(bytes, "bench.et", {})) {
    cubins += name.ends_with(".cubin") ? 1U : 0U;
  }
  EXPECT_EQ(cubins, 2U);
  EXPECT_EQ(read_bench_bytes(bytes, "bench.et"), bench);
}

TEST(Kernels, OfWhichNoneIsLaunchedAreNotInIt) {
  Bench bench = launching_bench(1);
  Program& program = bench.programs.edit(0);
  program.instructions.pop_back();
  attach_kernels(parsed(list_json(build_json(80))), program);
  EXPECT_TRUE(program.kernels.empty());
}

TEST(Kernels, OtherCodeDoesNotMakeAnotherBenchmark) {
  Bench bench = launching_bench(1);
  const std::string hash = benchmark_hash(bench);
  bench.programs.edit(0).kernels.clear();
  EXPECT_EQ(benchmark_hash(bench), hash);
}

TEST(KernelLaunch, IsReadFromItsTextAlone) {
  const auto launch = kernel_launch("launch eb0eb541e3b41d95 2147483647 65535 0");
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->key, kKey);
  EXPECT_EQ(launch->grid, (std::array<std::int64_t, 3>{2147483647, 65535, 0}));
  for (const char* text :
       {"", "launch", "launch eb0eb541e3b41d95 1 1", "launch eb0eb541e3b41d9 1 1 1",
        "launch eb0eb541e3b41d95 1 1 1 ", "launch eb0eb541e3b41d95 1 65536 1",
        "launch eb0eb541e3b41d95 -1 1 1", "launch EB0EB541E3B41D95 1 1 1", "cabc.py"}) {
    EXPECT_FALSE(kernel_launch(text)) << text;
  }
}

TEST(KernelBuilds, RunOnWhatTheyWereMadeFor) {
  CompiledKernel kernel;
  for (const int architecture : {75, 80, 86, 90}) {
    kernel.builds.emplace_back().architecture = architecture;
  }
  const auto found = [&](int architecture) {
    const KernelBuild* build = find_build(kernel, architecture);
    return build == nullptr ? 0 : build->architecture;
  };
  EXPECT_EQ(found(75), 75);
  EXPECT_EQ(found(80), 80);
  EXPECT_EQ(found(89), 86);
  EXPECT_EQ(found(90), 90);
  EXPECT_EQ(found(70), 0);
  EXPECT_EQ(found(100), 0) << "compiled for sm_90a alone";
  EXPECT_EQ(found(120), 0);
}

}  // namespace
}  // namespace understudy::et_schema
