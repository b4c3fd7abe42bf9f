// Selection, identity and lowering on traces of a few nodes, each with one thing that can go wrong.

#include "generator/job/generate.h"

#include <gtest/gtest.h>

#include <utility>

#include "generator/flow/model_names.h"
#include "trace_builder.h"

namespace understudy::generator::test {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kClamp = "aten::clamp_min(Tensor self, Scalar min) -> Tensor";
constexpr const char* kClone =
    "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor";
constexpr const char* kDropout = "aten::dropout(Tensor input, float p, bool train) -> Tensor";
constexpr const char* kNativeDropout =
    "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)";

et_schema::SlotId slot(const Argument& argument) {
  return std::get<Argument::SlotRef>(argument.value).id;
}

TEST(Generate, TakesTheHighestOperatorAndCarriesItsChildrenAsBody) {
  TraceBuilder builder;
  const auto relu =
      builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {4})}, {tensor(12, 13, {4})});
  builder.add(relu, "aten::clamp_min", kClamp, {tensor(10, 11, {4}), integer(0)},
              {tensor(12, 13, {4})});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions), Names{"aten::relu"});
  EXPECT_EQ(names(program.instructions[0].body), Names{"aten::clamp_min"});
  EXPECT_EQ(program.selection.operators, 1U);
  EXPECT_EQ(program.slots.size(), 2U);
  EXPECT_TRUE(program.slots[slot(program.instructions[0].args[0])].external);
  EXPECT_FALSE(program.slots[slot(program.instructions[0].results[0])].external);
}

TEST(Generate, AWaitTensorJoinsTheCommunicationThatWorksOnItsTensor) {
  constexpr const char* kAllReduce =
      "_c10d_functional::all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor";
  constexpr const char* kWait = "_c10d_functional::wait_tensor(Tensor tensor) -> Tensor";
  TraceBuilder builder;
  const TestValue sum = tensor(12, 13, {4});
  builder.add(2, "_c10d_functional::all_reduce", kAllReduce, {tensor(10, 11, {4})}, {sum});
  builder.add(2, "_c10d_functional::wait_tensor", kWait, {sum}, {sum});
  builder.add(2, "_c10d_functional::wait_tensor", kWait, {tensor(20, 21, {4})}, {});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions), (Names{"allreduce", "wait", "wait"}));
  const Argument& output = std::get<Argument::List>(program.instructions[0].args[1].value).front();
  EXPECT_EQ(program.instructions[1].args, std::vector<Argument>{output});
  EXPECT_FALSE(program.instructions[1].comm->names_group);
  EXPECT_EQ(program.losses[et_schema::Loss::kUnmatchedWaits], 1U) << "nothing works on the other's";
}

TEST(Generate, AReductionWhoseOperatorIsNotRecordedIsASum) {
  TraceBuilder builder;
  builder.add(2, "c10d::allreduce_", "x", {list({tensor(10, 11, {4})})}, {});
  const Program program = builder.program({});
  EXPECT_EQ(program.instructions[0].comm->reduce_op, "sum");
  EXPECT_EQ(program.instructions[0].comm->reduce_op_why, "assumed");
  EXPECT_EQ(program.losses[et_schema::Loss::kAssumedReduceOps], 1U);
}

TEST(Generate, OpensAnOperatorWhoseInnerTensorIsReadLater) {
  TraceBuilder builder;
  const auto dropout =
      builder.add(2, "aten::dropout", kDropout, {tensor(10, 11, {4}), integer(0), integer(1)},
                  {tensor(12, 13, {4})});
  builder.add(dropout, "aten::native_dropout", kNativeDropout,
              {tensor(10, 11, {4}), integer(0), integer(1)},
              {tensor(12, 13, {4}), tensor(14, 15, {4})});
  builder.add(2, "aten::add", kAdd, {tensor(12, 13, {4}), tensor(20, 15, {4}), integer(1)},
              {tensor(16, 17, {4})});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions), (Names{"aten::native_dropout", "aten::add.Tensor"}));
  ASSERT_EQ(program.selection.opened.size(), 1U);
  EXPECT_EQ(program.selection.opened[0],
            (et_schema::Opened{"aten::dropout", 1, "a tensor made inside of it is used outside"}));
  // The saved mask comes back under another tensor id: the same slot all the same.
  EXPECT_EQ(slot(program.instructions[1].args[1]), slot(program.instructions[0].results[1]));
}

