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
    EXPECT_EQ(loss_from_string(info(loss).name), loss);
    EXPECT_TRUE(info(loss).meaning.ends_with('.')) << info(loss).meaning;
  }
}

TEST(Losses, TableIsInTheOrderOfTheEnum) {
  EXPECT_EQ(info(Loss::kRepairedJson).name, "repaired_json");
  EXPECT_EQ(info(Loss::kUnknownDtypes).name, "unknown_dtypes");
  EXPECT_EQ(info(Loss::kMissingNodes).name, "missing_nodes");
  EXPECT_EQ(info(Loss::kReusedAddresses).name, "reused_addresses");
  EXPECT_EQ(info(Loss::kFilteredOperators).name, "filtered_operators");
}

TEST(Losses, AddsUpAndListsWhatIsNotZero) {
  Losses a;
  a.add(Loss::kMissingNodes);
  Losses b;
  b.add(Loss::kMissingNodes, 2);
  b.add(Loss::kAliases);
  a += b;
  const std::map<std::string, std::uint64_t> expected = {{"aliases", 1}, {"missing_nodes", 3}};
  EXPECT_EQ(a.nonzero(), expected);
  EXPECT_NE(a, b);
}

TEST(Losses, AnUnknownNameIsNone) {
  EXPECT_FALSE(loss_from_string("no_such_loss"));
}

TEST(Losses, HaveASeverity) {
  EXPECT_EQ(to_string(info(Loss::kAliases).severity), "info");
  EXPECT_EQ(to_string(info(Loss::kMissingRanks).severity), "loss");
  EXPECT_EQ(to_string(info(Loss::kTruncatedFiles).severity), "error");
}

}  // namespace
}  // namespace understudy::et_schema
