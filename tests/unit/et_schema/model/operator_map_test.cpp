#include "et_schema/facts/operator_map.h"

#include <gtest/gtest.h>

#include <string>

#include "et_schema/base/error.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/op_class.h"

namespace understudy::et_schema {
namespace {

std::string document(const std::string& rows) {
  return R"({"format": "understudy operator map", "version": 1, "rows": [)" + rows + "]}";
}

constexpr const char* kNorm = R"json({
    "operators": ["mine::norm", "his*::norm"],
    "takes": ["Tensor x|input", "Tensor? weight", "float eps"],
    "ignores": ["fast"],
    "does": ["return torch.rms_norm(x, [x.size(-1)], weight, eps)"],
    "like": ["aten::rms_norm", "x", "weight"],
    "schemas": ["(Tensor x, Tensor? weight, float eps, bool fast) -> Tensor"],
    "values": [{"argument": "weight", "is": "scale"}]})json";

OperatorMap map_of(const std::string& rows) {
  OperatorMap map;
  map.add_rows(document(rows), "mine.json");
  return map;
}

TEST(OperatorMap, ARowTakesRecordedArgumentsByName) {
  const OperatorMap map = map_of(kNorm);
  const MapMatch match =
      map.find("hisown::norm.overload(float eps, Tensor($0! -> ) input, bool fast) -> Tensor");
  ASSERT_TRUE(match.call) << match.why_not;
  const std::vector<std::optional<std::size_t>> expected = {1, std::nullopt, 0};
  EXPECT_EQ(match.call->arguments, expected);
  EXPECT_EQ(match.call->like_arguments(), std::vector<std::size_t>{1});
  EXPECT_EQ(match.call->row->by(), "the operator map: aten::rms_norm");
  EXPECT_EQ(map.find_name("mine::norm.out")->facts.arguments.begin()->name, "weight");
  EXPECT_EQ(map.schemas_of("mine::norm").size(), 1U);
  EXPECT_TRUE(map.schemas_of("hisown::norm").empty());  // of no name that is whole
  EXPECT_EQ(map.find("other::norm(Tensor x) -> Tensor").why_not, "");
}

TEST(OperatorMap, ARowsSourceHasTheFunctionsThatItCalls) {
  OperatorMap map;
  map.add_rows(
      R"json({"format": "understudy operator map", "version": 1,
              "functions": ["def half(x: Tensor) -> Tensor:", "  return x / 2",
                            "def other(x: Tensor) -> Tensor:", "  return x",
                            "def fourth(x: Tensor) -> Tensor:", "  return half(half(x))"],
              "rows": [{"operators": ["mine::op"], "takes": ["Tensor x", "int[]? sizes", "Tensor[] all"],
                        "does": ["return fourth(x)"]}]})json",
      "mine.json");
  EXPECT_EQ(map.rows().front().source(),
            "def half(x: Tensor) -> Tensor:\n  return x / 2\n"
            "def fourth(x: Tensor) -> Tensor:\n  return half(half(x))\n"
            "def row(x: Tensor, sizes: Optional[List[int]], all: List[Tensor]):\n"
            "  return fourth(x)\n");
}

TEST(OperatorMap, ACallThatDoesNotFitSaysWhy) {
  const OperatorMap map = map_of(kNorm);
  EXPECT_EQ(map.find("mine::norm(Tensor x) -> Tensor").why_not,
            "row 0 of mine.json takes an argument eps, which it lacks");
  EXPECT_EQ(map.find("mine::norm(Tensor x, float eps, Tensor bias) -> Tensor").why_not,
            "row 0 of mine.json neither takes nor ignores its argument bias");
  EXPECT_EQ(map.find("mine::norm(Tensor[] x, float eps) -> Tensor").why_not,
            "row 0 of mine.json takes x as Tensor, and it is Tensor[]");
}

/// Each star matches any characters: as many as a name has take no stack, and no time to speak of.
TEST(OperatorMap, StarsTakeNoStack) {
  const auto row = [](const std::string& pattern) {
    return R"({"operators": [")" + pattern + R"("], "takes": [], "does": ["return 1"]})";
  };
  std::string stars = "a::";
  for (int i = 0; i < 200'000; ++i) {
    stars += "*a";
  }
  const OperatorMap map = map_of(row(stars) + "," + row("b::*x*y*") + "," + row("c::*"));
  EXPECT_EQ(map.find_name("a::" + std::string(300'000, 'a'))->number, 0U);
  EXPECT_EQ(map.find_name("a::" + std::string(100'000, 'a')), nullptr);
  EXPECT_EQ(map.find_name("b::yxxzyz")->number, 1U);
  EXPECT_EQ(map.find_name("b::yx"), nullptr);
  EXPECT_EQ(map.find_name("c::")->number, 2U);
}

TEST(OperatorMap, AFunctionThatLibTorchCouldNotTakeIsRefused) {
  const auto refused = [](const std::string& json) {
    try {
      OperatorMap().add_rows(json, "mine.json");
    } catch (const Error& error) {
      return to_text(error);
    }
    return std::string("read");
  };
  const auto refusal = [](const std::string& field) {
    return "the operator map cannot be read\n  file:     mine.json\n  field:    " + field +
           "\n  expected: functions of at most 2500 characters each\n  got:      a longer one\n"
           "  hint:     docs/formats.md, \"Operator map\", says what a row holds";
  };
  for (const char* sign : {"(", "-", "not ", "x if x else "}) {
    std::string deep;
    while (deep.size() < 200'000) {
      deep += sign;
    }
    EXPECT_EQ(refused(document(R"({"operators": ["a::b"], "takes": ["bool x"], "does": ["y = )" +
                               deep + R"(", "return y"]})")),
              refusal("rows[0].does"));
    EXPECT_EQ(refused(R"({"format": "understudy operator map", "version": 1, "functions": )"
                      R"(["def f(x: bool):", "  return )" +
                      deep + R"("], "rows": []})"),
              refusal("functions"));
  }
  // Many functions are no long one.
  std::string functions;
  for (int i = 0; i < 40; ++i) {
    functions += (i == 0 ? "\"def f" : ", \"def f") + std::to_string(i) +
                 R"((x: bool):", "  return )" + std::string(2000, ' ') + R"(x")";
  }
  EXPECT_EQ(refused(R"({"format": "understudy operator map", "version": 1, "functions": [)" +
                    functions + R"(], "rows": []})"),
            "read");
}