TEST(Generate, OpensAnOperatorWithAComplexNumberThatTheTraceDoesNotHold) {
  TraceBuilder builder;
  const TestValue number = tensor(20, 21, {}, "c10::complex<double>");
  const auto mul =
      builder.add(2, "aten::mul", "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor",
                  {tensor(8, 9, {4}, "c10::complex<float>"),
                   {"\"<ComplexDouble>\"", "[]", "ComplexDouble", "[]"}},
                  {tensor(10, 11, {4}, "c10::complex<float>")});
  builder.add(mul, "aten::mul", "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
              {tensor(8, 9, {4}, "c10::complex<float>"), number},
              {tensor(10, 11, {4}, "c10::complex<float>")});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions), (Names{"aten::mul.Tensor"}));
  ASSERT_EQ(program.selection.opened.size(), 1U);
  EXPECT_EQ(program.selection.opened[0],
            (et_schema::Opened{"aten::mul", 1,
                               "it takes a complex number, which the trace does not hold"}));
}

TEST(Generate, ReplaysAnOpenedOperatorThatComputesByItselfAfterItsChildren) {
  TraceBuilder builder;
  builder.add(2, "aten::relu", kRelu, {tensor(8, 9, {4})}, {tensor(10, 11, {4})});
  const auto mul = builder.add(2, "aten::mul_", kMulInPlace,
                               {tensor(10, 11, {4}), tensor(20, 21, {4})}, {tensor(10, 11, {4})});
  builder.add(mul, "aten::clone", kClone, {tensor(10, 11, {4}), none()}, {tensor(12, 13, {4})});
  builder.add(2, "aten::add", kAdd, {tensor(10, 11, {4}), tensor(22, 13, {4}), integer(1)},
              {tensor(16, 17, {4})});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions),
            (Names{"aten::relu", "aten::clone", "aten::mul_.Tensor", "aten::add.Tensor"}));
  EXPECT_TRUE(program.instructions[2].body.empty());
  EXPECT_EQ(program.selection.operators, 4U);
}

TEST(Generate, OpensAnOperatorThatHoldsItsOwnName) {
  TraceBuilder builder;
  const auto outer =
      builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {4})}, {tensor(12, 13, {4})});
  builder.add(outer, "aten::relu", kRelu, {tensor(14, 15, {4})}, {tensor(12, 13, {4})});
  const Program program = builder.program();
  EXPECT_EQ(program.instructions.size(), 1U);
  EXPECT_EQ(program.instructions[0].node_id, outer + 1);
}

TEST(Generate, TakesAReusedAddressWithAnotherLayoutForAnotherTensor) {
  TraceBuilder builder;
  const auto relu =
      builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {4})}, {tensor(12, 13, {4})});
  builder.add(relu, "aten::clamp_min", kClamp, {tensor(10, 11, {4}), integer(0)},
              {tensor(30, 31, {4})});
  builder.add(2, "aten::relu", kRelu, {tensor(32, 31, {2})}, {tensor(34, 35, {2})});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions), (Names{"aten::relu", "aten::relu"}));
  EXPECT_EQ(program.losses[et_schema::Loss::kReusedAddresses], 1U);
  EXPECT_TRUE(program.slots[slot(program.instructions[1].args[0])].external);
}

TEST(Generate, RebuildsAViewThatNoOperatorMade) {
  TraceBuilder builder;
  builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {8})}, {tensor(12, 13, {8})});
  builder.add(2, "aten::relu", kRelu, {tensor(14, 13, {4}, "float", 4)}, {tensor(16, 17, {4})});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions), (Names{"aten::relu", "as_strided", "aten::relu"}));
  EXPECT_EQ(program.instructions[1].kind, InstructionKind::kAlias);
  EXPECT_EQ(slot(program.instructions[1].args[0]), slot(program.instructions[0].results[0]));
  EXPECT_EQ(slot(program.instructions[1].results[0]), slot(program.instructions[2].args[0]));
  EXPECT_EQ(program.losses[et_schema::Loss::kAliases], 1U);
}

