#include <gtest/gtest.h>

#include "match_samples.h"
#include "testing/error_text.h"

namespace understudy::matching {
namespace {

using et_schema::CommKind;

RankComms sample() {
  RankComms comms;
  comms.rank = 3;
  comms.calls.push_back(record(CommKind::kAllReduce, 0, {5, 6}, {5, 6}));
  CommRecord splits = record(CommKind::kAllToAllV, 2, {10}, {0}, -1);
  splits.node = 0xffffffffffffffffU;
  splits.in_splits = {4, 6};
  splits.out_splits = {0, 0};
  splits.joined_before = {0};
  splits.reduce_op = "avg";
  comms.calls.push_back(splits);
  comms.calls.push_back(CommRecord{});
  return comms;
}

TEST(Text, ThereAndBack) {
  EXPECT_EQ(parse_rank_comms(to_text(sample())), sample());
  EXPECT_EQ(parse_rank_comms(to_text(RankComms{})), RankComms{});
}

TEST(Text, CutOffAnywhereIsRefused) {
  const std::string text = to_text(sample());
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    const std::string cut = text.substr(0, length);
    EXPECT_THROW((void)parse_rank_comms(cut), et_schema::Error) << cut;
  }
}

TEST(Text, MessageOfWhatCannotBeRead) {
  std::string text = to_text(sample());
  text.replace(text.find("all_to_allv"), 11, "all_to_allw");
  EXPECT_EQ(testing_errors::error_of([&] { return parse_rank_comms(text); }),
            et_schema::to_text(
                et_schema::bad_input("another rank's list of communications cannot be read",
                                     {.file = "",
                                      .field = "calls[1].kind",
                                      .expected = "the name of a collective",
                                      .got = "all_to_allw",
                                      .hint = "all ranks must run the same version"})));
}

}  // namespace
}  // namespace understudy::matching
