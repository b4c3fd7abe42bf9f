// docs/formats.md says of Chakra what the code says.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "generator/chakra/chakra_job.h"

namespace understudy::generator {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

/// The rows below a table's header line.
Rows table(const std::string& header) {
  std::ifstream file(std::filesystem::path(UNDERSTUDY_DOCS) / "formats.md");
  std::string line;
  while (std::getline(file, line) && line != header) {
  }
  std::getline(file, line);  // the rule below the header
  Rows rows;
  while (std::getline(file, line) && line.starts_with("| ")) {
    std::erase(line, '`');
    const std::size_t second = line.find(" | ", 2);
    rows.emplace_back(line.substr(2, second - 2),
                      line.substr(second + 3, line.size() - second - 5));
  }
  return rows;
}

TEST(ChakraDoc, ListsWhatIsLeftOut) {
  Rows expected;
  for (std::size_t i = 0; i < kChakraLosses; ++i) {
    const ChakraLossInfo& loss = info(static_cast<ChakraLoss>(i));
    expected.emplace_back(loss.name, loss.meaning);
  }
  EXPECT_EQ(table("| left out | meaning |"), expected);
}

}  // namespace
}  // namespace understudy::generator