TEST(Generate, KeepsTheSlotOfAnInPlaceResult) {
  TraceBuilder builder;
  builder.add(2, "aten::mul_", kMulInPlace, {tensor(10, 11, {4}), tensor(20, 21, {4})},
              {tensor(10, 11, {4})});
  const Program program = builder.program();
  EXPECT_EQ(slot(program.instructions[0].args[0]), slot(program.instructions[0].results[0]));
  EXPECT_EQ(program.slots.size(), 2U);
}

TEST(Generate, TellsZeroByteTensorsApartByTensorId) {
  TraceBuilder builder;
  builder.add(2, "aten::add", kAdd, {tensor(10, 5, {0}), tensor(12, 5, {0}), integer(1)},
              {tensor(14, 5, {0})});
  const Program program = builder.program();
  EXPECT_EQ(program.slots.size(), 3U);
  EXPECT_EQ(program.storages.size(), 3U);
}

TEST(Generate, MarksAPythonScalarAsWrappedNumber) {
  TraceBuilder builder;
  builder.add(2, "aten::add", kAdd, {tensor(10, 11, {4}), tensor(12, 13, {}, "double"), integer(1)},
              {tensor(14, 15, {4})});
  builder.add(2, "aten::add", kAdd,
              {tensor(20, 21, {4}, "double"), tensor(22, 23, {}, "double"), integer(1)},
              {tensor(24, 25, {4}, "double")});
  const Program program = builder.program();
  EXPECT_TRUE(program.slots[slot(program.instructions[0].args[1])].wrapped_number);
  EXPECT_FALSE(program.slots[slot(program.instructions[1].args[1])].wrapped_number);
}

TEST(Generate, TakesAPythonScalarAtTheAddressOfAFreedTensorForANumber) {
  TraceBuilder builder;
  const auto freed = tensor(12, 13, {4}, "long int");
  const auto number = tensor(12, 13, {}, "long int");
  builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {4}, "long int")}, {freed});
  builder.add(2, "aten::add", kAdd, {tensor(20, 21, {8}, "long int"), number, integer(1)},
              {tensor(24, 25, {8}, "long int")});
  builder.add(2, "aten::relu", kRelu, {tensor(26, 27, {8})}, {tensor(28, 29, {8})});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions), (Names{"aten::relu", "aten::add.Tensor", "aten::relu"}));
  EXPECT_EQ(program.losses[et_schema::Loss::kReusedAddresses], 1U);
  EXPECT_TRUE(program.slots[slot(program.instructions[1].args[1])].external);
}

// The norm that clips gradients is such a tensor, and what it is divided by such a number.
TEST(Generate, TakesANumberThatWouldWidenTheResultForANumberWhateverWasThere) {
  TraceBuilder builder;
  const auto narrow = tensor(20, 21, {});
  builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {}, "double")},
              {tensor(12, 13, {}, "double")});
  builder.add(2, "aten::relu", kRelu, {tensor(12, 13, {}, "double")},
              {tensor(14, 15, {}, "double")});
  builder.add(2, "aten::add", kAdd, {narrow, tensor(16, 13, {}, "double"), integer(1)},
              {tensor(24, 25, {})});
  builder.add(2, "aten::add", kAdd, {tensor(26, 27, {4}), tensor(14, 15, {}, "double"), integer(1)},
              {tensor(28, 29, {4})});
  const Program program = builder.program();
  EXPECT_TRUE(program.slots[slot(program.instructions[2].args[1])].wrapped_number);
  EXPECT_EQ(slot(program.instructions[3].args[1]), slot(program.instructions[1].results[0]))
      << "beside a tensor with dimensions one without has no say";
}

