// What an obfuscated benchmark tells of its original: attacks with words that were planted in a
// trace, and with every name of every sample.

#include "generator/seal/obfuscate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench_contents.h"
#include "cli/compile/compile.h"
#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "public_words.h"
#include "trace_builder.h"

namespace understudy::generator {
namespace {

using et_schema::Bench;
using et_schema::is_public_operator;
using et_schema::Trace;

/// A trace in which everything that has a name says so.
Trace named_trace() {
  test::TraceBuilder builder;
  const auto label = builder.add(2, "AcmeRanker.forward", "", {}, {});
  const test::TestValue input = test::tensor(1, 2, {4, 4});
  const test::TestValue key{"\"acme-key-7\"", "[]", "String"};
  const test::TestValue rate{"0.0003141", "[]", "Double"};
  builder.add(label, "acme::secret_attention",
              "acme::secret_attention(Tensor queries, str acme_mode=\\\"acme_fast\\\", float "
              "acme_temperature=1.) -> Tensor",
              {input, key, rate}, {test::tensor(3, 4, {4, 4})});
  builder.add(label, "aten::add", "aten::add.Tensor(Tensor self, Tensor other) -> Tensor",
              {test::tensor(3, 4, {4, 4}), input}, {test::tensor(5, 6, {4, 4})});
  Trace trace = builder.trace();
  trace.file = "/home/acme-user/acme_host_17/acme_run.json";
  return trace;
}

Bench compile_named() {
  std::vector<Trace> traces;
  traces.push_back(named_trace());
  Bench bench = generate(traces, {});
  bench.groups.push_back({"acme_tp", "acme tensor parallel", "acme_fabric", {0}, 1});
  et_schema::RecordedProfile& profile = bench.programs.edit(0).profile.emplace();
  profile.file = "acme_profile.json";
  profile.content_hash = 0x1234567812345678;
  profile.variables["ACME_CLUSTER"] = "acme-dc-3";
  profile.kernel_settings["acme"] = "acme";
  profile.lost.push_back({"acme_kernel_v2", "no launch", 1, 10});
  bench.programs.edit(0).selection.filters = {"--subgraph AcmeRanker"};
  return bench;
}

TEST(Obfuscate, NothingThatWasPlantedIsLeft) {
  const Bench original = compile_named();
  EXPECT_NE(contents_of(original).find("acme"), std::string::npos);
  EXPECT_NE(contents_of(original).find("0.0003141"), std::string::npos);
  const Obfuscated hidden = obfuscate(original);
  const std::string contents = contents_of(hidden.bench);
  for (const char* word : {"acme", "secret", "attention", "queries", "temperature", "ranker",
                           "0.0003141", "1234567812345678", "home"}) {
    EXPECT_EQ(contents.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(hidden.hidden_operators, 1U);
  EXPECT_EQ(hidden.without_body, 1U);
  EXPECT_EQ(hidden.rounded_numbers, 0U);
  EXPECT_EQ(hidden.cleared_numbers, 1U);  // a rate, of an operator that nothing calls
}

TEST(Obfuscate, ANumberNearOneStaysOnItsSideOfOne) {
  Bench bench = compile_named();
  ASSERT_FALSE(bench.programs[0].slots.empty());
  for (const auto& [value, by] : {std::pair{0.9987, 0.999}, std::pair{-0.99, -0.99},
                                  std::pair{1.0042, 1.004}, std::pair{0.5123, 0.5}}) {
    using et_schema::ValueRule;
    bench.programs.edit(0).slots[0].value = ValueRule{ValueRule::Constant{value}};
    EXPECT_EQ(obfuscate(bench).bench.programs[0].slots[0].value->kind,
              ValueRule::Kind(ValueRule::Constant{by}))
        << value;
  }
}

TEST(Obfuscate, TheMapTellsTheOwnerWhatWasWhat) {
  const Obfuscated hidden = obfuscate(compile_named());
  EXPECT_EQ(hidden.map, (ObfuscationMap{
                            {"backend", {{"backend1", "acme_fabric"}}},
                            {"description", {{"description1", "acme tensor parallel"}}},
                            {"group", {{"group1", "acme_tp"}}},
                            {"kernel", {{"kernel1", "acme_kernel_v2"}}},
                            {"operator", {{"private::op1", "acme::secret_attention"}}},
                            {"text", {{"text1", "acme-key-7"}}},
                        }));
  EXPECT_EQ(to_json(ObfuscationMap{{"text", {{"text1", "a \"b\""}}}}),
            "{\n"
            "  \"format\": \"understudy-names\",\n"
            "  \"version\": 1,\n"
            "  \"names\": {\n"
            "    \"text\": {\n"
            "      \"text1\": \"a \\\"b\\\"\"\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(Obfuscate, SchemasOfHiddenOperatorsKeepTheirTypes) {
  const Obfuscated hidden = obfuscate(compile_named());
  const std::vector<std::string>& schemas = hidden.bench.programs[0].schemas;
  EXPECT_NE(std::ranges::find(schemas, "private::op1(Tensor arg0, str arg1, float arg2) -> Tensor"),
            schemas.end());
  EXPECT_NE(std::ranges::find(schemas, "aten::add.Tensor(Tensor self, Tensor other) -> Tensor"),
            schemas.end());
}

/// A program of one public operator with these arguments.
std::vector<et_schema::Argument> hidden_arguments(const std::string& schema,
                                                  std::vector<et_schema::Argument> args) {
  Bench bench;
  bench.programs = {et_schema::Program()};
  et_schema::Program& program = bench.programs.edit(0);
  program.schemas = {schema};
  et_schema::Instruction& instruction = program.instructions.emplace_back();
  instruction.name = std::string(et_schema::operator_name(schema));
  instruction.schema = 0;
  instruction.args = std::move(args);
  return obfuscate(bench).bench.programs[0].instructions[0].args;
}

TEST(Obfuscate, LettersOfAnEquationKeepTheirOrder) {
  const auto hidden = [](std::string equation) {
    return hidden_arguments("aten::einsum(str equation, Tensor[] tensors) -> Tensor",
                            {{std::move(equation)}})[0];
  };
  EXPECT_EQ(hidden("bqd,bkd->bqk"), et_schema::Argument{"ADB,ACB->ADC"});
  EXPECT_EQ(hidden("...qK,zq"), et_schema::Argument{"...BA,CB"});
  EXPECT_EQ(hidden("acme;"), et_schema::Argument{"text1"});
}

TEST(Obfuscate, NumbersThatTellAResultsSizeStay) {
  using et_schema::Argument;
  const std::vector<Argument> ends = {{0.0}, {37.0}, {1.5}};
  EXPECT_EQ(hidden_arguments("aten::arange.start_step(Scalar start, Scalar end, Scalar step=1) -> "
                             "Tensor",
                             ends),
            ends);
  const std::vector<Argument> scales = {{Argument::List{{1.5}, {2.25}}}};
  EXPECT_EQ(
      hidden_arguments("aten::upsample_nearest2d.vec(float[]? scale_factors) -> Tensor", scales),
      scales);
  // Others are rounded, whole ones cut: what they bound stays inside.
  EXPECT_EQ(hidden_arguments("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> "
                             "Tensor",
                             {{-12.0}, {0.0}, {255.0}}),
            (std::vector<Argument>{{-10.0}, {0.0}, {200.0}}));
}

class ObfuscateSample : public testing::TestWithParam<std::string> {};

/// The roles of a kernel's arguments stay: they say what it reads and writes, and nothing else.
bool is_roles(std::string_view text) {
  return text.find_first_not_of("rw- ") == std::string_view::npos;
}

/// Names of the trace that are of no public library: a dictionary to attack with. A label may have
/// the name of a public operator ("detach").
std::set<std::string> dictionary(const std::vector<Trace>& traces) {
  constexpr std::size_t kLeast = 5;  // shorter ones occur in any text
  std::set<std::string> words;
  std::set<std::string> known;
  const auto add = [&words](std::string_view word) {
    if (word.size() >= kLeast) {
      words.insert(lower(std::string(word)));
    }
  };
  for (const Trace& trace : traces) {
    add(trace.file.substr(trace.file.find_last_of('/') + 1));
    for (const et_schema::ProcessGroup& group : trace.process_groups) {
      add(group.name);
      add(group.description);
    }
    for (const et_schema::Node& node : trace.nodes) {
      const std::size_t scope = node.name.find("::");
      if (scope != std::string_view::npos && is_public_operator(node.name)) {
        known.insert(lower(std::string(node.name.substr(scope + 2))));
      }
      const bool is_label = et_schema::classify(node) == et_schema::NodeClass::kLabel;
      if (is_label ? !is_public_label(node.name) && node.name != "as_strided"
                   : !is_public_operator(node.name) && node.name != "record_param_comms") {
        add(node.name);
      }
      for (const et_schema::Value& value : node.inputs) {
        if (value.is(et_schema::ValueKind::kString) && !is_public_text(value.text()) &&
            !is_roles(value.text()) && node.name != "record_param_comms") {
          add(value.text());
        }
      }
    }
  }
  std::erase_if(words, [&known](const std::string& word) { return known.contains(word); });
  return words;
}

TEST_P(ObfuscateSample, NoNameOfTheTraceIsInTheFile) {
  const std::string input = std::string(UNDERSTUDY_SAMPLES) + "/" + GetParam();
  const std::set<std::string> words = dictionary(et_schema::read_traces({input}));
  ASSERT_GT(words.size(), 3U);
  cli::Progress progress;
  progress.silence();
  const Bench bench =
      cli::compile_traces({input}, {.partial = PartialRanks::kOneAlone}, {}, progress).bench;
  const Obfuscated hidden = obfuscate(bench);
  const std::string contents = contents_of(hidden.bench);
  for (const std::string& word : words) {
    EXPECT_EQ(contents.find(word), std::string::npos) << word;
  }
}

TEST_P(ObfuscateSample, StructureStaysAndRunsTheSame) {
  const std::string input = std::string(UNDERSTUDY_SAMPLES) + "/" + GetParam();
  cli::Progress progress;
  progress.silence();
  const Bench before =
      cli::compile_traces({input}, {.partial = PartialRanks::kOneAlone}, {}, progress).bench;
  const Obfuscated hidden = obfuscate(before);
  ASSERT_EQ(hidden.bench.programs.size(), before.programs.size());
  for (std::size_t rank = 0; rank < before.programs.size(); ++rank) {
    const et_schema::Program& a = before.programs[rank];
    const et_schema::Program& b = hidden.bench.programs[rank];
    ASSERT_EQ(a.instructions.size(), b.instructions.size());
    std::vector<et_schema::Storage> storages = a.storages;
    for (std::size_t i = 0; i < storages.size(); ++i) {
      EXPECT_EQ(storages[i].zeros > 0, b.storages[i].zeros > 0);
      storages[i].zeros = b.storages[i].zeros;  // rounded
    }
    EXPECT_TRUE(storages == b.storages);
    for (std::size_t i = 0; i < a.instructions.size(); ++i) {
      EXPECT_EQ(a.instructions[i].kind, b.instructions[i].kind);
      EXPECT_EQ(a.instructions[i].timing, b.instructions[i].timing);
      if (is_public_operator(a.instructions[i].name)) {
        EXPECT_EQ(a.instructions[i].name, b.instructions[i].name);
      }
    }
    ASSERT_EQ(a.schemas.size(), b.schemas.size());
    for (std::size_t i = 0; i < a.schemas.size(); ++i) {
      if (is_public_operator(et_schema::operator_name(a.schemas[i]))) {
        EXPECT_EQ(a.schemas[i], b.schemas[i]);  // their arguments are told by name
      }
    }
    for (std::size_t i = 0; i < a.slots.size(); ++i) {
      EXPECT_EQ(a.slots[i].sizes, b.slots[i].sizes);
      EXPECT_EQ(a.slots[i].strides, b.slots[i].strides);
    }
  }
  // The file can be read, and is the same each time.
  const std::string bytes = et_schema::bench_bytes(hidden.bench);
  EXPECT_EQ(et_schema::read_bench_bytes(bytes, "bench.et").programs.size(), before.programs.size());
  EXPECT_EQ(et_schema::bench_bytes(obfuscate(before).bench), bytes);
}

INSTANTIATE_TEST_SUITE_P(Samples, ObfuscateSample,
                         testing::Values("compiled", "dlrm_8gpu/dlrm_pytorch_et.tar.gz", "gpt_ddp",
                                         "linear/linear_et.json.gz", "speech_encoder"),
                         [](const testing::TestParamInfo<std::string>& sample) {
                           return sample.param.substr(0, sample.param.find('/'));
                         });

TEST(PublicWords, AreThoseThatOperatorsAreAskedBy) {
  for (const char* word : {"max", "min", "amax", "mean", "bilinear", "ij", "ortho"}) {
    EXPECT_TRUE(is_public_text(word)) << word;  // segment_reduce takes max and amax alike
  }
  EXPECT_FALSE(is_public_text("maximum_revenue"));
}

}  // namespace
}  // namespace understudy::generator
