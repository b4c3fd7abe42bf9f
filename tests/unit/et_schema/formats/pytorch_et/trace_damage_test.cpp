#include <gtest/gtest.h>

#include <ostream>

#include "et_schema/base/control_characters.h"
#include "reader_texts.h"

namespace understudy::et_schema {
namespace {

using namespace testing_texts;  // NOLINT(google-build-using-namespace)

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// Two named nodes below the roots, so that damage in one can spoil the next.
std::string two_nodes(const std::string& first, const std::string& second) {
  return trace({node({.id = 3, .parent = 2, .name = first}),
                node({.id = 4, .parent = 2, .name = second}), roots()[0], roots()[1]});
}

struct NameCase {
  const char* what;
  std::string raw;  ///< as it stands in the file, and as the program spelled it
};

void PrintTo(const NameCase& name, std::ostream* stream) {
  *stream << name.what;
}

class RawName : public testing::TestWithParam<NameCase> {};

TEST_P(RawName, IsReadAsTheProgramSpelledIt) {
  const Trace trace = parse(two_nodes(GetParam().raw, "after"));
  ASSERT_EQ(trace.nodes.size(), 4U);
  EXPECT_EQ(trace.nodes[2].name, escape_control_characters(GetParam().raw));
  EXPECT_EQ(trace.nodes[3].name, "after");
  EXPECT_EQ(trace.losses[Loss::kRepairedJson], 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Damage, RawName,
    testing::Values(NameCase{"two_quotes", "a \"quoted\" name"}, NameCase{"one_quote", "5\" disk"},
                    NameCase{"only_a_quote", "\""}, NameCase{"newline", "line\nline"},
                    NameCase{"tab", "a\tb"}, NameCase{"backslash", "C:\\users\\x"},
                    NameCase{"backslash_at_end", "dir\\"},
                    NameCase{"json", R"({"a": [1, "}"], "b": 2})"},
                    NameCase{"looks_like_a_list", R"(x", "y)"},
                    NameCase{"all_of_it", "\"\\\n\"{[\""}),
    [](const testing::TestParamInfo<NameCase>& given) { return given.param.what; });

TEST(Damage, NameThatIsEscapedRightIsLeftAlone) {
  const Trace trace = parse(two_nodes(R"(a \"b\" \\ \n \u00e9)", "x\"y"));
  EXPECT_EQ(trace.nodes[2].name, "a \"b\" \\ \\u000a \u00e9");
  EXPECT_EQ(trace.nodes[3].name, "x\"y");
  EXPECT_EQ(trace.losses[Loss::kRepairedJson], 1U);
}

TEST(Damage, ControlCharactersOfNamesAreEscapedAndCounted) {
  const Trace trace = parse(trace_of({.id = 3, .parent = 2, .name = R"(a\u001b[31mb\u202ec)"}));
  EXPECT_EQ(trace.nodes[2].name, R"(a\u001b[31mb\u202ec)");
  EXPECT_EQ(trace.losses[Loss::kEscapedNames], 1U);
  EXPECT_EQ(trace.losses[Loss::kRepairedJson], 0U);
  const Trace groups = parse(trace_of(
      {.id = 3,
       .parent = 2,
       .name = "## process_group:init ##",
       .inputs = {R"(["[{\"pg_name\": \"a\\u009bb\", \"pg_desc\": \"d\\n\", \"ranks\": [0]}]"])",
                  "[[]]", R"(["String"])"}}));
  ASSERT_EQ(groups.process_groups.size(), 1U);
  EXPECT_EQ(groups.process_groups[0].name, R"(a\u009bb)");
  EXPECT_EQ(groups.process_groups[0].description, R"(d\u000a)");
  EXPECT_EQ(groups.losses[Loss::kEscapedNames], 2U);
}

TEST(Damage, BytesThatAreNoTextAreReplaced) {
  const Trace trace = parse(two_nodes("a\xff", "after"));
  EXPECT_EQ(trace.nodes[2].name, "a\xef\xbf\xbd");
  EXPECT_EQ(trace.losses[Loss::kRepairedJson], 1U);
}

TEST(Damage, NameOfTheFlatLayout) {
  const std::string text =
      R"({"schema": "1.0.1", "nodes": [{"name": "a "b", "id": 2, "parent": 1, "tid": 1,)"
      R"( "inputs": [], "input_shapes": [], "input_types": []}, {"name": "r", "id": 1, "parent": 1}]})";
  const Trace trace = parse(text);
  EXPECT_EQ(trace.nodes[1].name, "a \"b");
  EXPECT_EQ(trace.losses[Loss::kRepairedJson], 1U);
}

TEST(Damage, EveryNodeWithABadNameStillTakesLinearTime) {
  std::vector<std::string> nodes = roots();
  constexpr int kNodes = 20000;
  for (int i = 0; i < kNodes; ++i) {
    nodes.push_back(node({.id = 3 + i, .parent = 2, .name = "odd \" name"}));
  }
  const Trace trace = parse(testing_texts::trace(nodes));
  EXPECT_EQ(trace.losses[Loss::kRepairedJson], static_cast<std::uint64_t>(kNodes));
}

TEST(Damage, MissingCommaBetweenNodes) {
  const Trace trace = parse(replaced(two_nodes("a", "b"), "},\n{", "}\n{"));
  EXPECT_EQ(trace.nodes.size(), 4U);
  EXPECT_EQ(trace.losses[Loss::kRepairedJson], 1U);
}

TEST(Damage, TrailingAndDoubledCommas) {
  std::string text = replaced(two_nodes("a", "b"), "},\n{", "},,\n{");
  text = replaced(text, R"(], "finish_ts")", R"(,], "finish_ts")");
  text = replaced(text, R"("finish_ts": 2})", R"("finish_ts": 2,})");
  const Trace trace = parse(text);
  EXPECT_EQ(trace.nodes.size(), 4U);
  EXPECT_EQ(trace.finish_ts, 2);
  EXPECT_EQ(trace.losses[Loss::kRepairedJson], 3U);
}

TEST(Damage, CommasInsideOfANode) {
  std::string text = two_nodes("a", "b");
  text = replaced(text, R"("ctrl_deps": 2, )", R"("ctrl_deps": 2 )");
  text = replaced(text, R"("types": []})", R"("types": [],})");
  const Trace trace = parse(text);
  EXPECT_EQ(trace.nodes.size(), 4U);
  EXPECT_EQ(trace.losses[Loss::kRepairedJson], 2U);
}

TEST(Damage, FileCutInANodeIsReadUpToIt) {
  const std::string text = two_nodes("a", "b");
  const std::size_t second = text.find(R"({"id": 4)");
  for (const std::size_t more : {1U, 8U, 30U, 100U}) {
    const Trace trace = parse(text.substr(0, second + more));
    ASSERT_EQ(trace.nodes.size(), 3U) << more;
    EXPECT_EQ(trace.nodes[2].id, 3U);
    EXPECT_EQ(trace.losses[Loss::kTruncatedFiles], 1U);
    EXPECT_EQ(trace.losses[Loss::kMissingNodes], 1U);
  }
}

TEST(Damage, FileCutBetweenNodesLosesNone) {
  const std::string text = two_nodes("a", "b");
  for (const std::size_t end : {text.find(R"({"id": 4)"), text.find(R"(], "finish_ts")"),
                                text.find("finish_ts"), text.size() - 1}) {
    const Trace trace = parse(text.substr(0, end));
    EXPECT_EQ(trace.losses[Loss::kTruncatedFiles], 1U) << end;
  }
}

TEST(Damage, EveryCutGivesATraceOrAnError) {
  const std::string text = two_nodes("a", "b");
  for (std::size_t end = 0; end < text.size(); ++end) {
    const std::string error = parse_error(text.substr(0, end));
    const bool is_early = end <= text.find(R"({"id": 4)") - 3;
    EXPECT_EQ(error == "no error", !is_early) << end << ": " << error;
  }
}

}  // namespace
}  // namespace understudy::et_schema
