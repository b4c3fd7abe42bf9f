// docs/formats.md says what the code says: its tables are compared with those of the sources.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "et_schema/model/comm_traits.h"
#include "et_schema/model/losses.h"
#include "program_names.h"
#include "testing/doc_table.h"

namespace understudy::et_schema {
namespace {

using testing_docs::Rows;
using testing_docs::table;

TEST(FormatsDoc, ListsTheLossCounters) {
  Rows expected;
  for (std::size_t i = 0; i < kLossCount; ++i) {
    const LossInfo& loss = info(static_cast<Loss>(i));
    expected.emplace_back(loss.name,
                          fmt::format("{} | {}", loss.meaning, to_string(loss.severity)));
  }
  EXPECT_EQ(table("| counter | meaning | severity |"), expected);
}

TEST(FormatsDoc, MapsC10dNamesAsTheReaderDoes) {
  const Rows rows = table("| c10d | here |");
  EXPECT_GE(rows.size(), 28U);
  for (const auto& [name, recorded] : rows) {
    const auto of_groups = find_c10d_name("c10d::" + name + "_");
    const auto known = of_groups ? of_groups : find_c10d_name("_c10d_functional::" + name);
    ASSERT_TRUE(known) << name;
    EXPECT_EQ(known->name->recorded, recorded) << name;
    EXPECT_TRUE(kind_of_recorded_name(known->name->recorded)) << name;
  }
}

TEST(FormatsDoc, ListsTheValueRules) {
  Rows rows = table("| `rule` | content |");
  ASSERT_EQ(rows.size(), std::variant_size_v<ValueRule::Kind>);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::optional<ValueRule::Kind> kind = value_rule_kind_from_string(rows[i].first);
    ASSERT_TRUE(kind) << rows[i].first;
    EXPECT_EQ(kind->index(), i) << rows[i].first;
    EXPECT_EQ(to_string(*kind), rows[i].first);
  }
}

TEST(FormatsDoc, ListsTheKindsOfInstructions) {
  std::string names;
  for (const auto& [name, meaning] : table("| kind | what it is |")) {
    names += (names.empty() ? "" : ", ") + name;
  }
  std::string expected;
  for (int i = 0; i <= static_cast<int>(InstructionKind::kMarker); ++i) {
    expected += expected.empty() ? "" : ", ";
    expected += to_string(static_cast<InstructionKind>(i));
  }
  EXPECT_EQ(names, expected);
}

}  // namespace
}  // namespace understudy::et_schema
