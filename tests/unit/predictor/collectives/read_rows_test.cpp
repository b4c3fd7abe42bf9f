#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "predictor/collectives/rows.h"
#include "readers.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

std::string message_of(const std::string& text, const std::string& file = "rows.txt") {
  return error_of([&] { return parse_collective_rows(text, file); });
}

/// The message about a file that cannot be read.
std::string unreadable(const std::string& field, const std::string& expected,
                       const std::string& got, const std::string& file = "rows.txt") {
  return "the measured communication cannot be read\n  file:     " + file +
         (field.empty() ? "" : "\n  field:    " + field) + "\n  expected: " + expected +
         "\n  got:      " + got + "\n  hint:     docs/formats.md lists what is read";
}

const std::string kText = R"(# nccl-tests version 2.17.9 nccl-headers=22903 nccl-library=22903
# Collective test starting: all_gather_perf
# nThread 1 nGpus 1 minBytes 0 maxBytes 64 step: 2(factor) warmup iters: 1 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid    490 on     host-a device  0 [0000:0f:00] NVIDIA A100
#  Rank  1 Group  0 Pid    491 on     host-a device  1 [0000:10:00] NVIDIA A100
#  Rank  2 Group  0 Pid    505 on     host-b device  0 [0000:0f:00] NVIDIA A100
#  Rank  3 Group  0 Pid    506 on     host-b device  1 [0000:10:00] NVIDIA A100
host-a:490:490 [0] NCCL INFO Using network IB
#
#                                                   out-of-place            in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
           0             0     float    none      -1     0.12    0.00    0.00       0     0.10    0.00    0.00       0
          32             8     half     none      -1    12.34    0.00    0.00       0    12.10    0.00    0.00     N/A
          64            16     float                    1.2e+01    0.01    0.00       0    11.00    0.01    0.00       0
         128            32     float    none      -1    14.00    0.01    0.01       3    14.00    0.01    0.01       0
         garbage
         256
# Out of bounds values : 0 OK
)";

TEST(ReadRows, NcclTestsText) {
  const ReadCollectives read = parse_collective_rows(kText, "logs/any.txt");
  ASSERT_EQ(read.rows.size(), 2U);
  CollectiveRow expected{CommKind::kAllGatherBase,
                         32,
                         4,
                         2,
                         true,
                         DType::kFloat16,
                         12340,
                         0,
                         1,
                         "any.txt",
                         "NVIDIA A100",
                         "IB"};
  EXPECT_EQ(read.rows[0], expected);
  expected.bytes = 64;
  expected.dtype = DType::kFloat32;
  expected.median_ns = 12000;
  EXPECT_EQ(read.rows[1], expected);
  EXPECT_EQ(read.left_out,
            (std::map<std::string, std::uint64_t>{
                {"lines of another shape", 1}, {"sizes of 0", 1}, {"wrong results", 1}}));
}

TEST(ReadRows, NcclTestsTextWithoutItsProgram) {
  std::string text = kText;
  text.erase(text.find("# Collective test"), std::string("# Collective test starting: ").size());
  text.erase(text.find("all_gather_perf"), std::string("all_gather_perf").size());
  EXPECT_EQ(parse_collective_rows(text, "logs/alltoall_perf.txt").rows[0].kind,
            CommKind::kAllToAll);
  EXPECT_EQ(
      message_of(text),
      unreadable("the collective",
                 "the program's name in the text or the file's: all_reduce_perf.txt", "none"));
}

TEST(ReadRows, NcclTestsTextWithTimestampsAndWithoutRanks) {
  const ReadCollectives read = parse_collective_rows(R"(# Collective test starting: all_reduce_perf
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong           timestamp
  1073741824     268435456     float     sum      -1  10908.0   98.44  184.57       0  11220.1   95.70  179.43       0  2025-01-31 12:00:00
)",
                                                     "x");
  ASSERT_EQ(read.rows.size(), 1U);
  EXPECT_EQ(read.rows[0].ranks, 16);
  EXPECT_EQ(read.rows[0].median_ns, 10908000);
}

const std::string kOldText =
    R"(# nThread 1 nGpus 2 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
