#include "et_schema/formats/json_trace/json_pull.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace understudy::et_schema {
namespace {

template <typename T>
std::optional<T> taken(std::string_view json) {
  JsonPull pull(json);
  T value{};
  return pull.take(value) ? std::optional(value) : std::nullopt;
}

TEST(JsonPull, ListsAreWalkedSideBySide) {
  const std::string json = R"({"a": [1, [2, 3], 4], "b" : ["x","y\n",""] , "c":{}})";
  std::vector<JsonPull> lists;
  std::string_view key;
  std::string keys;
  JsonPull object(json);
  for (bool first = true; object.next_member(first, key); object.skip()) {
    keys += key;
    lists.push_back(object);
  }
  EXPECT_EQ(keys, "abc");
  std::string together;
  std::string unescaped;
  std::string_view text;
  bool first_a = true;
  bool first_b = true;
  while (lists[0].next_item(first_a)) {
    ASSERT_TRUE(lists[1].next_item(first_b));
    together += lists[0].skip();
    ASSERT_TRUE(lists[1].take(text, unescaped));
    together.append("=").append(text).append(";");
  }
  EXPECT_FALSE(lists[1].next_item(first_b));
  EXPECT_EQ(together, "1=x;[2, 3]=y\n;4=;");
  EXPECT_EQ(object.position_in(json), json.size());
}

TEST(JsonPull, IntegersToTheirLimits) {
  EXPECT_EQ(taken<std::int64_t>("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(taken<std::int64_t>("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(taken<std::uint64_t>("18446744073709551615"),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(taken<std::int64_t>("-0"), 0);
  for (const char* json : {"9223372036854775808", "-9223372036854775809", "1.0", "1e3", "01", "-",
                           "", "true", "\"1\"", "18446744073709551616"}) {
    EXPECT_EQ(taken<std::int64_t>(json), std::nullopt) << json;
  }
  EXPECT_EQ(taken<std::uint64_t>("18446744073709551616"), std::nullopt);
  EXPECT_EQ(taken<std::uint64_t>("-1"), std::nullopt);
}

TEST(JsonPull, NumbersAndTruth) {
  EXPECT_EQ(taken<double>("-2.5e-3"), -2.5e-3);
  EXPECT_EQ(taken<double>("7"), 7.0);
  for (const char* json : {"1.5x", "nan", "+1", "1e999", "\"1\""}) {
    EXPECT_EQ(taken<double>(json), std::nullopt) << json;
  }
  EXPECT_EQ(taken<bool>("true"), true);
  EXPECT_EQ(taken<bool>("false]"), false);
  EXPECT_EQ(taken<bool>("falsehood"), std::nullopt);
}

TEST(JsonPull, WhatIsNoJsonIsDamage) {
  const auto pass_all = [](std::string_view json) {
    JsonPull pull(json);
    std::string_view key;
    for (bool first = true; pull.next_member(first, key);) {
      pull.skip();
    }
  };
  for (const char* json :
       {"", "[", "{", R"({"a)", R"({"a" 1})", R"({"a": 1)", R"({"a": 1 "b": 2})", R"({"a": 1,})",
        R"({"a": "b)", R"({"a": "b"c"})", "{\"a\": \"\n\"}", R"({"a": [1})", R"({"a": nul})",
        R"({"a": nullx})", R"({"a": x})", R"({a: 1})", R"({"a": })", R"({"a": "\)"}) {
    EXPECT_THROW(pass_all(json), JsonDamage) << json;
  }
  JsonPull text(R"("\q")");
  std::string_view taken_text;
  std::string unescaped;
  EXPECT_THROW(static_cast<void>(text.take(taken_text, unescaped)), JsonDamage);
}

TEST(JsonPull, DescribesAValueByItsStart) {
  EXPECT_EQ(describe(JsonPull(R"( {"a": [1,  2]} , 3)")), R"({"a":[1,2]})");
  EXPECT_EQ(minified(JsonPull(R"([ "a b" ])")), R"(["a b"])");
}

}  // namespace
}  // namespace understudy::et_schema