TEST(OperatorMap, RowsOfAFileStandBeforeThoseThatWereThere) {
  OperatorMap map = map_of(kNorm);
  map.add_rows(
      document(R"({"operators": ["mine::norm"], "takes": ["Tensor x"], "does": ["return x"]})"),
      "later.json");
  EXPECT_EQ(map.find("mine::norm(Tensor x) -> Tensor").call->row->file, "later.json");
  EXPECT_EQ(map.find("mine::norm(Tensor x, float eps) -> Tensor").call->row->file, "mine.json");
  ASSERT_EQ(map.files().size(), 2U);
  EXPECT_EQ(map.files()[0], (MapFile{"mine.json", document(kNorm)}));
  // Those of a benchmark stand behind them.
  map.add_rows(
      document(R"({"operators": ["mine::*"], "takes": ["Tensor x"], "does": ["return x"]})"),
      "b.et/op_maps/0.json", MapPlace::kBeforeBuiltIn);
  EXPECT_EQ(map.find("mine::norm(Tensor x) -> Tensor").call->row->file, "later.json");
  EXPECT_EQ(map.find("mine::other(Tensor x) -> Tensor").call->row->file, "b.et/op_maps/0.json");
  EXPECT_EQ(map.files().size(), 2U);
}

TEST(OperatorMap, ItsOperatorsAreOfTheClassOfWhatTheyAreLike) {
  EXPECT_EQ(op_class("flash_attn::_flash_attn_forward"), "attention");
  EXPECT_EQ(op_class("sgl_kernel::rmsnorm"), "normalization");
  EXPECT_EQ(op_class("_C::cutlass_scaled_mm"), "matmul");
  EXPECT_EQ(op_class("mine::anything"), "elementwise");
}

TEST(OperatorMap, SchemasAreReadAsTheyWereWritten) {
  EXPECT_EQ(readable_schema("_C::f(Tensor($0! -> ) a, Tensor($12! -> )? b, Tensor(a!) c) -> ()"),
            "_C::f(Tensor! a, Tensor!? b, Tensor(a!) c) -> ()");
}

std::string refusal(const std::string& text) {
  OperatorMap map;
  try {
    map.add_rows(text, "mine.json");
  } catch (const Error& error) {
    return to_text(error);
  }
  return "";
}

std::string refused(const std::string& field, const std::string& expected, const std::string& got) {
  return "the operator map cannot be read\n  file:     mine.json\n" +
         (field.empty() ? "" : "  field:    " + field + "\n") + "  expected: " + expected +
         "\n  got:      " + got +
         "\n  hint:     docs/formats.md, \"Operator map\", says what a row holds";
}

TEST(OperatorMapErrors, SayWhereAndWhatToDo) {
  EXPECT_EQ(refusal("{\"format\":\n"), refused("", "JSON", "no JSON from byte 12"));
  EXPECT_EQ(refusal(document(R"({"operators": ["norm"], "takes": [], "does": ["return x"]})")),
            refused("rows[0].operators",
                    "names of operators, such as '_C::rms_norm'; '*' stands for any characters",
                    R"(["norm"])"));
  EXPECT_EQ(
      refusal(document(R"({"operators": ["a::b"], "takes": ["Tensor"], "does": ["return x"]})")),
      refused("rows[0].takes[0]",
              "a type and a name, such as 'Tensor? weight|w'; types are Tensor, int, float, bool, "
              "str, Device, Tensor[], int[], float[], bool[]",
              R"("Tensor")"));
  EXPECT_EQ(refusal(document(R"({"operators": ["a::b"], "takes": [], "does": [], "gives": 1})")),
            refused("rows[0].gives",
                    "one of the keys operators, takes, ignores, does, like, schemas, values, "
                    "approximate, source",
                    "gives"));
  EXPECT_EQ(refusal(document(R"({"operators": ["a::b"], "takes": ["Tensor x"], "does": ["return x"],
                                 "schemas": ["(Tensor x, int n) -> Tensor"]})")),
            refused("rows[0].schemas[0]", "arguments that the row takes or ignores",
                    "row 0 of mine.json neither takes nor ignores its argument n"));
  EXPECT_EQ(refusal(document(R"({"operators": ["a::b"], "takes": ["Tensor x"], "does": ["return x"],
                                 "values": [{"argument": "x", "is": "number"}]})")),
            refused("rows[0].values[0].is",
                    "a meaning of docs/values.md, such as 'index' or 'offsets'", R"("number")"));
}

}  // namespace
}  // namespace understudy::et_schema