#   Rank  0 Pid  71327 on   host-a device  0 [0x1a] Tesla V100-SXM3-32GB
#   Rank  1 Pid  71327 on   host-a device  1 [0x1b] Tesla V100-SXM3-32GB
#
#                                                     out-of-place            in-place
#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)             (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             1   float    158.3    0.00    0.00  1e-07    158.4    0.00    0.00  0e+00
          16             2    half    160.4    0.00    0.00  1e-04    160.7    0.00    0.00  3e-08
          32             4   float    159.2    0.00    0.00  1e-02    159.9    0.00    0.00  0e+00
 Out of bounds values : 0 OK
)";

TEST(ReadRows, NcclTestsUpTo210TellErrorsAndHaveNoOperation) {
  const ReadCollectives read = parse_collective_rows(kOldText, "all_gather_perf.log");
  ASSERT_EQ(read.rows.size(), 2U);
  EXPECT_EQ(read.rows[0],
            (CollectiveRow{CommKind::kAllGatherBase, 8, 2, 1, true, DType::kFloat32, 158300, 0, 1,
                           "all_gather_perf.log", "Tesla V100-SXM3-32GB"}));
  EXPECT_EQ(read.rows[1].dtype, DType::kFloat16);
  EXPECT_EQ(read.left_out, (std::map<std::string, std::uint64_t>{{"wrong results", 1}}));
}

/// As two runs in one log of mpirun --tag-output.
TEST(ReadRows, NcclTestsRunsInOneLog) {
  const auto tagged = [](const std::string& text, const std::string& tag) {
    std::string lines;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin) + 1;
      lines += tag + text.substr(begin, end - begin);
      begin = end;
    }
    return lines;
  };
  std::string one = kOldText;
  one.erase(one.find("#   Rank  1"), one.find("#\n#     ") - one.find("#   Rank  1"));
  one.insert(one.find("#\n#     "),
             "#   Rank  1 Pid 7 on b device 0 [0x1a] Tesla\n"
             "#   Rank  2 Pid 7 on b device 1 [0x1a] Tesla\n");
  const std::string log =
      "$ mpirun build/all_gather_perf -g 2\n" + kOldText + "$ mpirun build/sendrecv_perf\n" + one;
  for (const char* tag : {"", "[1,0]<stdout>:", "0: ", "node-1 | "}) {
    const ReadCollectives read = parse_collective_rows(tagged(log, tag), "x.log");
    ASSERT_EQ(read.rows.size(), 6U) << tag;
    EXPECT_EQ(read.rows[1].kind, CommKind::kAllGatherBase);
    EXPECT_EQ(read.rows[1].ranks, 2);
    EXPECT_EQ(read.rows[2].kind, CommKind::kSend);
    EXPECT_EQ(read.rows[2].ranks, 3);
    EXPECT_EQ(read.rows[2].nodes, 2);
    // What one sends another receives.
    EXPECT_EQ(read.rows[4].kind, CommKind::kRecv);
    EXPECT_EQ(read.rows[4].median_ns, read.rows[2].median_ns);
  }
}

TEST(ReadRows, NcclTestsWithoutMpiAreProcessesOfOneRank) {
  std::string text = kOldText;
  text.replace(text.find("Rank  1"), 7, "Rank  0");
  EXPECT_EQ(message_of(text, "all_gather_perf.log"),
            unreadable("the ranks", "two or more", "1, which sends nothing to another",
                       "all_gather_perf.log"));
}

TEST(ReadRows, NcclTestsBandwidthsTellTheRanks) {
  const std::string text = R"(# Collective test starting: alltoall_perf
#  size  count  type  redop  root  time  algbw  busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min i_max i_p99 i_cv%
  64 16 float none -1 9.00 0.01 0.01 0 8 9 9 1.0 9.1 0.01 0.01 N/A 8 9 9 1.0
  1073741824 16777216 float none -1 5400 198.84 173.99 0 5 6 6 1.0 5400 198.84 173.99 N/A 5 6 6 1.0
)";
  const ReadCollectives read = parse_collective_rows(text, "x.log");
  ASSERT_EQ(read.rows.size(), 2U);
  EXPECT_EQ(read.rows[0].ranks, 8);
  EXPECT_EQ(read.rows[0].median_ns, 9000);
}

TEST(ReadRows, NotANumberIsRefused) {
  std::string table = kText;
  table.replace(table.find("12.34"), 5, "  nan");
  EXPECT_EQ(message_of(table), told("the collective rows cannot be read", "file: rows.txt",
                                    "field: line 16, time", "expected: a finite time above 0",
                                    "got: nan ns", "hint: measure again, or remove the line"));
}

