// docs/formats.md says what the code says: its tables are compared with those of the sources.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/model/comm_traits.h"
#include "et_schema/model/losses.h"
#include "program_names.h"

namespace understudy::et_schema {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string without_backticks(std::string text) {
  std::erase(text, '`');
  return text;
}

enum class Second { kCell, kRest };

// The rows below the table's header line, as pairs of the first cell and the second, or all others.
Rows table(const std::string& header, Second as = Second::kCell) {
  std::ifstream file(std::filesystem::path(UNDERSTUDY_DOCS) / "formats.md");
  std::string line;
  while (std::getline(file, line) && line != header) {
  }
  std::getline(file, line);  // the rule below the header
  Rows rows;
  while (std::getline(file, line) && line.starts_with("| ")) {
    const std::size_t second = line.find(" | ", 2);
    const std::size_t next = as == Second::kCell ? line.find(" | ", second + 3) : line.npos;
    const std::size_t end = std::min(next, line.size() - 2);
    rows.emplace_back(without_backticks(line.substr(2, second - 2)),
                      line.substr(second + 3, end - second - 3));
  }
  return rows;
}

TEST(FormatsDoc, ListsTheLossCounters) {
  Rows expected;
  for (std::size_t i = 0; i < kLossCount; ++i) {
    const LossInfo& loss = info(static_cast<Loss>(i));
    expected.emplace_back(loss.name,
                          fmt::format("{} | {}", loss.meaning, to_string(loss.severity)));
  }
  EXPECT_EQ(table("| counter | meaning | severity |", Second::kRest), expected);
}

TEST(FormatsDoc, MapsC10dNamesAsTheReaderDoes) {
  const Rows rows = table("| c10d | here |");
  EXPECT_GE(rows.size(), 28U);
  for (const auto& [name, recorded] : rows) {
    const auto of_groups = find_c10d_name("c10d::" + name + "_");
    const auto known = of_groups ? of_groups : find_c10d_name("_c10d_functional::" + name);
    ASSERT_TRUE(known) << name;
    EXPECT_EQ(known->name->recorded, without_backticks(recorded)) << name;
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