TEST(Generate, KeepsAnElementThatAnOperatorTookOfATensor) {
  TraceBuilder builder;
  const auto element = tensor(14, 13, {}, "long int");
  builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {4}, "long int")},
              {tensor(12, 13, {4}, "long int")});
  builder.add(2, "aten::select",
              "aten::select.int(Tensor(a) self, int dim, int index) -> Tensor(a)",
              {tensor(12, 13, {4}, "long int"), integer(0), integer(0)}, {element});
  builder.add(2, "aten::add", kAdd, {tensor(20, 21, {8}, "long int"), element, integer(1)},
              {tensor(24, 25, {8}, "long int")});
  const Program program = builder.program();
  EXPECT_EQ(program.losses[et_schema::Loss::kReusedAddresses], 0U);
  EXPECT_EQ(slot(program.instructions[2].args[1]), slot(program.instructions[1].results[0]));
}

TEST(Generate, FollowsALabelThatDidWorkWithItsGradient) {
  TraceBuilder builder;
  builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {4})}, {tensor(12, 13, {4})});
  const auto label =
      builder.add(2, "torch::autograd::CppNode<Lookup>", "", {tensor(12, 13, {4})}, {});
  builder.add(label, "aten::empty", "aten::empty.memory_format(SymInt[] size) -> Tensor",
              {list({integer(4)})}, {tensor(20, 21, {4})});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions),
            (Names{"aten::relu", "aten::empty.memory_format", "torch::autograd::CppNode<Lookup>"}));
  EXPECT_EQ(program.selection.operators, 2U);
  EXPECT_EQ(program.selection.labels, 1U);
  const auto& gradient = std::get<Argument::List>(program.instructions[2].args[0].value);
  EXPECT_EQ(slot(gradient.at(0)), slot(program.instructions[0].results[0]));
  const auto& allocated = std::get<Argument::List>(program.instructions[2].args[2].value);
  EXPECT_EQ(slot(allocated.at(0)), slot(program.instructions[1].results[0]));
}

TEST(Generate, DoesNotTakeABackwardWithOperatorsForALabelThatDidWork) {
  TraceBuilder builder;
  const auto label = builder.add(2, "MyFunctionBackward", "", {tensor(12, 13, {4})}, {});
  builder.add(label, "aten::relu", kRelu, {tensor(12, 13, {4})}, {tensor(14, 15, {4})});
  EXPECT_EQ(builder.program().selection.labels, 0U);
}

// ---- compiled graphs

constexpr const char* kGraph = "## Call CompiledFxGraph fabc ##";
constexpr const char* kCppKernel = R"(,{"name":"kernel_backend","type":"string","value":"cpp"})";

TestValue text(const std::string& value) {
  return {'"' + value + '"', "[]", "String", "[]"};
}

TEST(Generate, TakesACompiledGraphWithoutKernelsForDroppedWork) {
  TraceBuilder builder;
  const auto region = builder.add(2, "Torch-Compiled Region: 0/0", "", {}, {});
  const auto graph = builder.add(region, kGraph, "", {}, {});
  builder.add(graph, "aten::relu", kRelu, {tensor(10, 11, {4})}, {tensor(12, 13, {4})});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions), (Names{"aten::relu", kGraph}));
  EXPECT_EQ(program.selection.labels, 1U);
  EXPECT_EQ(program.losses[et_schema::Loss::kUnshownGraphs], 1U);
  EXPECT_EQ(program.losses[et_schema::Loss::kNativeWork], 0U);
}

/// With its arguments' roles behind them.
void add_cpp_kernel(TraceBuilder& builder, std::uint64_t graph, const std::string& name,
                    std::vector<TestValue> arguments, const std::string& roles) {
  arguments.push_back(text(roles));
  arguments.push_back(text("c1.py"));
  builder.add(graph, name, "", arguments, {}, kCppKernel);
}

TEST(Generate, TakesTheKernelsOfACompiledGraphWhereTheTraceShowsThem) {
  TraceBuilder builder;
  const auto graph = builder.add(2, kGraph, "", {}, {});
  add_cpp_kernel(builder, graph, "cpp_fused_gelu_0", {tensor(10, 11, {4}), tensor(12, 13, {4})},
                 "r w");
  const auto other = builder.add(2, kGraph, "", {}, {});
  builder.add(other, "aten::relu", kRelu, {tensor(12, 13, {4})}, {tensor(14, 15, {4})});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions), (Names{"cpp_fused_gelu_0", "aten::relu"}));
  EXPECT_EQ(program.instructions[0].kind, et_schema::InstructionKind::kKernel);
  EXPECT_EQ(std::get<std::string>(program.instructions[0].args[2].value), "r w");
  EXPECT_EQ(program.selection.labels, 0U);
  EXPECT_EQ(program.losses[et_schema::Loss::kUnshownGraphs], 0U);
}