TEST(ReadRows, BusBandwidthTellsTheRanks) {
  for (int n = 2; n <= 64; ++n) {
    EXPECT_EQ(ranks_of_bus_factor(CommKind::kAllReduce, 2.0 * (n - 1) / n), n);
  }
  EXPECT_FALSE(ranks_of_bus_factor(CommKind::kAllReduce, 2));
  EXPECT_FALSE(ranks_of_bus_factor(CommKind::kAllReduce, 0.2));
}

TEST(ReadRows, OurOwnComeBackAsWritten) {
  const std::vector<CollectiveRow> rows = {
      {CommKind::kAllToAllV, 12, 3, 1, false, DType::kInt64, 1234.5, 6.25, 20, "here"},
      {CommKind::kBarrier, 0, 8, 2, true, DType::kFloat32, 99, 0, 1, "there"}};
  const std::string text = to_json_lines(rows);
  EXPECT_EQ(parse_collective_rows(text, "rows.jsonl").rows, rows);
  EXPECT_EQ(
      text,
      "{\"format\":\"understudy-collective-rows\",\"version\":1,\"tool_version\":\"0.1.0\"}\n"
      "{\"kind\":\"all_to_allv\",\"bytes\":12,\"ranks\":3,\"nodes\":1,\"on_device\":false,"
      "\"dtype\":\"int64\",\"median_ns\":1234.5,\"spread_ns\":6.25,\"n\":20,\"source\":\"here\"}\n"
      "{\"kind\":\"barrier\",\"bytes\":0,\"ranks\":8,\"nodes\":2,\"on_device\":true,"
      "\"dtype\":\"float32\",\"median_ns\":99.0,\"source\":\"there\"}\n");
}

TEST(ReadRows, OurOwnKnowTheirCardAndNetwork) {
  const CollectiveRow row{CommKind::kAllReduce, 8,   16, 2, true, DType::kFloat16, 99, 0, 1, "x",
                          "NVIDIA B200",        "IB"};
  EXPECT_EQ(parse_collective_rows(to_json_lines(std::vector{row}), "rows.jsonl").rows[0], row);
}

TEST(ReadRows, OurOwnCanLackTheirTimesIfNoneAreNeeded) {
  const std::string text =
      "{\"format\":\"understudy-collective-rows\",\"version\":1,\"tool_version\":\"x\"}\n"
      "{\"kind\":\"allreduce\",\"bytes\":8,\"ranks\":4,\"nodes\":1,\"on_device\":true,"
      "\"dtype\":\"float16\"}\n";
  const ReadCollectives read = parse_collective_rows(text, "rows.jsonl", false);
  ASSERT_EQ(read.rows.size(), 1U);
  EXPECT_EQ(read.rows[0].median_ns, 0);
  EXPECT_EQ(message_of(text), told("the collective rows cannot be read", "file: rows.txt, line 2",
                                   "field: time", "expected: a finite time above 0", "got: 0 ns",
                                   "hint: measure again, or remove the line"));
}

TEST(ReadRows, OurOwnAreRefusedByLineAndField) {
  std::string text = et_schema::to_json_lines(
      {{CommKind::kBarrier, 0, 2, 4, true, DType::kFloat32, 99, 0, 1, ""}});
  EXPECT_EQ(message_of(text), told("the collective rows cannot be read", "file: rows.txt, line 2",
                                   "field: nodes", "expected: 1 to as many as ranks", "got: 4",
                                   "hint: measure again, or remove the line"));
  text.replace(text.find("\"version\":1"), 11, "\"version\":2");
  EXPECT_EQ(message_of(text),
            told("the file of collective rows is of another version than this program reads",
                 "file: rows.txt, line 1", "field: version",
                 "expected: version 1, which Understudy 0.1.0 reads",
                 "got: version 2, written by Understudy 0.1.0",
                 "hint: use that version of Understudy, or make the file of "
                 "collective rows again with this one"));
}

TEST(ReadRows, OtherFilesAreRefused) {
  EXPECT_FALSE(is_collective_rows("{\"format\":\"understudy-report\"}"));
  EXPECT_TRUE(is_collective_rows(kText));
  EXPECT_EQ(message_of("hello"),
            unreadable("", "collective rows, nccl-tests' text (no -J), or a table of sizes",
                       "another file"));
}

}  // namespace
}  // namespace understudy::predictor
