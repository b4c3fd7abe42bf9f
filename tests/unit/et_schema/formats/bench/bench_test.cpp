// Round trips of bench.et: what is written is what is read, in the same bytes, on any number of
// ranks; ranks of one behaviour share a file.

#include "et_schema/formats/bench/bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "bench_samples.h"
#include "et_schema/base/zip.h"
#include "testing/temporary_folder.h"

namespace understudy::et_schema {
namespace {

class BenchRankCounts : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Bench, BenchRankCounts, testing::Values(1, 2, 3, 4, 8));

TEST_P(BenchRankCounts, RandomBenchesAreReadAsTheyWereWritten) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Bench bench = random_bench(seed, GetParam());
    const std::string bytes = packed(bench);
    const Bench read = read_bench_bytes(bytes, "bench.et");
    ASSERT_EQ(bench, read);
    ASSERT_EQ(packed(bench), bytes) << "the same benchmark gave other bytes";
    ASSERT_EQ(packed(read), bytes) << "what was read gave other bytes";
  }
}

std::size_t members_in(const std::string& bytes, const char* folder) {
  const auto members = unzip(bytes, "bench.et", {});
  return static_cast<std::size_t>(std::ranges::count_if(
      members, [folder](const auto& member) { return member.first.starts_with(folder); }));
}

std::size_t programs_in(const std::string& bytes) {
  return members_in(bytes, "programs/");
}

TEST_P(BenchRankCounts, EqualRanksShareOneProgram) {
  const Bench bench = equal_ranks_bench(GetParam());
  const std::string bytes = packed(bench);
  EXPECT_EQ(programs_in(bytes), 1U);
  EXPECT_EQ(read_bench_bytes(bytes, "bench.et"), bench);
}

TEST(Bench, RanksThatDifferInWhatIsTheirOwnShareOneProgram) {
  int shared = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Bench bench = random_bench(seed, 8);
    const auto alike = std::count_if(
        bench.programs.begin(), bench.programs.end(), [&bench](const Program& program) {
          return program.slots == bench.programs[0].slots && program != bench.programs[0];
        });
    EXPECT_EQ(programs_in(packed(bench)), bench.programs.size() - static_cast<std::size_t>(alike));
    shared += static_cast<int>(alike);
  }
  EXPECT_GT(shared, 40);
}

TEST(Bench, RanksThatShareAProgramAreWrittenAndReadOnce) {
  Bench bench = equal_ranks_bench(4);
  Program program = bench.programs[0];
  program.profile.emplace();
  bench.programs = {std::move(program)};
  for (int rank = 1; rank < 4; ++rank) {
    bench.programs.push_same_as(0);
  }
  const std::string bytes = packed(bench);
  EXPECT_EQ(programs_in(bytes), 1U);
  EXPECT_EQ(members_in(bytes, "timings/"), 1U);
  const Bench read = read_bench_bytes(bytes, "bench.et");
  EXPECT_EQ(read, bench);
  EXPECT_EQ(&read.programs[0], &read.programs[3]);
}

TEST(Bench, RanksThatDifferInTheirGroupsAloneShareAProgram) {
  Bench shared = tiny_bench();
  shared.groups.push_back({"other", "", "", {0}, 1});
  shared.programs.push_same_as(0, {{0, 1}});
  shared.sources.push_back(shared.sources.front());
  Bench apart = shared;
  apart.programs.separate();
  EXPECT_NE(&apart.programs[0], &apart.programs[1]);
  EXPECT_EQ(apart, shared);
  EXPECT_EQ(packed(apart), packed(shared));
  EXPECT_EQ(benchmark_hash(apart), benchmark_hash(shared));
  const Bench read = read_bench_bytes(packed(apart), "bench.et");
  EXPECT_EQ(read, shared);
  EXPECT_EQ(&read.programs[0], &read.programs[1]);
  EXPECT_EQ(read.programs.groups(1), (OwnGroups{{0, 1}}));
  Bench alike = shared;
  alike.programs.edit(1) = shared.programs[0];
  EXPECT_NE(benchmark_hash(alike), benchmark_hash(shared));
}

