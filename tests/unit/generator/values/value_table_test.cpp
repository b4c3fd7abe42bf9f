// Every row of the table of value rules: the operator is compiled from a trace of its own, and the
// rule of its argument compared with data/value_table.txt. The schemas are PyTorch's (2.11),
// torchvision's and fbgemm's own; arguments are made by their types.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "et_schema/base/overloaded.h"
#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"
#include "generator/flow/model_names.h"
#include "trace_builder.h"
#include "value_rules.h"

namespace understudy::generator::test {
namespace {

std::vector<std::string> lines_of(const std::string& name) {
  std::ifstream file(name.starts_with('/') ? name
                                           : std::string(UNDERSTUDY_GENERATOR_DATA) + "/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// The types of a schema's arguments, in order: "Tensor(a!)[]", "float", ….
std::vector<std::string> argument_types(const std::string& schema) {
  std::vector<std::string> types;
  std::size_t position = schema.find('(') + 1;
  for (const std::string_view name : et_schema::argument_names(schema)) {
    const std::size_t at = schema.find(fmt::format(" {}", name), position);
    std::string type = schema.substr(position, at - position);
    type = type.substr(type.find_last_of(' ') + 1);
    types.push_back(type);
    position = schema.find_first_of(",)", at);
    position = position == std::string::npos ? at : position + 1;
  }
  return types;
}

/// What a row of the table says of one argument.
struct Row {
  const OperatorFacts* facts;
  ArgumentFact argument;
};

/// Those that ask for values.
std::vector<Row> rows_that_ask() {
  std::vector<Row> rows;
  for (const OperatorFacts& facts : et_schema::all_operator_facts()) {
    for (const ArgumentFact& argument : facts.arguments) {
      if (argument.meaning < Meaning::kData) {
        rows.push_back({&facts, argument});
      }
    }
  }
  return rows;
}

/// Schemas of the operator and its in-place form, in the order in which they are tried.
std::vector<std::string> schemas_of(const Row& row) {
  const std::string name(row.facts->name);
  std::vector<std::string> forms = {name, name + "_"};
  if (row.argument.meaning == Meaning::kMovingAverage) {
    std::swap(forms[0], forms[1]);
  }
  if (name == "fbgemm::dense_embedding_codegen_lookup_function") {
    forms.emplace_back("fbgemm::split_embedding_codegen_lookup_adagrad_function");
    forms.emplace_back("fbgemm::split_embedding_codegen_lookup_adam_function_cpu");
  }
  std::vector<std::string> schemas;
  for (const std::string& form : forms) {
    const auto lines = et_schema::public_operators(form);
    schemas.insert(schemas.end(), lines.begin(), lines.end());
  }
  return schemas;
}

/// The first that takes a tensor for the argument. Adam's on a GPU is in no package or trace here:
/// its second moment is as Adagrad's first.
std::string schema_of(const Row& row) {
  const std::string argument(row.argument.name);
  const bool is_of_adam = argument == "momentum2_dev" || argument == "momentum2_offsets";
  for (std::string schema : schemas_of(row)) {
    if (is_of_adam && schema.find("momentum1_dev") != std::string::npos) {
      schema = std::regex_replace(schema, std::regex("momentum1"), "momentum2");
    }
    const int index = et_schema::argument_index(schema, argument);
    if (index >= 0 &&
        argument_types(schema)[static_cast<std::size_t>(index)].starts_with("Tensor")) {
      return schema;
    }
  }
  return {};
}

enum class Numbers { kFloat, kInteger, kBool };

Numbers numbers_of(Meaning meaning) {
  if (meaning <= Meaning::kTableColumns) {
    return Numbers::kInteger;
  }
  return meaning <= Meaning::kKeepMask ? Numbers::kBool : Numbers::kFloat;
}

class Call {
 public:
  Call(const Row& row, std::string schema) : row_(row), schema_(std::move(schema)) {}

  Program compile() {
    const auto names = et_schema::argument_names(schema_);
    const auto types = argument_types(schema_);
    std::vector<TestValue> inputs;
    for (std::size_t i = 0; i < names.size(); ++i) {
      inputs.push_back(make(std::string(names[i]), types[i]));
    }
    TraceBuilder builder;
    builder.add(2, std::string(without_overload(et_schema::operator_name(schema_))),
                escaped(schema_), inputs, make_results());
    return builder.program();
  }

 private:
  /// As it stands in JSON: defaults that are texts have quotes.
  static std::string escaped(const std::string& schema) {
    std::string text;
    for (const char c : schema) {
      text += c == '"' ? "\\\"" : std::string(1, c);
    }
    return text;
  }

  std::vector<TestValue> make_results() {
    const bool has_two = schema_.find("-> (Tensor, Tensor") != std::string::npos;
    std::vector<TestValue> results = {make_tensor("")};
    if (has_two) {
      results.push_back(make_tensor(""));
    }
    return results;
  }

  TestValue make_tensor(const std::string& name) {
    const bool asked = name == row_.argument.name;
    const Numbers numbers = asked ? numbers_of(row_.argument.meaning) : Numbers::kFloat;
    next_ += 2;
    return tensor(next_, next_ + 1, {6, 6, 6},
                  numbers == Numbers::kInteger ? "long int"
                  : numbers == Numbers::kBool  ? "bool"
                                               : "float");
  }

  TestValue make(const std::string& name, const std::string& type) {
    const bool is_list = type.ends_with("]") || type.ends_with("]?");
    if (type.starts_with("Tensor")) {
      return is_list ? list({make_tensor(name), make_tensor(name)}) : make_tensor(name);
    }
    if (is_list) {
      return list({integer(6), integer(6), integer(6)});
    }
    if (type.starts_with("float") || type.starts_with("Scalar")) {
      return {"2.5", "[]", "Double", "[]"};
    }
    if (type.starts_with("int") || type.starts_with("SymInt")) {
      return integer(name == "dim" ? 0 : 6);
    }
    if (type.starts_with("bool")) {
      return {"false", "[]", "Bool", "[]"};
    }
    return none();
  }

  const Row& row_;
  std::string schema_;
  std::int64_t next_ = 100;
};

std::string text_of(const ValueRule& rule) {
  const et_schema::Overloaded text = {
      [](const ValueRule::Constant& kind) { return fmt::format("constant {}", kind.value); },
      [](const ValueRule::Uniform& kind) {
        return fmt::format("uniform {} to {}", kind.low, kind.high);
      },
      [](const ValueRule::Normal& kind) {
        return fmt::format("normal, deviation {}", kind.deviation);
      },
      [](const ValueRule::Integers& kind) {
        return fmt::format("integers {} to {}", kind.low, kind.high);
      },
      [](const ValueRule::Offsets& kind) {
        return fmt::format("offsets to {}{}", kind.end, kind.include_last ? ", the last too" : "");
      },
      [](const ValueRule::Lengths& kind) {
        std::string lengths = "lengths";
        for (std::size_t i = 0; i < kind.segments.size() && i < 3; ++i) {
          lengths += fmt::format(" {} of {}", kind.segments[i].count, kind.segments[i].sum);
        }
        return lengths + (kind.segments.size() > 3 ? " …" : "");
      },
      [](const ValueRule::Arange& kind) {
        return fmt::format("from {} by {}", kind.start, kind.step);
      },
      [](const ValueRule::Bernoulli& kind) {
        return fmt::format("true with {:.3}", kind.probability);
      },
      [](const ValueRule::Mask& kind) { return fmt::format("{} true", kind.count); },
      [](const ValueRule::Targets& kind) {
        return fmt::format("classes below {}, or {} with {}", kind.classes, kind.ignore_index,
                           kind.ignored_share);
      },
      [](const ValueRule::Dominant& kind) { return fmt::format("dominant, {} rows", kind.rows); },
      [](const auto&) { return std::string("another rule"); }};
  return std::visit(text, rule.kind);
}

/// The rule that the program asks for on behalf of the row, as text.
std::string asked_by(const Program& program, const Row& row) {
  const std::string why = why_of(*row.facts, row.argument);
  std::set<std::string> asked;
  for (const et_schema::Slot& slot : program.slots) {
    if (slot.external && slot.value && slot.value->why == why) {
      asked.insert(text_of(*slot.value));
    }
  }
  return asked.size() == 1 ? *asked.begin() : fmt::format("{} rules", asked.size());
}

std::string name_of(const Row& row) {
  return why_of(*row.facts, row.argument);
}

class ValueTable : public ::testing::TestWithParam<Row> {};

TEST_P(ValueTable, TheArgumentGetsItsRule) {
  static const std::map<std::string, std::string> kExpected = [] {
    std::map<std::string, std::string> expected;
    for (const std::string& line : lines_of("value_table.txt")) {
      const std::size_t colon = line.find(": ");
      expected.emplace(line.substr(0, colon), line.substr(colon + 2));
    }
    return expected;
  }();
  const std::string schema = schema_of(GetParam());
  ASSERT_FALSE(schema.empty()) << "no schema of " << name_of(GetParam());
  const std::string got = asked_by(Call(GetParam(), schema).compile(), GetParam());
  const auto expected = kExpected.find(name_of(GetParam()));
  EXPECT_EQ(expected == kExpected.end() ? "" : expected->second, got)
      << name_of(GetParam()) << ": " << got;
}

INSTANTIATE_TEST_SUITE_P(Rows, ValueTable, ::testing::ValuesIn(rows_that_ask()),
                         [](const auto& row) {
                           std::string name = name_of(row.param);
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(ValueTable, HasALineForEachRow) {
  EXPECT_EQ(lines_of("value_table.txt").size(), rows_that_ask().size());
}

TEST(ValueTable, TheDocumentationHasEachMeaningWithAnArgument) {
  std::map<std::string, std::set<std::string>> arguments;
  for (const OperatorFacts& facts : et_schema::all_operator_facts()) {
    for (const ArgumentFact& argument : facts.arguments) {
      arguments[std::string(to_string(argument.meaning))].insert(why_of(facts, argument));
    }
  }
  std::map<std::string, std::set<std::string>> documented;
  for (const std::string& line : lines_of(UNDERSTUDY_VALUES_DOC)) {
    const std::size_t example = line.rfind(" | `");
    if (line.starts_with("| ") && example != std::string::npos) {
      const auto& known = arguments[line.substr(2, line.find(" | ") - 2)];
      EXPECT_TRUE(known.contains(line.substr(example + 4, line.size() - example - 7))) << line;
      documented[line.substr(2, line.find(" | ") - 2)] = known;
    }
  }
  EXPECT_EQ(documented, arguments);
}

}  // namespace
}  // namespace understudy::generator::test
