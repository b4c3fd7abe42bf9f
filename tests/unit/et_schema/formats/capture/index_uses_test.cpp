// The record of index values: read, refused, and found beside its trace.

#include "et_schema/formats/capture/index_uses.h"

#include <gtest/gtest.h>

#include "et_schema/formats/pytorch_et/trace_files.h"
#include "reader_texts.h"

namespace understudy::et_schema {
namespace {

using namespace testing_texts;  // NOLINT(google-build-using-namespace)

constexpr const char* kRecord =
    R"({"format":"understudy-indices","version":1,"rank":0,"calls":{"aten::embedding":2,"aten::mm":5},)"
    R"("left_out":3,"uses":[{"op":"aten::embedding","call":1,"tensor":1,"sizes":[2,3],)"
    R"("reuse":[[0,4,2,1,1,3],[7,8,1,1]],"run":2,"sorted":true,"later":"unknown keys are skipped"}],)"
    R"("zeros":[{"op":"aten::_foreach_sqrt","call":0,"tensor":2,"sizes":[8,4],"share":0.25}],)"
    R"("sparse":[{"op":"aten::addmm","call":0,"tensor":1,"sizes":[9,7],"layout":"csr","elements":3,)"
    R"("coalesced":true,"indices":[{"reuse":[[0,4,2,1,1,1]],"sorted":true},{"reuse":[[5,6,3,1]]}]}]})";

std::string with(const std::string& old, const std::string& now) {
  std::string text = kRecord;
  return text.replace(text.find(old), old.size(), now);
}

std::string refused(const std::string& text) {
  return error_of([&text] { static_cast<void>(parse_index_uses(text, "rank-0.indices.json")); });
}

std::string damaged(const std::string& field, const std::string& expected, const std::string& got) {
  return "the record of index values cannot be read\n"
         "  file:     rank-0.indices.json\n"
         "  field:    " +
         field + "\n  expected: " + expected + "\n  got:      " + got +
         "\n  hint:     capture again with scripts/capture, or take the file away: index values "
         "are "
         "then drawn by rule";
}

TEST(IndexUses, AreRead) {
  IndexUses expected;
  expected.calls = {{"aten::embedding", 2}, {"aten::mm", 5}};
  expected.left_out = 3;
  expected.uses = {
      {"aten::embedding", 1, 1, {2, 3}, {{{0, 4, {{2, 1}, {1, 3}}}, {7, 8, {{1, 1}}}}, 2, true}}};
  expected.zeros = {{"aten::_foreach_sqrt", 0, 2, {8, 4}, 0.25}};
  expected.sparse = {{{"aten::addmm", 0, 1, {9, 7}},
                      SparseLayout::kCsr,
                      3,
                      true,
                      {{{{0, 4, {{2, 1}, {1, 1}}}}, 1, true}, {{{5, 6, {{3, 1}}}}, 1, false}}}};
  EXPECT_EQ(parse_index_uses(kRecord, "x"), expected);
  EXPECT_EQ(draw_count(expected.uses[0].reuse), 6);
  EXPECT_EQ(distinct_count(expected.uses[0].reuse), 5);
}

TEST(IndexUsesRefusal, WhatIsNoRecord) {
  EXPECT_EQ(refused("[1"),
            "the record of index values cannot be read\n"
            "  file:     rank-0.indices.json\n"
            "  expected: JSON\n"
            "  got:      no JSON from byte 3\n"
            "  hint:     capture again with scripts/capture, or take the file away: index values "
            "are then drawn by rule");
  EXPECT_EQ(refused(with("\"uses\"", "\"usage\"")), damaged("uses", "this key", "none"));
  EXPECT_EQ(refused(with("[0,4,2,1,1,3]", "[0,4,2]")),
            damaged("uses[0].reuse[0]", "a list of [low, high, times, numbers, …]", "3 numbers"));
  EXPECT_EQ(refused(with("[0,4,2,1,1,3]", "[0,3,2,1,1,3]")),
            damaged("uses[0].reuse", "at most 3 numbers in [0,3)", "4"));
  EXPECT_EQ(refused(with("\"run\":2", "\"run\":0")), damaged("uses[0].run", "at least 1", "0"));
  EXPECT_EQ(refused(with("0.25", "1.5")),
            damaged("zeros[0].share", "a number above 0, at most 1", "1.5"));
  EXPECT_EQ(refused(with("\"csr\"", "\"bsr\"")),
            damaged("sparse[0].layout", "coo, csr or csc", "bsr"));
  EXPECT_EQ(refused(with("\"elements\":3", "\"elements\":0")),
            damaged("sparse[0].elements", "at least 1", "0"));
  EXPECT_EQ(refused(with("\"sizes\":[9,7]", "\"sizes\":[9]")),
            damaged("sparse[0].indices", "1 to 1 dimensions", "2"));
  EXPECT_EQ(refused(with("[5,6,3,1]", "[6,6,3,1]")),
            damaged("sparse[0].indices[1].reuse", "bins of a range [low, high) that is not empty",
                    "[6,6)"));
}

TEST(IndexUsesRefusal, AnotherVersion) {
  const std::string text = refused(with("\"version\":1", "\"version\":2"));
  EXPECT_NE(text.find("the record of index values is of another version than this program reads"),
            std::string::npos)
      << text;
}

TEST(IndexUses, AreFoundBesideTheirTrace) {
  const TemporaryFolder folder;
  const std::string trace_text = trace(roots());
  const std::string path =
      folder.write("rank-0.et.json.gz", pack(ArchiveKind::kGzip, {{"x", trace_text}}));
  folder.write("rank-1.et.json", trace_text);
  folder.write("rank-1.indices.json", kRecord);
  EXPECT_TRUE(read_traces({path})[0].index_uses.uses.empty());
  folder.write("rank-0.indices.json.gz", pack(ArchiveKind::kGzip, {{"x", kRecord}}));
  EXPECT_EQ(read_traces({path})[0].index_uses.uses.size(), 1U);
  const TraceSet set = read_trace_set({path.substr(0, path.rfind('/'))});
  ASSERT_EQ(set.traces.size(), 2U);
  EXPECT_EQ(set.traces[0].index_uses.uses.size(), 1U);
  EXPECT_EQ(set.traces[1].index_uses.uses.size(), 1U);
  EXPECT_TRUE(set.others.empty());
}

}  // namespace
}  // namespace understudy::et_schema