TEST(Generate, WhatACompiledGraphAllocatesForAKernelIsTheKernelsResult) {
  TraceBuilder builder;
  const auto graph = builder.add(2, kGraph, "", {}, {});
  add_cpp_kernel(builder, graph, "cpp_fused_gelu_0", {tensor(10, 11, {4}), tensor(12, 13, {4})},
                 "r w");
  add_cpp_kernel(builder, graph, "cpp_fused_add_1", {tensor(12, 13, {4}), tensor(10, 11, {4})},
                 "r w");
  add_cpp_kernel(builder, graph, "cpp_fused_gelu_2", {tensor(10, 11, {4}), tensor(12, 13, {4})},
                 "r w");
  const Program program = builder.program();
  const et_schema::Instruction& first = program.instructions[0];
  EXPECT_TRUE(std::holds_alternative<et_schema::Argument::Undefined>(first.args[1].value));
  ASSERT_EQ(first.results.size(), 1U);
  EXPECT_FALSE(program.slots[slot(first.results[0])].external);
  const et_schema::Instruction& second = program.instructions[1];
  EXPECT_EQ(slot(second.args[0]), slot(first.results[0]));
  EXPECT_TRUE(second.results.empty()) << "it was read before, so it was there";
  EXPECT_TRUE(program.slots[slot(second.args[1])].external);
  EXPECT_EQ(program.losses[et_schema::Loss::kGraphAllocations], 2U) << "the address is used again";
}

TEST(Generate, WhatACompiledGraphAllocatesForAnOperatorIsAllocatedBeforeIt) {
  TraceBuilder builder;
  const auto graph = builder.add(2, kGraph, "", {}, {});
  const auto add_product = [&](std::uint64_t parent, int out) {
    builder.add(parent, "aten::mm",
                "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)",
                {tensor(10, 11, {2, 2}), tensor(10, 11, {2, 2}), tensor(out, out + 1, {2, 2})},
                {tensor(out, out + 1, {2, 2})});
  };
  add_product(graph, 12);
  add_product(2, 14);
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions),
            (Names{"aten::empty_strided", "aten::mm.out", kGraph, "aten::mm.out"}));
  const et_schema::SlotId made = slot(program.instructions[0].results[0]);
  EXPECT_EQ(slot(program.instructions[1].args[2]), made);
  EXPECT_EQ(slot(program.instructions[1].results[0]), made);
  EXPECT_FALSE(program.slots[made].external);
  EXPECT_TRUE(program.slots[slot(program.instructions[3].args[2])].external)
      << "outside of a graph operators show what they allocate";
  EXPECT_EQ(program.losses[et_schema::Loss::kGraphAllocations], 1U);
  EXPECT_EQ(program.selection.operators, 3U) << "the allocation is an operator, too";
}

TEST(Generate, AGraphsMemoryOfWhichAPartShowsFirstWasThereBefore) {
  TraceBuilder builder;
  const auto graph = builder.add(2, kGraph, "", {}, {});
  add_cpp_kernel(builder, graph, "cpp_fused_cat_0", {tensor(10, 11, {4}), tensor(12, 13, {4})},
                 "r w");
  builder.add(graph, "aten::relu", kRelu, {tensor(14, 13, {8})}, {tensor(16, 17, {8})});
  const Program program = builder.program();
  EXPECT_TRUE(program.instructions[0].results.empty());
  EXPECT_TRUE(program.slots[slot(program.instructions[0].args[1])].external);
  EXPECT_EQ(program.losses[et_schema::Loss::kGraphAllocations], 0U);
}

