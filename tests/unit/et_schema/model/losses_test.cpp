#include "et_schema/model/losses.h"

#include <gtest/gtest.h>

#include <set>

namespace understudy::et_schema {
namespace {

TEST(Losses, NamesAreDistinctAndFoundAgain) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kLossCount; ++i) {
    const auto loss = static_cast<Loss>(i);
    EXPECT_TRUE(names.insert(info(loss).name).second) << info(loss).name;
    Losses losses;
    EXPECT_TRUE(losses.add_by_name(info(loss).name, 3));
    EXPECT_EQ(losses[loss], 3U);
    EXPECT_TRUE(info(loss).meaning.ends_with('.')) << info(loss).meaning;
  }
}

TEST(Losses, TableIsInTheOrderOfTheEnum) {
  EXPECT_EQ(info(Loss::kRepairedCommas).name, "repaired_commas");
  EXPECT_EQ(info(Loss::kUnknownDtypes).name, "unknown_dtypes");
  EXPECT_EQ(info(Loss::kCutProcessGroups).name, "cut_process_groups");
  EXPECT_EQ(info(Loss::kReusedAddresses).name, "reused_addresses");
  EXPECT_EQ(info(Loss::kFilteredOperators).name, "filtered_operators");
}

TEST(Losses, AddsUpAndListsWhatIsNotZero) {
  Losses a;
  a.add(Loss::kOrphanNodes);
  Losses b;
  b.add(Loss::kOrphanNodes, 2);
  b.add(Loss::kAliases);
  a += b;
  const std::map<std::string, std::uint64_t> expected = {{"aliases", 1}, {"orphan_nodes", 3}};
  EXPECT_EQ(a.nonzero(), expected);
  EXPECT_NE(a, b);
}

TEST(Losses, AnUnknownNameIsRefused) {
  Losses losses;
  EXPECT_FALSE(losses.add_by_name("no_such_loss", 1));
  EXPECT_TRUE(losses.nonzero().empty());
}

}  // namespace
}  // namespace understudy::et_schema
