// What a capture.json beside a trace says of where the trace is from.

#include <gtest/gtest.h>

#include "et_schema/formats/pytorch_et/trace_files.h"
#include "reader_texts.h"

namespace understudy::et_schema {
namespace {

using namespace testing_texts;  // NOLINT(google-build-using-namespace)

std::string description(const std::string& id, const std::string& trace_of_rank_1 = "null") {
  return capture_description({captured_rank(0, R"(["rank-0.et.json"])"),
                              captured_rank(1, R"(["rank-1.et.json"])", "[]", trace_of_rank_1)},
                             id);
}

TEST(CaptureOrigin, OfTheTracesOfAFolder) {
  const TemporaryFolder folder;
  folder.write("rank-0.et.json", trace(roots()));
  folder.write("rank-1.et.json", trace(roots()));
  folder.write("capture.json", description("ab"));
  const TraceSet set = read_trace_set({folder.path()});
  for (int rank = 0; rank < 2; ++rank) {
    const auto& capture = set.traces.at(static_cast<std::size_t>(rank)).capture;
    ASSERT_TRUE(capture);
    EXPECT_EQ(capture->file, folder.path() + "/capture.json");
    EXPECT_EQ(capture->id, "ab");
    EXPECT_EQ(capture->world_size, 2);
    EXPECT_EQ(capture->rank, rank);
    EXPECT_TRUE(capture->is_same_file);
  }
}

TEST(CaptureOrigin, OfATraceThatIsNamedAlone) {
  const TemporaryFolder folder;
  const std::string one = folder.write("rank-1.et.json", trace(roots()));
  folder.write("capture.json", description("ab"));
  const TraceSet set = read_trace_set({one});
  ASSERT_TRUE(set.traces[0].capture);
  EXPECT_EQ(set.traces[0].capture->rank, 1);
  EXPECT_EQ(set.traces[0].rank, 1);
}

TEST(CaptureOrigin, OfAnotherTraceOfTheSameName) {
  const TemporaryFolder folder;
  folder.write("rank-0.et.json", trace(roots()));
  folder.write("rank-1.et.json", trace(roots()));
  folder.write("rank-2.et.json", trace(roots()));
  folder.write("capture.json", description("ab", R"({"pid":987654321,"start_ts":3})"));
  const TraceSet set = read_trace_set({folder.path()});
  EXPECT_TRUE(set.traces[0].capture->is_same_file);
  EXPECT_FALSE(set.traces[1].capture->is_same_file);
  EXPECT_FALSE(set.traces[2].capture->rank) << "no file of the capture";
}

TEST(CaptureOrigin, OfRanksOnOtherHosts) {
  const TemporaryFolder folder;
  folder.write("a/rank-0.et.json", trace(roots()));
  folder.write("b/rank-1.et.json", trace(roots()));
  folder.write("a/capture.json", description("ab"));
  const TraceSet set = read_trace_set({folder.path() + "/a", folder.path() + "/b"});
  ASSERT_TRUE(set.traces[1].capture);
  EXPECT_EQ(set.traces[1].capture->rank, 1);
  EXPECT_EQ(set.traces[1].capture->file, folder.path() + "/a/capture.json");
}

TEST(CaptureOrigin, OneThatCannotBeReadSaysNothing) {
  const TemporaryFolder folder;
  folder.write("rank-0.et.json", trace(roots()));
  folder.write("capture.json", R"({"format":"understudy-capture","version":1})");
  EXPECT_FALSE(read_trace_set({folder.path()}).traces[0].capture);
}

TEST(RankGaps, AreRefusedUnlessAllowed) {
  const TemporaryFolder folder;
  folder.write("rank-1.json", trace(roots()));
  folder.write("rank-3.json", trace(roots()));
  EXPECT_NE(error_of([&] {
              static_cast<void>(read_trace_set({folder.path()}));
            }).find("rank 0 is missing"),
            std::string::npos);
  const TraceSet set = read_trace_set({folder.path()}, {}, RankGaps::kAllowed);
  EXPECT_EQ(set.traces[0].rank, 1);
  EXPECT_EQ(set.traces[1].rank, 3);
}

}  // namespace
}  // namespace understudy::et_schema