/// A Python function's backward with a gradient in, between two operators of the backward pass.
TraceBuilder handing_on(const TestValue& taken) {
  TraceBuilder builder;
  builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {4})}, {tensor(12, 13, {4})});
  builder.add(2, "ReduceInForwardBackward", "", {tensor(12, 13, {4})}, {});
  builder.add(2, "aten::relu", kRelu, {taken}, {tensor(20, 21, {4})});
  return builder;
}

/// With times: so long the labels took by themselves, the first one `first_ns` longer.
Program linked(const TraceBuilder& builder, std::int64_t self_ns, std::int64_t device_ns = 0,
               std::int64_t first_ns = 0) {
  std::vector<et_schema::Trace> traces;
  traces.push_back(builder.trace());
  Link link;
  link.nodes.resize(traces[0].nodes.size());
  for (NodeIndex node = 0; node < traces[0].nodes.size(); ++node) {
    if (traces[0].nodes[node].name == "ReduceInForwardBackward") {
      const std::int64_t own_ns = self_ns + std::exchange(first_ns, 0);
      link.nodes[node] = NodeTimes{1000, own_ns, own_ns, device_ns};
    }
  }
  std::vector<Link> links;
  links.push_back(std::move(link));
  return generate(traces, {}, links).programs[0];
}

