#include "predictor/embedding/rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

std::vector<EmbeddingRow> two_rows() {
  ReuseShares shares{};
  shares[0] = 0.75;
  shares[3] = 0.25;
  const EmbeddingTable plain{.rows = 100, .dim = 8, .pooling = 2.5};
  const EmbeddingTable half{.rows = 7, .dim = 4, .pooling = 1, .item_bytes = 2, .reuse = shares};
  return {{{{plain, half}, 64, Direction::kForward}, 1500.5, 10, 7, "here"},
          {{{plain}, 1, Direction::kBackward}, 1, 0, 1, "there"}};
}

std::string message_of(const std::string& text) {
  return error_of([&] { return parse_embedding_rows(text, "rows.jsonl"); }) + "\n";
}

TEST(EmbeddingRows, ComeBackAsWritten) {
  EXPECT_EQ(parse_embedding_rows(to_json_lines(two_rows()), "rows.jsonl"), two_rows());
}

TEST(EmbeddingRows, AreRefusedByLineAndField) {
  std::string text = to_json_lines(two_rows());
  text.replace(text.find("\"median_ns\":1.0"), 15, "\"median_ns\":0.0");
  EXPECT_EQ(message_of(text),
            "the embedding rows cannot be read\n"
            "  file:     rows.jsonl, line 3\n"
            "  field:    median_ns\n"
            "  expected: nanoseconds, above 0\n"
            "  got:      0.0\n"
            "  hint:     measure again, or remove the line\n");
  EXPECT_EQ(message_of(""),
            "the embedding rows cannot be read\n"
            "  file:     rows.jsonl\n"
            "  expected: a header line and a row or more\n"
            "  got:      an empty file\n"
            "  hint:     measure again, or remove the line\n");
}

}  // namespace
}  // namespace understudy::predictor
