#include <gtest/gtest.h>

#include "et_schema/formats/pytorch_et/trace_files.h"
#include "reader_texts.h"

namespace understudy::et_schema {
namespace {

using testing_texts::error_of;
using Names = std::vector<std::string>;
using Ranks = std::vector<int>;

TEST(RanksFromNames, TheUsualNames) {
  EXPECT_EQ(ranks_from_names({"rank-0.json", "rank-1.json"}), (Ranks{0, 1}));
  EXPECT_EQ(ranks_from_names({"d/dlrm_eg_1.json", "d/dlrm_eg_0.json"}), (Ranks{1, 0}));
  EXPECT_EQ(ranks_from_names({"trace.10.et.json.gz", "trace.9.et.json.gz"}), (Ranks{10, 9}));
  EXPECT_EQ(ranks_from_names({"worker0_a.json", "worker1_b.json"}), (Ranks{0, 1}));
  EXPECT_EQ(ranks_from_names({"et_RANK_3.json", "et_rank2.json"}), (Ranks{3, 2}));
  EXPECT_EQ(ranks_from_names({"rank-0.et.json.gz", "rank-1.et.json.gz"}), (Ranks{0, 1}));
}

TEST(RanksFromNames, OneFileAlone) {
  EXPECT_EQ(ranks_from_names({"resnet_50_v2.json"}), (Ranks{0}));
  EXPECT_EQ(ranks_from_names({"rank-3.json"}), (Ranks{3}));
  EXPECT_EQ(ranks_from_names({}), (Ranks{}));
}

TEST(RanksFromNames, NumbersThatAreTheSameOrTooLargeDoNotMatter) {
  EXPECT_EQ(ranks_from_names({"v2_0_8gpu.json", "v2_1_8gpu.json"}), (Ranks{0, 1}));
  EXPECT_EQ(ranks_from_names({"et_0_1699999991.json", "et_1_1699999997.json"}), (Ranks{0, 1}));
}

TEST(RanksFromNames, OfTwoNumbersTheOneThatCounts) {
  EXPECT_EQ(ranks_from_names({"host12_0.json", "host17_1.json"}), (Ranks{0, 1}));
  EXPECT_EQ(ranks_from_names({"0_of_0.json", "1_of_1.json"}), (Ranks{0, 1}));
}

TEST(RanksFromNames, FoldersWhereTheFilesAreCalledTheSame) {
  EXPECT_EQ(ranks_from_names({"run/1/et.json", "run/0/et.json"}), (Ranks{1, 0}));
}

TEST(RanksFromNames, AmbiguityListsTheFiles) {
  EXPECT_EQ(error_of([] {
              static_cast<void>(ranks_from_names({"a.json", "b.json"}));
            }),
            "the ranks cannot be told from the file names\n"
            "  field:    file names\n"
            "  expected: one number that differs, as in rank-0.json, rank-1.json\n"
            "  got:      a.json, b.json\n"
            "  hint:     rename the files of one job to rank-N.json; what is not of one job is "
            "given by itself");
  // Both numbers count from 0 on, in different orders.
  EXPECT_NE(error_of([] {
              static_cast<void>(ranks_from_names({"0_1.json", "1_0.json"}));
            }),
            "no error");
  EXPECT_NE(error_of([] {
              static_cast<void>(ranks_from_names({"3_5.json", "4_7.json"}));
            }),
            "no error");
}

TEST(RanksFromNames, LongListsAreCut) {
  Names names;
  for (int i = 0; i < 20; ++i) {
    names.push_back(std::string(static_cast<std::size_t>(i) + 1, 'x'));
  }
  EXPECT_NE(error_of([&names] { static_cast<void>(ranks_from_names(names)); }).find(" and 4 more"),
            std::string::npos);
}

}  // namespace
}  // namespace understudy::et_schema