TEST(Generate, ABackwardThatHandsItsGradientOnDidNoWork) {
  const Program program = linked(handing_on(tensor(12, 13, {4})), 40'000);
  EXPECT_EQ(names(program.instructions), (Names{"aten::relu", "aten::relu"}));
  EXPECT_EQ(program.selection.labels, 0U);
  EXPECT_EQ(program.losses[et_schema::Loss::kNoWork], 1U);
  EXPECT_EQ(program.losses[et_schema::Loss::kNativeWork], 0U);
}

TEST(Generate, AGradientMayBeReadAsAViewBeforeItIsTaken) {
  TraceBuilder builder = handing_on(tensor(12, 13, {2, 2}));
  builder.add(2, "aten::relu", kRelu, {tensor(12, 13, {4})}, {tensor(24, 25, {4})});
  EXPECT_EQ(linked(builder, 40'000).selection.labels, 0U);
}

TEST(Generate, ABackwardThatOnceTookLongStillHandsItsGradientOn) {
  TraceBuilder builder = handing_on(tensor(12, 13, {4}));
  for (int more = 0; more < 2; ++more) {
    builder.add(2, "ReduceInForwardBackward", "", {tensor(20, 21, {4})}, {});
    builder.add(2, "aten::relu", kRelu, {tensor(20, 21, {4})}, {tensor(22 + more, 30 + more, {4})});
  }
  EXPECT_EQ(linked(builder, 40'000, 0, 400'000).losses[et_schema::Loss::kNoWork], 3U);
}

TEST(Generate, ABackwardThatHandsAnotherGradientOnDidWork) {
  // Fresh memory; the same memory as another shape; nothing takes it.
  for (const TestValue& taken : {tensor(30, 31, {4}), tensor(12, 13, {2}), tensor(40, 41, {8})}) {
    const Program program = linked(handing_on(taken), 40'000);
    EXPECT_EQ(program.selection.labels, 1U);
    EXPECT_EQ(program.losses[et_schema::Loss::kNoWork], 0U);
  }
}

TEST(Generate, ABackwardThatTookLongDidWork) {
  const TraceBuilder builder = handing_on(tensor(12, 13, {4}));
  EXPECT_EQ(linked(builder, 400'000).selection.labels, 1U) << "in place, out of sight";
  EXPECT_EQ(linked(builder, 40'000, 5'000).selection.labels, 1U) << "on a device";
  EXPECT_EQ(builder.program().selection.labels, 0U) << "of unknown time, with nothing below it";
}

TEST(Generate, ABackwardWhoseGradientsMemoryIsBegunAnewDidWork) {
  TraceBuilder builder;
  builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {4})}, {tensor(12, 13, {4})});
  builder.add(2, "ReduceInForwardBackward", "", {tensor(12, 13, {4})}, {});
  builder.add(2, "aten::relu", kRelu, {tensor(16, 17, {4})}, {tensor(12, 13, {4})});
  builder.add(2, "aten::relu", kRelu, {tensor(12, 13, {4})}, {tensor(20, 21, {4})});
  EXPECT_EQ(linked(builder, 40'000).selection.labels, 1U);
}

TraceBuilder three_steps() {
  TraceBuilder builder;
  for (int step = 4; step < 7; ++step) {
    const auto mark = builder.add(2, "ProfilerStep#" + std::to_string(step), "", {}, {});
    for (int i = 3; i < step; ++i) {
      builder.add(mark, "aten::relu", kRelu, {tensor(10, 11, {4})}, {tensor(12, 13, {4})});
    }
  }
  return builder;
}

TEST(Generate, TakesTheFirstCompleteStepUnlessToldOtherwise) {
  const TraceBuilder builder = three_steps();
  EXPECT_EQ(builder.program().selection.step, "ProfilerStep#4");
  EXPECT_EQ(builder.program().selection.operators, 1U);
  EXPECT_EQ(builder.program().losses[et_schema::Loss::kNodesOutsideStep], 5U);
  EXPECT_EQ(builder.program({.step = "5"}).selection.operators, 2U);
  EXPECT_EQ(builder.program({.step = "all"}).selection.operators, 6U);
  EXPECT_EQ(builder.program({.step = "6"}).selection.step,
            "ProfilerStep#6 (its end is not in the trace)");
}

TEST(Generate, WhatALoaderHandsOverIsMadeBeforeTheRun) {
  TraceBuilder builder;
  const TestValue storage{"\"<Storage>\"", "[]", "Storage", "[]"};
  builder.add(2, "aten::set_",
              "aten::set_.source_Storage_storage_offset(Tensor(a!) self, Storage source, SymInt "
              "storage_offset, SymInt[] size, SymInt[] stride=[]) -> Tensor(a!)",
              {tensor(6, 7, {0}), storage, integer(0), list({integer(4)}), list({integer(1)})},
              {tensor(6, 9, {4})});
  builder.add(2, "aten::relu", kRelu, {tensor(6, 9, {4})}, {tensor(10, 11, {4})});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions), Names{"aten::relu"});
  EXPECT_EQ(program.selection.operators, 1U);
  EXPECT_TRUE(program.slots[slot(program.instructions[0].args[0])].external);
  EXPECT_EQ(program.losses[et_schema::Loss::kPlaceholderValues], 1U);
}

TEST(Generate, AStorageThatAnOperatorHandsItselfIsItsOwn) {
  TraceBuilder builder;
  const TestValue storage{"\"<Storage>\"", "[]", "Storage", "[]"};
  const auto clone =
      builder.add(2, "aten::clone", kClone, {tensor(10, 11, {4}), none()}, {tensor(6, 9, {4})});
  builder.add(clone, "aten::set_",
              "aten::set_.source_Storage(Tensor(a!) self, Storage source) -> Tensor(a!)",
              {tensor(6, 7, {0}), storage}, {tensor(6, 9, {4})});
  builder.add(2, "aten::relu", kRelu, {tensor(6, 9, {4})}, {tensor(12, 13, {4})});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions), (Names{"aten::clone", "aten::relu"}));
  EXPECT_FALSE(program.slots[slot(program.instructions[1].args[0])].external);
}

TEST(Generate, FiltersByNameAndCountsWhatItLeavesOut) {
  TraceBuilder builder;
  builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {4})}, {tensor(12, 13, {4})});
  builder.add(2, "aten::add", kAdd, {tensor(12, 13, {4}), tensor(12, 13, {4}), integer(1)},
              {tensor(16, 17, {4})});
  const Program program = builder.program({.exclude = "relu"});
  EXPECT_EQ(names(program.instructions), Names{"aten::add.Tensor"});
  EXPECT_EQ(program.losses[et_schema::Loss::kFilteredOperators], 1U);
  EXPECT_EQ(program.selection.filters, Names{"--exclude relu"});
  // What the operator that was left out would have made is made before the run.
  EXPECT_TRUE(program.slots[slot(program.instructions[0].args[0])].external);
}

}  // namespace
}  // namespace understudy::generator::test