TEST(Programs, AreChangedForOneRankOrForAllThatShareThem) {
  Programs programs = {Program(), Program()};
  programs.push_same_as(0);
  programs.push_same_as(0);
  const Programs before = programs;
  programs.edit(2).schemas = {"alone"};
  std::vector<std::size_t> sharing;
  programs.edit_each([&](Program& program, std::size_t ranks) {
    program.schemas.emplace_back("all");
    sharing.push_back(ranks);
  });
  EXPECT_EQ(sharing, (std::vector<std::size_t>{2, 1, 1}));
  EXPECT_EQ(&programs[0], &programs[3]);
  EXPECT_EQ(programs[3].schemas, (std::vector<std::string>{"all"}));
  EXPECT_EQ(programs[2].schemas, (std::vector<std::string>{"alone", "all"}));
  for (const Program& program : before) {
    EXPECT_TRUE(program.schemas.empty()) << "a copy has its own";
  }
}

TEST(Bench, EightEqualRanksCostTheSizeOfOneAndALittle) {
  const std::size_t one = packed(equal_ranks_bench(1, 1500)).size();
  const std::size_t eight = packed(equal_ranks_bench(8, 1500)).size();
  EXPECT_LT(eight, one + one / 10) << "one rank: " << one;
}

TEST(Bench, TheOrderOfRanksDoesNotMatterToSharing) {
  Bench bench = equal_ranks_bench(4);
  // Two ranks of another behaviour between the others.
  for (const std::size_t rank : {1U, 3U}) {
    bench.programs.edit(rank).instructions.front().name = "aten::mul.Tensor";
    bench.programs.edit(rank).instructions.front().schema.reset();
  }
  std::vector<std::size_t> order = {0, 1, 2, 3};
  const std::size_t size = packed(bench).size();
  do {
    Bench permuted = bench;
    for (std::size_t i = 0; i < order.size(); ++i) {
      permuted.programs.edit(i) = bench.programs[order[i]];
    }
    const std::string bytes = packed(permuted);
    EXPECT_EQ(programs_in(bytes), 2U);
    EXPECT_NEAR(static_cast<double>(bytes.size()), static_cast<double>(size), 60);
    EXPECT_EQ(read_bench_bytes(bytes, "bench.et"), permuted);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Bench, RanksThatMapDevicesDifferentlyDoNotShare) {
  Bench bench = equal_ranks_bench(2);
  bench.programs.edit(1).storages.back().device = {DeviceType::kCpu, -1};
  const std::string bytes = packed(bench);
  EXPECT_EQ(programs_in(bytes), 2U);
  EXPECT_EQ(read_bench_bytes(bytes, "bench.et"), bench);
}

TEST(Bench, SomeRanksOfAJobSayWhichTheyAre) {
  Bench bench = equal_ranks_bench(2);
  EXPECT_EQ(bench.recorded_rank(1), 1);
  EXPECT_EQ(bench.recorded_world_size(), 2);
  bench.partial = PartialJob{8, {3, 5}};
  EXPECT_EQ(bench.recorded_rank(1), 5);
  EXPECT_EQ(bench.recorded_world_size(), 8);
  EXPECT_EQ(read_bench_bytes(packed(bench), "bench.et"), bench);
}

TEST(Bench, HashedNamesTellNothingOfTheProgram) {
  Selection selection;
  selection.filters = {"--only comms", "--subgraph secret", "--no-backward", "--exclude ^acme::"};
  selection.opened = {
      {"aten::conv2d", 1, "why"}, {"acme::layer", 2, "why"}, {"aten::conv2d.acme", 1, "why"}};
  const Selection hashed = hashed_names(selection);
  EXPECT_EQ(hashed.filters[0], "--only comms");
  EXPECT_EQ(hashed.filters[1].size(), std::string("--subgraph #0123456789abcdef").size());
  EXPECT_TRUE(hashed.filters[1].starts_with("--subgraph #"));
  EXPECT_EQ(hashed.filters[2], "--no-backward");
  EXPECT_TRUE(hashed.filters[3].starts_with("--exclude #"));
  EXPECT_EQ(hashed.opened[0].name, "aten::conv2d");
  EXPECT_EQ(hashed.opened[1].name[0], '#');
  EXPECT_EQ(hashed.opened[2].name[0], '#') << "an overload of one's own";
  EXPECT_EQ(hashed_names(hashed), hashed) << "of a benchmark that is written again";
  EXPECT_EQ(hashed_names(selection), hashed) << "equal texts have equal hashes";
  for (const std::string& text : hashed.filters) {
    EXPECT_EQ(text.find("secret"), std::string::npos);
  }
}

TEST(Bench, NotANumberSurvives) {
  Bench bench = tiny_bench();
  bench.programs.edit(0).instructions[0].args.push_back({std::nan("")});
  const Bench read = read_bench_bytes(packed(bench), "bench.et");
  const Argument& last = read.programs[0].instructions[0].args.back();
  EXPECT_TRUE(std::isnan(std::get<double>(last.value)));
}

TEST(Bench, APersonCanReadTheFile) {
  Bench bench = tiny_bench();
  Instruction& add = bench.programs.edit(0).instructions[0];
  add.args.push_back({Argument::List{{0.5}, {std::string("sum")}, {Argument::None{}}}});
  bench.programs.edit(0).slots[0].value =
      ValueRule{ValueRule::Uniform{.low = -1, .high = 1}, "a rule"};
  bench.programs.edit(0).slots[1].value = ValueRule{ValueRule::Lengths{{{2, 3}, {4, 0}}}};
  const auto members = unzip(packed(bench), "bench.et", {});
  EXPECT_EQ(members.at("manifest.json"), R"({"format":"understudy-bench",
"version":1,
"tool_version":"0.1.0",
"world_size":1,
"sources":[
{"file":"rank-0.json","bytes":1000,"content_hash":"0000000000000011","schema":"1.1.1"}],
"process_groups":[
{"id":0,"name":"world","description":"","backend":"nccl","size":1,"ranks":[]}],
"ranks":[
{"rank":0,"program":"programs/0.jsonl","selection":{"step":"","filters":[],"operators":2,"labels":0,"rounds":0,"opened":[]},"losses":{}}]}
)");
  EXPECT_EQ(members.at("programs/0.jsonl"),
            R"({"schemas":1,"storages":2,"slots":2,"instructions":3}
{"schema":0,"text":"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"}
{"storage":0,"device":"cuda:0","bytes":4096,"external":true}
{"storage":1,"device":"cuda:0","bytes":4096}
{"slot":0,"storage":0,"dtype":"float32","sizes":[1,32],"strides_recorded":true,"external":true,"value":{"rule":"uniform","a":-1.0,"b":1.0,"why":"a rule"}}
{"slot":1,"storage":1,"dtype":"float32","sizes":[2,32],"strides_recorded":true,"value":{"rule":"lengths","segments":[[2,3],[4,0]]}}
{"i":0,"op":"aten::add.Tensor","node":13,"schema":0,"args":["%0","%0",1,"@cuda:0",[0.5,"'sum",null]],"results":["%1"]}
{"body":1,"op":"aten::add.Tensor","node":14,"schema":0,"args":["%0","%0",1,"@cuda:0"],"results":["%1"]}
{"i":1,"collective":"all_to_allv","node":20,"comm":{"kind":"all_to_allv","reduce_op":"sum","group":0,"root_or_peer":0,"in_splits":[1],"out_splits":[0]}}
)");
}

TEST(Bench, FilesAreToldByTheirStart) {
  const testing_files::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();
  const std::string bench = folder / "bench.et";
  const std::string other = folder / "other.json";
  write_bench(tiny_bench(), bench);
  std::ofstream(other) << "{\"schema\":\"1.1.1\"}";
  EXPECT_TRUE(is_bench_file(bench));
  EXPECT_FALSE(is_bench_file(other));
  EXPECT_FALSE(is_bench_file(folder));
  EXPECT_FALSE(is_bench_file(folder / "nothing"));
  EXPECT_EQ(read_bench(bench), tiny_bench());
  // Nothing is left beside the file.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
}

}  // namespace
}  // namespace understudy::et_schema
