// The table of operators against PyTorch's own schemas, and against what is made of it elsewhere.

#include "et_schema/facts/operator_facts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"

namespace understudy::et_schema {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The arguments of all overloads of a row's operator, in place or not.
std::set<std::string> arguments_of_row(const OperatorFacts& facts) {
  std::set<std::string> names;
  std::vector<std::string> forms = {std::string(facts.name), std::string(facts.name) + "_"};
  if (facts.name == "fbgemm::dense_embedding_codegen_lookup_function") {
    forms.emplace_back("fbgemm::split_embedding_codegen_lookup_adagrad_function");
    forms.emplace_back("fbgemm::split_embedding_codegen_lookup_adam_function_cpu");
    // No package or trace here has the schema of Adam on a GPU, which has a second one of these.
    names.insert("momentum2_dev");
  }
  for (const std::string& form : forms) {
    for (const std::string_view schema : public_operators(form)) {
      for (const std::string_view name : argument_names(schema)) {
        names.emplace(name);
      }
    }
  }
  return names;
}

TEST(OperatorFacts, EachRowIsOfAPublicOperator) {
  std::set<std::string_view> seen;
  for (const OperatorFacts& facts : all_operator_facts()) {
    EXPECT_TRUE(is_public_operator(facts.name) || is_public_operator(std::string(facts.name) + "_"))
        << facts.name;
    EXPECT_TRUE(seen.insert(facts.name).second) << facts.name << " has two rows";
    EXPECT_EQ(without_overload(facts.name), facts.name);
  }
}

TEST(OperatorFacts, WhatARowNamesIsAnArgumentOfItsSchema) {
  for (const OperatorFacts& facts : all_operator_facts()) {
    const std::set<std::string> names = arguments_of_row(facts);
    std::set<std::string_view> seen;
    for (const ArgumentFact& argument : facts.arguments) {
      EXPECT_TRUE(names.contains(std::string(argument.name))) << facts.name << "." << argument.name;
      EXPECT_TRUE(seen.insert(argument.name).second) << facts.name << "." << argument.name;
      std::istringstream alternatives{std::string(argument.of)};
      for (std::string of; std::getline(alternatives, of, '|');) {
        EXPECT_TRUE(names.contains(of)) << facts.name << "." << argument.name << " of " << of;
      }
      EXPECT_TRUE(argument.dim != kByDim || names.contains("dim")) << facts.name;
    }
    EXPECT_TRUE(facts.moves.empty() || names.contains(std::string(facts.moves))) << facts.name;
    EXPECT_TRUE(!facts.reads_rows ||
                std::ranges::count(facts.arguments, Meaning::kIndex, &ArgumentFact::meaning) == 1)
        << facts.name;
  }
}

/// An operator that random numbers are drawn by takes a generator, or is told by its tag; of these
/// the schema alone tells it.
TEST(OperatorFacts, WhatDrawsTakesAGenerator) {
  for (const OperatorFacts& facts : all_operator_facts()) {
    if (facts.draws && facts.name != "aten::rand_like" && facts.name != "aten::randn_like" &&
        facts.name != "aten::randint_like") {
      EXPECT_TRUE(arguments_of_row(facts).contains("generator")) << facts.name;
    }
  }
}

TEST(OperatorFacts, AnInPlaceFormAndOverloadsHaveTheSameRow) {
  EXPECT_EQ(&operator_facts("aten::log_"), &operator_facts("aten::log"));
  EXPECT_EQ(&operator_facts("aten::div.Tensor"), &operator_facts("aten::div"));
  EXPECT_EQ(operator_facts("aten::__and__").name, "aten::__and__");
  EXPECT_EQ(&operator_facts("fbgemm::split_embedding_codegen_lookup_sgd_function"),
            &operator_facts("fbgemm::dense_embedding_codegen_lookup_function"));
  for (const char* op : {"aten::no_such_operator_", "log", "prims::log", ""}) {
    EXPECT_TRUE(operator_facts(op).name.empty()) << op;
  }
}

TEST(OperatorFacts, QuestionsLookAtNoElements) {
  for (const char* op : {"aten::is_same_size", "aten::_is_zerotensor", "aten::sym_size.int",
                         "aten::record_stream", "aten::_nnz", "aten::stride.int"}) {
    EXPECT_TRUE(asks_about_tensors(op)) << op;
  }
  for (const char* op : {"aten::is_nonzero", "aten::_is_all_true", "aten::isnan", "aten::item"}) {
    EXPECT_FALSE(asks_about_tensors(op)) << op;
  }
}

std::string listed(Recorded recorded) {
  std::string text;
  for (const OperatorFacts& facts : all_operator_facts()) {
    std::string names;
    for (const ArgumentFact& argument : facts.arguments) {
      names += argument.recorded == recorded ? fmt::format("\"{}\", ", argument.name) : "";
    }
    if (!names.empty()) {
      names.resize(names.size() - 1);
      text += fmt::format("    \"{}\": ({}),\n", facts.name, names);
    }
  }
  return text;
}

/// The capture is a Python package that goes without the rest: its list is a copy.
TEST(OperatorFacts, TheCaptureRecordsWhatTheRowsSay) {
  const std::string copy = text_of(UNDERSTUDY_RECORDED_ARGUMENTS);
  const std::string without_head = copy.substr(std::min(copy.find("INDEX_ARGUMENTS"), copy.size()));
  EXPECT_EQ(without_head, fmt::format("INDEX_ARGUMENTS = {{\n{}}}\n"
                                      "# Arguments whose zeros decide the time.\n"
                                      "ZERO_ARGUMENTS = {{\n{}}}\n",
                                      listed(Recorded::kReuse), listed(Recorded::kZeros)));
}

}  // namespace
}  // namespace understudy::et_schema
