// Plants: each puts what its owner keeps private where a benchmark can hold it. It has to be in the
// file before, and in no byte of the unpacked file after obfuscation.

#include <gtest/gtest.h>

#include <functional>

#include "bench_contents.h"
#include "et_schema/formats/kineto/device_timeline.h"
#include "generator/flow/model_names.h"
#include "generator/seal/obfuscate.h"
#include "testing/made_program.h"

namespace understudy::generator {
namespace {

using et_schema::Bench;

/// What the plants are put into: a tensor, and no instruction.
Bench empty_bench() {
  Bench bench;
  bench.groups.push_back({"world", "", "gloo", {0}, 1});
  bench.sources.emplace_back();
  bench.programs = {et_schema::Program()};
  testing_programs::add_tensor(bench.programs.edit(0), {16}, true);
  return bench;
}

Instruction& call(Bench& bench, const std::string& schema, std::vector<Argument> args,
                  std::vector<Argument> results = {}) {
  return testing_programs::add_call(bench.programs.edit(0), schema, std::move(args),
                                    std::move(results));
}

Instruction& of_kind(Bench& bench, InstructionKind kind, const std::string& name) {
  Instruction& instruction = bench.programs.edit(0).instructions.emplace_back();
  instruction.kind = kind;
  instruction.name = name;
  return instruction;
}

void set_rule(Bench& bench, ValueRule rule) {
  bench.programs.edit(0).slots[0].value = std::move(rule);
}

et_schema::Timing& timed(Bench& bench) {
  Instruction& instruction = call(bench, "aten::relu(Tensor self) -> Tensor", {});
  bench.programs.edit(0).profile.emplace();
  return instruction.timing.emplace();
}

const Argument kTensor{Argument::SlotRef{0}};

struct Plant {
  const char* what;
  std::vector<std::string> words;  ///< in lower case
  std::function<void(Bench&)> set;
};

const std::vector<Plant>& plants() {
  static const std::vector<Plant> kPlants = {
      {"defaults of a private schema",
       {"0.7330", "987654321", "acme", "31"},
       [](Bench& bench) {
         call(bench,
              "acme::fused(Tensor x, float arg1=0.73309999999999997, int arg3=987654321, int[2] "
              "window=[31, 31], str mode=\"acme, fast\") -> Tensor",
              {kTensor});
       }},
      {"an operator of one's own under aten",
       {"acme"},
       [](Bench& bench) {
         call(bench, "aten::acme_attention(Tensor acme_q) -> Tensor", {kTensor});
       }},
      {"an operator of one's own under fbgemm",
       {"acme"},
       [](Bench& bench) {
         call(bench, "fbgemm::acme_lookup(Tensor acme_q) -> Tensor", {kTensor});
       }},
      {"an overload of one's own",
       {"acme"},
       [](Bench& bench) {
         call(bench, "aten::add.acme(Tensor self, Tensor acme_other) -> Tensor",
              {kTensor, kTensor});
       }},
      {"names of results, types and alias sets",
       {"acme"},
       [](Bench& bench) {
         call(bench,
              "my::op(Tensor(acme!) x, __torch__.acme.Table table, AcmeKind kind, Dict(str, "
              "AcmeRow)[] rows) -> (Tensor(acme!) acme_out, Tensor[] acme_list)",
              {kTensor});
       }},
      {"numbers that a private operator was given",
       {"424242", "0.4242"},
       [](Bench& bench) {
         Argument list;
         list.value = Argument::List{Argument{std::int64_t{424242}}};
         call(bench, "my::op(Tensor x, int seed, float p, int[] sizes) -> Tensor",
              {kTensor, {std::int64_t{424242}}, {0.4242}, list});
       }},
      {"the optimizer's step",
       {"2277"},
       [](Bench& bench) {
         call(bench, "aten::item(Tensor self) -> Scalar", {kTensor}, {{2277.0}});
       }},
      {"a generator's seed among results",
       {"445566"},
       [](Bench& bench) {
         call(bench, "aten::_local_scalar_dense(Tensor self) -> Scalar", {kTensor},
              {{std::int64_t{445566}}});
       }},
      {"a share of zeros",
       {"0.123457"},
       [](Bench& bench) { bench.programs.edit(0).storages[0].zeros = 0.123457; }},
      {"a whole number among hyperparameters",
       {"65432"},
       [](Bench& bench) {
         call(bench, "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", {kTensor, {65432.0}});
       }},
      {"learning rate, betas, epsilon and dropout",
       {"0.000314", "0.98765", "1.2345e", "0.2345"},
       [](Bench& bench) {
         call(bench,
              "aten::_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, "
              "Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, "
              "float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, "
              "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",
              {kTensor,
               kTensor,
               kTensor,
               kTensor,
               kTensor,
               kTensor,
               {0.0003141},
               {0.98765},
               {0.98765},
               {0.2345},
               {1.2345e-7}});
       }},
      {"the seed of a dropout",
       {"660066"},
       [](Bench& bench) {
         call(bench,
              "aten::_cudnn_init_dropout_state(float dropout, bool train, int dropout_seed) -> "
              "Tensor",
              {{0.5}, {true}, {std::int64_t{660066}}});
       }},
      {"the iteration that fbgemm's optimizers take",
       {"913377"},
       [](Bench& bench) {
         call(bench,
              "fbgemm::split_embedding_codegen_lookup_adam_function(Tensor x, int iter=0) -> "
              "Tensor",
              {kTensor, {std::int64_t{913377}}});
       }},
      {"a number that Python's code held",
       {"7654"},
       [](Bench& bench) { set_rule(bench, {ValueRule::Constant{7654.0}}); }},
      {"which argument of a private operator asks for values",
       {"acme"},
       [](Bench& bench) {
         set_rule(bench, {ValueRule::Integers{0, 9}, "acme::lookup.acme_ids"});
       }},
      {"rules of a sparse tensor's indices",
       {"acme"},
       [](Bench& bench) {
         auto& content = bench.programs.edit(0).slots[0].content.emplace();
         bench.programs.edit(0).slots[0].sparse = true;
         content.elements = 4;
         content.indices = {{ValueRule::Integers{0, 9}, "acme::lookup.acme_ids"}};
       }},
      {"a text argument",
       {"acme"},
       [](Bench& bench) {
         call(bench, "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
              {{std::string("acme-key")}});
       }},
      {"the tag of a recorded object",
       {"acme"},
       [](Bench& bench) {
         call(bench, "aten::relu(Tensor self) -> Tensor", {{Argument::Opaque{"AcmeTable"}}});
       }},
      {"a module's name",
       {"acme"},
       [](Bench& bench) { of_kind(bench, InstructionKind::kNative, "AcmeRanker.forward"); }},
      {"an annotation",
       {"acme"},
       [](Bench& bench) { of_kind(bench, InstructionKind::kMarker, "## acme phase ##"); }},
      {"an optimizer of one's own in fbgemm's label",
       {"acme"},
       [](Bench& bench) {
         of_kind(bench, InstructionKind::kNative,
                 "torch::autograd::CppNode<SplitLookupFunction_acme_Op>");
       }},
      {"a generated kernel, its file and its seed",
       {"acme", "550055"},
       [](Bench& bench) {
         of_kind(bench, InstructionKind::kKernel, "triton_poi_acme_0").args = {
             kTensor, {std::int64_t{550055}}, {std::string("rw -")}, {std::string("/tmp/acme.py")}};
       }},
      {"a process group with its backend",
       {"acme"},
       [](Bench& bench) {
         bench.groups.push_back({"acme_tp", "acme tensor parallel", "acme_fabric", {0}, 1});
       }},
      {"sequence numbers of communication",
       {"88123"},
       [](Bench& bench) {
         Instruction& barrier = of_kind(bench, InstructionKind::kCollective, "barrier");
         barrier.comm.emplace().seq = 88123;
       }},
      {"ids of nodes and threads",
       {"777123456", "140737353"},
       [](Bench& bench) {
         Instruction& instruction = call(bench, "aten::relu(Tensor self) -> Tensor", {kTensor});
         instruction.node_id = 777123456;
         instruction.thread = 140737353971;
       }},
      {"a device's stream", {"43210"}, [](Bench& bench) { timed(bench).stream = 43210; }},
      {"the profile's file, hash, variables, lost kernels and labels",
       {"acme", "1234567812345678"},
       [](Bench& bench) {
         timed(bench);
         et_schema::RecordedProfile& profile = *bench.programs.edit(0).profile;
         profile.file = "acme_host_17.json";
         profile.content_hash = 0x1234567812345678;
         profile.variables["ACME_CLUSTER"] = "acme-dc-3";
         profile.kernel_settings["acme"] = "acme";
         profile.lost.push_back({"acme_kernel_v2", "no launch", 1, 10});
         profile.outside = {{et_schema::Outside::kLabel, "acme_function", 0, 10},
                            {et_schema::Outside::kWrapped, "acme::rank", 10, 0}};
       }},
      {"counters of operators",
       {"acme"},
       [](Bench& bench) {
         timed(bench);
         call(bench, "acme::fused(Tensor x) -> Tensor", {kTensor});
         et_schema::RecordedProfile& profile = *bench.programs.edit(0).profile;
         profile.operator_counters = {{"acme::fused", {{"flop", 5}, {"acme__flop.sum", 5}}},
                                      {"acme::of_no_instruction", {{"flop", 7}}}};
         profile.counters = {{"acme_ms", 5}};
       }},
      {"the trace's file and hash",
       {"acme", "1234567812345678"},
       [](Bench& bench) {
         bench.sources[0] = {"acme_run.json", 99, 0x1234567812345678, "1.1.1-acme"};
       }},
      {"step, filters and opened operators",
       {"acme", "1717"},
       [](Bench& bench) {
         et_schema::Selection& selection = bench.programs.edit(0).selection;
         selection.step = "ProfilerStep#1717";
         selection.filters = {"--subgraph AcmeRanker"};
         selection.opened = {{"acme::block", 1, "why", 0}, {"aten::acme", 1, "why", 0}};
       }},
      {"hashes of a benchmark that was read",
       {"0123456789abcdef"},
       [](Bench& bench) {
         et_schema::Selection& selection = bench.programs.edit(0).selection;
         selection.filters = {"--subgraph #0123456789abcdef"};
         selection.opened = {{"#0123456789abcdef", 1, "why", 0}};
       }},
      // Sentences and names that are this project's own; in somebody else's file they are any text.
      {"who made the file and its world",
       {"acme"},
       [](Bench& bench) {
         bench.tool_version = "acme 7";
         bench.groups[0].name = "acme world";
       }},
      {"sentences of a profile",
       {"acme"},
       [](Bench& bench) {
         et_schema::Timing& timing = timed(bench);
         timing.kernel_classes = {{"acme class", 5}};
         et_schema::RecordedProfile& profile = *bench.programs.edit(0).profile;
         profile.observer_source = "as acme measured it";
         profile.lost.push_back({"kernel", "lost by acme", 1, 10});
         profile.outside = {{et_schema::Outside::kLabel, "", 0, 10, {{"acme", 10}}}};
       }},
      {"sentences of communication",
       {"acme"},
       [](Bench& bench) {
         Instruction& call = of_kind(bench, InstructionKind::kCollective, "acme_reduce");
         call.comm.emplace().kind = et_schema::CommKind::kAllReduce;
         call.comm->reduce_op = "acme_sum";
         call.comm->reduce_op_why = "acme said so";
         call.comm->why = "acme stream";
         of_kind(bench, InstructionKind::kWait, "acme_wait").comm.emplace();
         Instruction& alias = of_kind(bench, InstructionKind::kAlias, "acme_alias");
         alias.args = {kTensor};
         alias.results = {kTensor};
       }},
      {"sentences of a selection and a rule",
       {"acme"},
       [](Bench& bench) {
         et_schema::Selection& selection = bench.programs.edit(0).selection;
         selection.filters = {"--acme", "acme"};
         selection.opened = {{"aten::add.Tensor", 1, "because of acme", 0}};
         set_rule(bench, {ValueRule::Integers{0, 9}, "as acme wants"});
       }},
      {"an argument that a public operator has not",
       {"acme"},
       [](Bench& bench) {
         set_rule(bench, {ValueRule::Integers{0, 9}, "aten::embedding.acme"});
       }},
      {"groups of a job of another size",
       {"acme"},
       [](Bench& bench) {
         et_schema::ScaledGroup group;
         group.name = "acme_tp";
         group.description = "acme tensor parallel";
         group.kind = "acme";
         group.why = "acme knows";
         group.rule = "as acme divides";
         bench.scaled = et_schema::ScaledJob{1, {0}, {group}};
       }},
      {"what a mix was made of",
       {"acme", "1234567812345678"},
       [](Bench& bench) {
         call(bench, "aten::relu(Tensor self) -> Tensor", {kTensor});
         bench.origins = {{{0, 1, "layer of acme", "acme 1", 0, "acme.et", 0x1234567812345678, 0}}};
       }},
  };
  return kPlants;
}

TEST(Leaks, NothingThatWasPlantedIsLeft) {
  for (const Plant& plant : plants()) {
    Bench bench = empty_bench();
    plant.set(bench);
    const std::string before = contents_of(bench);
    const std::string after = contents_of(obfuscate(bench).bench);
    for (const std::string& word : plant.words) {
      EXPECT_NE(before.find(word), std::string::npos) << plant.what << ": is not planted: " << word;
      EXPECT_EQ(after.find(word), std::string::npos) << plant.what << ": " << word;
    }
  }
}

TEST(Leaks, OwnSentencesStay) {
  Bench bench = empty_bench();
  et_schema::Selection& selection = bench.programs.edit(0).selection;
  selection.opened = {{"aten::add.Tensor", 1, "a tensor made inside of it is used outside", 0}};
  set_rule(bench, {ValueRule::Integers{0, 9}, "aten::embedding.indices"});
  timed(bench);
  et_schema::RecordedProfile& profile = *bench.programs.edit(0).profile;
  profile.observer_source = et_schema::kObserverMeasured;
  profile.lost = {
      {"",
       et_schema::doubt_text({.launches = 6, .lost = 3, .unknown = 1, .is_clock_unknown = true}), 1,
       0},
      {"",
       et_schema::doubt_text({.launches = 6, .lost = 1, .whole_steps = 1, .clock_shift_ns = -9000}),
       1, 0},
      {"", et_schema::doubt_text({.clock_shift_ns = 123'400}), 1, 0}};
  const Bench hidden = obfuscate(bench).bench;
  EXPECT_EQ(hidden.programs[0].profile->lost, profile.lost);
  const std::string after = contents_of(hidden);
  for (const char* text : {"a tensor made inside of it is used outside", "aten::embedding",
                           "measured at the capture"}) {
    EXPECT_NE(after.find(text), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace understudy::generator
