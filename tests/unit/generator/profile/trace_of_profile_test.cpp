#include "generator/profile/trace_of_profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "et_schema/model/losses.h"
#include "testing/error_text.h"

namespace understudy::generator {
namespace {

using et_schema::Loss;
using et_schema::Node;
using et_schema::Profile;
using et_schema::Tensor;
using et_schema::Trace;

/// Answers as elementwise operators do: like the first tensor, and new.
std::vector<CallResults> like_first(std::span<const AskedCall> calls) {
  std::vector<CallResults> answers;
  for (const AskedCall& call : calls) {
    CallResults& answer = answers.emplace_back();
    et_schema::for_each_tensor(call.inputs, [&](const Tensor& tensor) {
      if (answer.tensors.empty()) {
        ResultTensor& result = answer.tensors.emplace_back();
        result.dtype = tensor.dtype;
        result.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
        result.strides.assign(tensor.strides.begin(), tensor.strides.end());
      }
    });
  }
  return answers;
}

std::vector<CallResults> know_nothing(std::span<const AskedCall> calls) {
  return std::vector<CallResults>(calls.size(), CallResults{{}, {}, "contents decide"});
}

/// A profile, event by event; times in microseconds.
class ProfileText {
 public:
  /// `arguments`: the lists of record_shapes, or other members of "args".
  ProfileText& op(const std::string& name, int start_us, int duration_us,
                  const std::string& arguments = "", int tid = 1) {
    events_ += fmt::format(
        R"({}{{"ph":"X","cat":"cpu_op","name":"{}","pid":1,"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
        events_.empty() ? "" : ",\n", name, tid, start_us, duration_us, arguments);
    return *this;
  }
  ProfileText& mark(const std::string& name, int start_us, int duration_us) {
    events_ += fmt::format(
        R"({}{{"ph":"X","cat":"user_annotation","name":"{}","pid":1,"tid":1,"ts":{},"dur":{}}})",
        events_.empty() ? "" : ",\n", name, start_us, duration_us);
    return *this;
  }
  /// bytes < 0: a free.
  ProfileText& memory(int time_us, int address, std::int64_t bytes) {
    events_ += fmt::format(
        R"(,{{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":{},)"
        R"("args":{{"Addr":{},"Bytes":{},"Device Type":1,"Total Allocated":100000}}}})",
        time_us, address, bytes);
    return *this;
  }
  /// What was launched at that time ran on a device.
  ProfileText& launch(int time_us, const std::string& name,
                      const std::string& category = "kernel") {
    ++launches_;
    events_ += fmt::format(
        R"(,{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{0},"dur":1,"args":{{"correlation":{1}}}}},)"
        R"({{"ph":"X","cat":"{2}","name":"{3}","pid":0,"tid":7,"ts":{0},"dur":1,"args":{{"device":0,"stream":7,"correlation":{1}}}}})",
        time_us, launches_, category, name);
    return *this;
  }
  [[nodiscard]] Profile parsed() const {
    return et_schema::parse_kineto("{\"traceEvents\":[" + events_ + "]}", "p.json",
                                   et_schema::KinetoDetail::kArguments);
  }
  [[nodiscard]] Trace trace(const AskResults& ask = like_first) const {
    Profile profile = parsed();
    return trace_of_profile(profile, ask);
  }

 private:
  std::string events_;
  int launches_ = 0;
};

/// The names of operators and marks.
std::vector<std::string> names_in(const Trace& trace) {
  std::vector<std::string> names;
  for (const Node& node : trace.nodes) {
    if (!node.name.starts_with("[pytorch")) {
      names.emplace_back(node.name);
    }
  }
  return names;
}

/// Floats of 4 × 8 and the like.
std::string shapes(const std::string& dims, const std::string& strides, const std::string& types,
                   const std::string& values) {
  return fmt::format(R"("Input Dims":{},"Input Strides":{},"Input type":{},"Concrete Inputs":{})",
                     dims, strides, types, values);
}

const std::string kOne = shapes("[[4,8]]", "[[8,1]]", R"(["float"])", R"([""])");
const std::string kTwo = shapes("[[4,8],[4,8],[]]", "[[8,1],[8,1],[]]",
                                R"(["float","float","Scalar"])", R"(["","","1"])");

const Node& node_of(const Trace& trace, std::string_view name, int which = 0) {
  for (const Node& node : trace.nodes) {
    if (node.name == name && which-- == 0) {
      return node;
    }
  }
  throw std::out_of_range(std::string(name));
}

const Tensor& input(const Node& node, std::size_t index) {
  return node.inputs[index].tensor();
}
const Tensor& output(const Node& node) {
  return node.outputs[0].tensor();
}

TEST(CallBook, NumbersEachCallOnce) {
  CallBook book;
  const AskedCall one = {"a::b() -> Tensor", {}};
  const AskedCall other = {"a::c() -> Tensor", {}};
  EXPECT_EQ(book.add(std::vector{one, one}), (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(book.new_calls().instructions.size(), 1U);
  EXPECT_EQ(book.add(std::vector{other, one}), (std::vector<std::size_t>{1, 0}));
  ASSERT_EQ(book.new_calls().instructions.size(), 1U);
  EXPECT_EQ(book.new_calls().instructions[0].name, "a::c");
}

TEST(TraceOfProfile, OverloadsFollowNumberAndTypesOfArguments) {
  const Trace trace =
      ProfileText()
          .op("aten::add", 0, 10, kTwo)
          .op("aten::add", 20, 10,
              shapes("[[4,8],[],[]]", "[[8,1],[],[]]", R"(["float","Scalar","Scalar"])",
                     R"(["","2.5","1"])"))
          .op("aten::sum", 40, 10,
              shapes("[[4,8],[],[],[]]", "[[8,1],[],[],[]]",
                     R"(["float","ScalarList","Scalar",""])", R"(["","[0, 1]","False",""])"))
          .op("aten::add", 60, 10,
              shapes("[[4,8],[4,8],[],[4,8]]", "[[8,1],[8,1],[],[8,1]]",
                     R"(["float","float","Scalar","float"])", R"(["","","1",""])"))
          .trace();
  EXPECT_TRUE(node_of(trace, "aten::add").op_schema.starts_with("aten::add.Tensor("));
  EXPECT_TRUE(node_of(trace, "aten::add", 1).op_schema.starts_with("aten::add.Scalar("));
  EXPECT_EQ(node_of(trace, "aten::add", 1).inputs[1].as_double(), 2.5);
  const Node& sum = node_of(trace, "aten::sum");
  EXPECT_TRUE(sum.op_schema.starts_with("aten::sum.dim_IntList("));
  EXPECT_EQ(sum.inputs[1].items()[1].as_int(), 1);
  EXPECT_FALSE(sum.inputs[2].as_bool());
  const Node& out = node_of(trace, "aten::add", 2);
  EXPECT_TRUE(out.op_schema.starts_with("aten::add.out("));
  EXPECT_EQ(output(out).tensor_id, input(out, 3).tensor_id) << "it returns what it writes";
}

TEST(TraceOfProfile, NumbersThatAreNotToldAreDefaultsOrOpenTheirOperator) {
  const std::string kSum =
      shapes("[[4,8],[],[],[]]", "[[8,1],[],[],[]]", R"(["float","ScalarList","Scalar",""])", "[]");
  const std::string kAdd =
      shapes("[[4,8],[4,8],[]]", "[[8,1],[8,1],[]]", R"(["float","float","Scalar"])", "[]");
  const Trace trace =
      ProfileText().op("aten::add", 0, 10, kAdd).op("aten::sum", 20, 10, kSum).trace();
  EXPECT_EQ(node_of(trace, "aten::add").inputs[2].as_int(), 1);
  EXPECT_EQ(trace.losses[Loss::kAssumedArguments], 1U);
  EXPECT_EQ(node_of(trace, "aten::sum").op_schema, "") << "over which dimensions is not known";
}

TEST(TraceOfProfile, ListsAndNumbersThatAreNeededAndNotToldOpenTheirOperator) {
  const auto schema_of = [](const std::string& op, const std::string& dims,
                            const std::string& types) {
    const Trace trace =
        ProfileText()
            .op(op, 0, 10, fmt::format(R"("Input Dims":{},"Input type":{})", dims, types))
            .trace();
    return node_of(trace, op).op_schema;
  };
  EXPECT_EQ(schema_of("aten::fill_", "[[4,8],[]]", R"(["float","Scalar"])"), "");
  EXPECT_EQ(schema_of("aten::roll", "[[4,8],[],[]]", R"(["float","",""])"), "");
  EXPECT_EQ(schema_of("aten::roll", "[[4,8],[],[]]", R"(["float","IntList","IntList"])"), "");
  EXPECT_NE(schema_of("aten::squeeze_copy", "[[4,8]]", R"(["float"])"), "");
}

// PyTorch before 2.2.
TEST(TraceOfProfile, CommunicationIsToldByTheEventsAroundIt) {
  const auto call_of = [](const ProfileText& text) {
    Profile profile = text.parsed();
    profile.distributed = et_schema::DistributedInfo{"nccl", 0, 4, {}};
    const Trace trace = trace_of_profile(profile, know_nothing);
    const auto calls = et_schema::communication_calls(trace);
    std::string told = fmt::format("{}:", calls.size());
    for (const auto& [node, call] : calls) {
      told += fmt::format(" {}{} of {},", call.name, call.seq ? fmt::format(" {}", *call.seq) : "",
                          call.group_size);
      for (const auto* const tensors : {&call.inputs, &call.outputs}) {
        for (const et_schema::Tensor* const tensor : *tensors) {
          told += fmt::format(" {} {}", tensor->numel, to_string(tensor->dtype));
        }
        told += call.lacks_splits ? " in unknown parts," : ",";
      }
    }
    return told;
  };
  const std::string two = R"("Input Dims":[[96],[32],[],[],[],[]],)"
                          R"("Input type":["c10::Half","c10::Half","","","","Scalar"])";
  const std::string one =
      R"("Input Dims":[[32],[],[]],"Input type":["c10::Half","Scalar","Scalar"])";
  EXPECT_EQ(call_of(ProfileText().op("c10d::alltoall_base_", 0, 50, two)),
            "1: all_to_allv of 4, 32 float16 in unknown parts, 96 float16 in unknown parts,");
  EXPECT_EQ(call_of(ProfileText()
                        .op("c10d::scatter_", 0, 50,
                            R"("Input Dims":[[[32]],[],[],[],[]],)"
                            R"("Input type":["TensorList","","","Scalar","Scalar"])")
                        .op("record_param_comms", 5, 40, R"("Input Dims":[[]],"Input type":[""])")),
            "1: scatter of 4, 32 float32 32 float32 32 float32 32 float32, 32 float32,");
  EXPECT_EQ(call_of(ProfileText().op("aten::relu", 60, 5, one).op("nccl:all_gather", 0, 50, one)),
            "1: all_gather of 4, 32 float16, 32 float16 32 float16 32 float16 32 float16,");
  EXPECT_EQ(
      call_of(ProfileText().op("c10d::barrier", 0, 50, one).op("record_param_comms", 5, 40, "")),
      "1: barrier of 4,,,");
  EXPECT_EQ(call_of(ProfileText()
                        .op("engine::gather_all", 0, 50, one)
                        .launch(10, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgs)")),
            "1: _allgather_base of 4, 32 float16, 128 float16,");
  EXPECT_EQ(call_of(ProfileText()
                        .op("aten::relu", 0, 50, one)
                        .launch(10, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgs)")),
            "0:")
      << "what is gathered is not its argument";
  const auto numbers = [](const std::string& group) {
    return fmt::format(R"("Input Dims":[[],[],[],[]],"Input type":["Scalar","Scalar","Scalar",""],)"
                       R"("Concrete Inputs":["7","{}","1",""])",
                       group);
  };
  EXPECT_EQ(call_of(ProfileText().op("record_param_comms", 0, 5, numbers("0"))),
            "1: wait 7 of 4,,,");
  EXPECT_EQ(call_of(ProfileText().op("record_param_comms", 0, 5, numbers("94111"))), "0:")
      << "a group is made";
  EXPECT_TRUE(call_of(ProfileText()
                          .op("record_param_comms", 0, 50, numbers("0"))
                          .op("nccl:all_reduce", 5, 40, one))
                  .starts_with("1: allreduce 7 of 4,"));
}

TEST(TraceOfProfile, ATensorIsReadByWhatFollowsIt) {
  const Trace trace = ProfileText()
                          .op("aten::relu", 0, 10, kOne)
                          .op("aten::tanh", 20, 10, kOne)
                          .op("aten::add", 40, 10, kTwo)
                          .trace();
  const Tensor& relu = output(node_of(trace, "aten::relu"));
  const Node& tanh = node_of(trace, "aten::tanh");
  EXPECT_EQ(input(tanh, 0).tensor_id, relu.tensor_id);
  const Node& add = node_of(trace, "aten::add");
  EXPECT_EQ(input(add, 1).tensor_id, output(tanh).tensor_id) << "nobody has read it";
  EXPECT_NE(input(add, 0).tensor_id, output(tanh).tensor_id) << "an older one stands before it";
  EXPECT_EQ(trace.losses[Loss::kExternalTensors], 1U) << "the input of relu";
}

TEST(TraceOfProfile, WhatIsFreedIsReadNoMore) {
  const Trace trace = ProfileText()
                          .op("aten::relu", 0, 10, kOne)
                          .memory(5, 1000, 512)
                          .op("aten::tanh", 20, 10, kOne)
                          .memory(25, 2000, 512)
                          .memory(32, 2000, -512)  // tanh's result, which nobody reads
                          .op("aten::neg", 40, 10, kOne)
                          .memory(45, 3000, 512)
                          .trace();
  EXPECT_EQ(input(node_of(trace, "aten::neg"), 0).tensor_id,
            output(node_of(trace, "aten::relu")).tensor_id);
}

TEST(TraceOfProfile, ChildrenHaveTheirParentsTensors) {
  const Trace trace = ProfileText()
                          .op("aten::add", 0, 100, kTwo)
                          .op("aten::neg", 10, 20, kOne)
                          .op("aten::abs", 40, 20, kOne)
                          .trace();
  const Node& add = node_of(trace, "aten::add");
  EXPECT_EQ(input(node_of(trace, "aten::neg"), 0).tensor_id, input(add, 0).tensor_id);
  const Node& abs = node_of(trace, "aten::abs");
  EXPECT_EQ(input(abs, 0).tensor_id, output(node_of(trace, "aten::neg")).tensor_id);
  EXPECT_EQ(output(add).tensor_id, output(abs).tensor_id) << "the last that its children made";
  EXPECT_EQ(trace.nodes[abs.parent].name, "aten::add");
}

TEST(TraceOfProfile, WhatNothingTellsIsOpened) {
  const Trace trace = ProfileText()
                          .op("aten::add", 0, 100, kTwo)
                          .op("aten::relu_", 10, 20, kOne)
                          .op("vendor::fused", 200, 10, kOne)
                          .op("aten::mul", 300, 10)
                          .trace(know_nothing);
  EXPECT_FALSE(node_of(trace, "aten::add").op_schema.empty()) << "its child's result is its own";
  EXPECT_FALSE(node_of(trace, "aten::relu_").op_schema.empty()) << "it returns what it writes";
  EXPECT_TRUE(node_of(trace, "vendor::fused").op_schema.empty());
  EXPECT_EQ(trace.losses[Loss::kOpenedOperators], 1U);
  EXPECT_TRUE(node_of(trace, "aten::mul").op_schema.empty());
  EXPECT_EQ(trace.losses[Loss::kUnshapedOperators], 1U);
  const Trace opened = ProfileText().op("aten::add", 0, 100, kTwo).trace(know_nothing);
  EXPECT_TRUE(node_of(opened, "aten::add").op_schema.empty());
  EXPECT_EQ(opened.losses[Loss::kOpenedOperators], 1U);
}

TEST(TraceOfProfile, AutocastCallsTheInnerOne) {
  const std::string half = shapes("[[4,8]]", "[[8,1]]", R"(["c10::Half"])", R"([""])");
  const Trace trace = ProfileText()
                          .op("aten::tanh", 0, 200, kOne)
                          .op("aten::relu", 10, 100, kOne)
                          .op("aten::relu", 20, 50, half)
                          .trace();
  EXPECT_TRUE(node_of(trace, "aten::tanh").op_schema.empty()) << "a replay would compute in floats";
  EXPECT_TRUE(node_of(trace, "aten::relu").op_schema.empty());
  EXPECT_EQ(input(node_of(trace, "aten::relu", 1), 0).dtype, et_schema::DType::kFloat16);
  EXPECT_EQ(trace.losses[Loss::kOpenedOperators], 2U);
}

TEST(TraceOfProfile, WhatACallWritesIsNoneOfItsOtherArguments) {
  const std::string two = shapes("[[4,8],[4,8],[]]", "[[8,1],[8,1],[]]",
                                 R"(["float","float","Scalar"])", R"(["","","1"])");
  const Trace trace =
      ProfileText().op("aten::tanh", 0, 10, kOne).op("aten::add_", 20, 10, two).trace();
  const Node& add = node_of(trace, "aten::add_");
  EXPECT_EQ(input(add, 0).storage_id, output(node_of(trace, "aten::tanh")).storage_id);
  EXPECT_NE(input(add, 0).storage_id, input(add, 1).storage_id);
}

TEST(TraceOfProfile, ABackwardNodeReadsWhatItsForwardOperatorHad) {
  const auto sequence = [](int number, int forward_thread) {
    return fmt::format(R"(,"Sequence number":{},"Fwd thread id":{})", number, forward_thread);
  };
  const Trace trace = ProfileText()
                          .op("aten::tanh", 0, 10, kOne + sequence(7, 0))
                          .op("aten::exp", 20, 10, kOne + sequence(8, 0))
                          .op("aten::neg", 40, 10, kOne)
                          .op("autograd::engine::evaluate_function: TanhBackward0", 100, 50,
                              sequence(7, 1).substr(1), 2)
                          .op("aten::abs", 110, 10, kOne, 2)
                          .trace();
  const Node& tanh = node_of(trace, "aten::tanh");
  const std::int64_t read = input(node_of(trace, "aten::abs"), 0).tensor_id;
  EXPECT_TRUE(read == input(tanh, 0).tensor_id || read == output(tanh).tensor_id);
  const Node& label = node_of(trace, "autograd::engine::evaluate_function: TanhBackward0");
  EXPECT_EQ(label.scope, et_schema::Scope::kBackwardFunction);
  EXPECT_EQ(label.seq_id, 7);
  EXPECT_EQ(label.fw_tid, tanh.tid);
}

std::string sequence(int number, int forward_thread = 0) {
  return fmt::format(R"("Sequence number":{},"Fwd thread id":{})", number, forward_thread);
}

/// A node of the backward pass: its label, and in it what autograd calls.
ProfileText& node(ProfileText& text, const std::string& name, int number, int start_us) {
  return text
      .op("autograd::engine::evaluate_function: " + name, start_us, 90, sequence(number, 1), 2)
      .op(name, start_us + 1, 50, kOne + "," + sequence(number, 1), 2);
}

TEST(TraceOfProfile, TheBackwardPassTellsWhatIsReadAgain) {
  ProfileText text;
  text.op("aten::relu", 0, 10, kOne + "," + sequence(1))
      .op("aten::tanh", 20, 10, kOne + "," + sequence(2))
      .op("aten::exp", 40, 10, kOne + "," + sequence(3))
      .op("aten::add", 60, 10, kTwo + "," + sequence(4));
  node(text, "AddBackward0", 4, 100);
  node(text, "ExpBackward0", 3, 200).op("aten::mul", 210, 10, kTwo, 2);
  // tanh's node adds its gradient to that of the sum: its argument has two readers.
  node(text, "TanhBackward0", 2, 300)
      .op("aten::neg", 310, 10, kOne, 2)
      .op("aten::add", 360, 10, kTwo, 2);
  node(text, "ReluBackward0", 1, 400).op("aten::abs", 410, 10, kOne, 2);
  const Trace trace = text.trace();
  const Node& add = node_of(trace, "aten::add");
  EXPECT_EQ(input(add, 0).tensor_id, output(node_of(trace, "aten::relu")).tensor_id);
  EXPECT_EQ(input(add, 1).tensor_id, output(node_of(trace, "aten::exp")).tensor_id);
  const Node& sum = node_of(trace, "aten::add", 1);
  EXPECT_EQ(input(sum, 1).tensor_id, output(node_of(trace, "aten::neg")).tensor_id);
  EXPECT_EQ(input(node_of(trace, "aten::abs"), 0).tensor_id, output(sum).tensor_id);
}

TEST(TraceOfProfile, ANodeFreesWhatItsOperatorRead) {
  ProfileText text;
  text.op("aten::relu", 0, 10, kOne)
      .memory(5, 1000, 512)
      .op("aten::tanh", 20, 10, kOne)
      .memory(25, 2000, 512)
      .op("aten::exp", 40, 10, kOne + "," + sequence(3));
  node(text, "ExpBackward0", 3, 200).memory(280, 1000, -512);
  const Trace trace = text.trace();
  EXPECT_EQ(input(node_of(trace, "aten::exp"), 0).tensor_id,
            output(node_of(trace, "aten::relu")).tensor_id);
}

TEST(TraceOfProfile, ChildrenTellTheListsThatAreLeftOut) {
  const Trace trace =
      ProfileText()
          .op("aten::_foreach_addcdiv_", 0, 100,
              shapes("[[],[],[],[]]", "[[],[],[],[]]",
                     R"(["TensorList","TensorList","TensorList",""])", R"(["","","",""])"))
          .op("aten::addcdiv_", 10, 10,
              shapes("[[4,8],[4,8],[4,8],[]]", "[[8,1],[8,1],[8,1],[]]",
                     R"(["float","float","float","Scalar"])", R"(["","","","0.5"])"))
          .op("aten::addcdiv_", 30, 10,
              shapes("[[2,8],[2,8],[2,8],[]]", "[[8,1],[8,1],[8,1],[]]",
                     R"(["float","float","float","Scalar"])", R"(["","","","0.25"])"))
          .trace();
  const Node& list = node_of(trace, "aten::_foreach_addcdiv_");
  EXPECT_TRUE(list.op_schema.starts_with("aten::_foreach_addcdiv_.ScalarList("));
  ASSERT_EQ(list.inputs[2].items().size(), 2U);
  EXPECT_EQ(list.inputs[2].items()[1].tensor().sizes[0], 2);
  EXPECT_EQ(list.inputs[3].items()[1].as_double(), 0.25);
}

TEST(TraceOfProfile, AnEmptyListBesideShortOnesIsEmpty) {
  const Trace trace =
      ProfileText()
          .op("torch::autograd::AccumulateGrad", 0, 5, kOne)
          .op("aten::_fused_sgd_", 10, 10,
              shapes("[[[4,8]],[[4,8]],[],[],[],[],[],[],[],[],[],[]]",
                     "[[[8,1]],[[8,1]],[],[],[],[],[],[],[],[],[],[]]",
                     R"(["TensorList","TensorList","TensorList","Scalar","Scalar","Scalar",)"
                     R"("Scalar","Scalar","Scalar","Scalar","",""])",
                     R"(["","","","0.","0.9","0.1","0.","False","False","False","",""])"))
          .trace();
  const Node& step = node_of(trace, "aten::_fused_sgd_");
  EXPECT_EQ(step.inputs[1].items().size(), 1U);
  EXPECT_EQ(step.inputs[2].items().size(), 0U);
}

TEST(TraceOfProfile, ListsHaveTheTypesOfTheirTensors) {
  const std::string half = shapes("[[4,8]]", "[[8,1]]", R"(["c10::Half"])", R"([""])");
  const Trace trace = ProfileText()
                          .op("aten::relu", 0, 10, half)
                          .op("aten::cat", 20, 10,
                              shapes("[[[4,8],[4,8]],[]]", "[[[8,1],[8,1]],[]]",
                                     R"(["TensorList","Scalar"])", R"(["","0"])"))
                          .trace();
  const Node& cat = node_of(trace, "aten::cat");
  EXPECT_EQ(cat.inputs[0].items()[0].tensor().dtype, et_schema::DType::kFloat16);
  EXPECT_EQ(output(cat).dtype, et_schema::DType::kFloat16);
}

TEST(TraceOfProfile, CommunicationHasTheTensorsOfItsCaller) {
  const Trace trace = ProfileText()
                          .op("aten::relu", 0, 10, kOne)
                          .op("c10d::allreduce_", 20, 50,
                              shapes("[[[4,8]],[],[],[],[],[]]", "[[[8,1]],[],[],[],[],[]]",
                                     R"(["TensorList","","","","Scalar","Scalar"])",
                                     R"(["","","","","True","-1"])"))
                          .op("record_param_comms", 30, 10,
                              R"("Collective name":"allreduce","dtype":"Float","In msg nelems":32,)"
                              R"("Out msg nelems":32,"Group size":2,"Process Group Name":"0",)"
                              R"("Process Group Description":"default_pg","In split size":"[]")")
                          .trace();
  const auto calls = et_schema::communication_calls(trace);
  ASSERT_EQ(calls.size(), 1U);
  const et_schema::CommCall& call = calls.begin()->second;
  EXPECT_EQ(call.kind, et_schema::CommKind::kAllReduce);
  EXPECT_EQ(call.group_size, 2);
  EXPECT_EQ(call.pg_name, "0");
  EXPECT_EQ(call.inputs.at(0)->tensor_id, output(node_of(trace, "aten::relu")).tensor_id);
}

TEST(TraceOfProfile, IndicesAreToldByWhatIndexDoesBelow) {
  const auto restrided = [](const std::string& sizes, const std::string& strides) {
    return shapes("[[16,32,8],[],[],[]]", "[[256,8,1],[],[],[]]",
                  R"(["float","ScalarList","ScalarList",""])",
                  fmt::format(R"(["","{}","{}",""])", sizes, strides));
  };
  const std::string untold =
      shapes("[[16,32,8],[]]", "[[256,8,1],[]]", R"(["float",""])", R"(["",""])");
  const std::string index =
      shapes("[[5],[]]", "[[1],[]]", R"(["long int","ScalarList"])", R"(["","[1, 5, 1]"])");
  const Trace trace = ProfileText()
                          .op("aten::index", 0, 50, untold)
                          .op("aten::as_strided", 10, 5, restrided("[16, 5, 8]", "[256, 0, 1]"))
                          .op("aten::reshape", 20, 5, index)
                          .op("aten::index", 100, 50, untold)
                          .trace();
  const std::span<const et_schema::Value> indices = node_of(trace, "aten::index").inputs[1].items();
  ASSERT_EQ(indices.size(), 2U);
  EXPECT_TRUE(indices[0].is(et_schema::ValueKind::kNone));
  EXPECT_EQ(indices[1].tensor().dtype, et_schema::DType::kInt64);
  EXPECT_EQ(indices[1].tensor().sizes.front(), 5);
  EXPECT_EQ(trace.losses[Loss::kOpenedOperators], 1U) << "nothing tells those of the second";
  EXPECT_EQ(trace.losses[Loss::kAssumedArguments], 0U);
}

TEST(TraceOfProfile, IndicesThatAddUpOnAGpuAreToldByTheirStrides) {
  const auto number = [](const std::string& value) {
    return shapes("[[36],[]]", "[[1],[]]", R"(["long int","Scalar"])",
                  fmt::format(R"(["","{}"])", value));
  };
  const Trace trace =
      ProfileText()
          .op("aten::_index_put_impl_", 0, 90,
              shapes("[[40,9,7],[],[40,36],[],[]]", "[[63,7,1],[],[36,1],[],[]]",
                     R"(["float","","float","Scalar","Scalar"])", R"(["","","","True","True"])"))
          .op("aten::remainder", 10, 5, number("9"))
          .op("aten::mul", 20, 5, number("7"))
          .op("aten::remainder", 30, 5, number("7"))
          .op("aten::mul", 40, 5, number("1"))
          .trace(know_nothing);
  const std::span<const et_schema::Value> indices =
      node_of(trace, "aten::_index_put_impl_").inputs[1].items();
  ASSERT_EQ(indices.size(), 3U);
  EXPECT_TRUE(indices[0].is(et_schema::ValueKind::kNone));
  EXPECT_EQ(indices[1].tensor().sizes.front(), 36);
  EXPECT_EQ(indices[2].tensor().sizes.front(), 36);
  EXPECT_EQ(trace.losses[Loss::kAssumedArguments], 0U);
}

TEST(TraceOfProfile, AnEquationIsToldByHowOperandsArePermuted) {
  const auto permuted = [](const std::string& sizes, const std::string& order) {
    return shapes(fmt::format("[{},[]]", sizes), "[[1,1,1],[]]", R"(["float","ScalarList"])",
                  fmt::format(R"(["","{}"])", order));
  };
  const Trace trace = ProfileText()
                          .op("aten::einsum", 0, 90,
                              shapes("[[],[[4,8],[8,6]],[]]", "[[],[[8,1],[6,1]],[]]",
                                     R"(["","TensorList",""])", R"(["","",""])"))
                          .op("aten::permute", 10, 5, permuted("[4,8,1]", "[0, 2, 1]"))
                          .op("aten::permute", 20, 5, permuted("[8,6,1]", "[2, 1, 0]"))
                          .op("aten::view", 30, 5, permuted("[4,6,1]", "[4, 6]"))
                          .trace();
  EXPECT_EQ(node_of(trace, "aten::einsum").inputs[0].text(), "ac,cb->ab");
  EXPECT_EQ(trace.losses[Loss::kAssumedArguments], 0U);
}

TEST(TraceOfProfile, WithoutItsEquationEinsumIsOpened) {
  const Trace trace = ProfileText()
                          .op("aten::einsum", 0, 90,
                              shapes("[[],[[4,4]],[]]", "[[],[[4,1]],[]]",
                                     R"(["","TensorList",""])", R"(["","",""])"))
                          .op("aten::relu", 10, 5, kOne)
                          .trace();
  EXPECT_EQ(node_of(trace, "aten::einsum").op_schema, "");
  EXPECT_EQ(trace.losses[Loss::kOpenedOperators], 1U);
}

TEST(TraceOfProfile, WhatOutFillsLiesInTheBucketThatIsCommunicated) {
  const auto filled = [](const char* sizes, const char* strides) {
    const auto four = [](const char* list) { return fmt::format("[{0},{0},[],{0}]", list); };
    return shapes(four(sizes), four(strides), R"(["float","float","Scalar","float"])",
                  R"(["","","1",""])");
  };
  const auto sent = [](int elements) {
    return shapes(fmt::format("[[[{}]],[],[],[],[],[]]", elements), "[[[1]],[],[],[],[],[]]",
                  R"(["TensorList","","","","Scalar","Scalar"])", R"(["","","","","True","-1"])");
  };
  const auto trace_with = [&](int elements) {
    Profile profile = ProfileText()
                          .op("aten::add", 0, 10, filled("[7]", "[1]"))
                          .op("aten::add", 20, 10, filled("[4,8]", "[8,1]"))
                          .op("aten::add", 40, 10, filled("[4]", "[1]"))
                          .op("c10d::allreduce_", 60, 10, sent(elements))
                          .parsed();
    profile.distributed = et_schema::DistributedInfo{"gloo", 0, 2, {}};
    return trace_of_profile(profile, like_first);
  };
  const auto place = [](const Tensor& tensor) {
    return std::pair(tensor.storage_id, tensor.storage_offset);
  };
  const Trace trace = trace_with(36);
  const Tensor& bucket = *et_schema::communication_calls(trace).begin()->second.inputs.at(0);
  EXPECT_NE(input(node_of(trace, "aten::add"), 3).storage_id, bucket.storage_id);
  EXPECT_EQ(place(input(node_of(trace, "aten::add", 1), 3)), std::pair(bucket.storage_id, 0L));
  EXPECT_EQ(place(input(node_of(trace, "aten::add", 2), 3)), std::pair(bucket.storage_id, 32L));

  const Trace other = trace_with(37);  // as many as none of them have together
  const Tensor& alone = *et_schema::communication_calls(other).begin()->second.inputs.at(0);
  EXPECT_NE(input(node_of(other, "aten::add", 1), 3).storage_id, alone.storage_id);
  EXPECT_EQ(other.losses[Loss::kExternalTensors], trace.losses[Loss::kExternalTensors] + 2);
}

TEST(TraceOfProfile, GlooCommunicatesByItsOperators) {
  Profile profile =
      ProfileText()
          .op("c10d::broadcast_", 0, 10,
              shapes("[[[4,8]],[],[],[],[],[]]", "[[[8,1]],[],[],[],[],[]]",
                     R"(["TensorList","","Scalar","Scalar","Scalar","Scalar"])",
                     R"(["","","1","0","False","-1"])"))
          .op("c10d::allgather_", 20, 10,
              shapes("[[],[[4,8]],[],[],[]]", "[[],[[8,1]],[],[],[]]",
                     R"(["","TensorList","","Scalar","Scalar"])", R"(["","","","False","-1"])"))
          .parsed();
  profile.distributed = et_schema::DistributedInfo{"gloo", 0, 2, {}};
  const Trace trace = trace_of_profile(profile, know_nothing);
  const auto calls = et_schema::communication_calls(trace);
  ASSERT_EQ(calls.size(), 2U);
  const et_schema::CommCall& broadcast = calls.begin()->second;
  EXPECT_EQ(broadcast.root_or_peer, 1);
  EXPECT_EQ(broadcast.inputs.at(0)->numel, 32);
  const et_schema::CommCall& gather = calls.rbegin()->second;
  EXPECT_EQ(gather.inputs.size(), 1U);
  EXPECT_EQ(gather.outputs.size(), 2U) << "one of each rank";
}

TEST(TraceOfProfile, AGatherHasATensorOfEachRankUnlessItsRanksAreDamaged) {
  const auto outputs = [](std::string_view elements, std::string_view ranks) {
    const Trace trace =
        ProfileText()
            .op("record_param_comms", 30, 10,
                fmt::format(R"("Collective name":"all_gather","dtype":"Float","In msg nelems":4,)"
                            R"("Out msg nelems":{},"Group size":{},"Process Group Name":"0")",
                            elements, ranks))
            .trace();
    return et_schema::communication_calls(trace).begin()->second.outputs.size();
  };
  EXPECT_EQ(outputs("8", "2"), 2U);
  EXPECT_EQ(outputs("1000000000000", "1000000000000"), 1U);
}

TEST(TraceOfProfile, WhatAClassOfPythonsTakesOnIsOpened) {
  const Trace trace = ProfileText()
                          .op("aten::add", 0, 90, kTwo)
                          .op("PythonSubclass", 5, 80, kTwo)
                          .op("aten::add", 20, 10, kTwo)
                          .op("aten::add", 100, 10, kTwo)
                          .trace();
  EXPECT_EQ(node_of(trace, "aten::add", 0).op_schema, "")
      << "its arguments are no tensors in memory";
  EXPECT_NE(node_of(trace, "aten::add", 1).op_schema, "");
  EXPECT_NE(node_of(trace, "aten::add", 2).op_schema, "");
}

// What another rank holds alone (all_gather_object, scatter_object_list) is none of this one's.
TEST(TraceOfProfile, ListsOfRanksHaveATensorForEach) {
  const auto call_on = [](std::int64_t rank, const char* name) {
    Profile profile =
        ProfileText()
            .op("record_param_comms", 0, 10,
                fmt::format(R"("Collective name":"{}","dtype":"Long","In msg nelems":6,)"
                            R"("Out msg nelems":6,"Group size":3,"Rank":1,"Seq":4,)"
                            R"("Process Group Name":"0","Process Group Ranks":"[0, 1, 2]")",
                            name))
            .parsed();
    profile.distributed = et_schema::DistributedInfo{"nccl", rank, 3, {}};
    const Trace trace = trace_of_profile(profile, know_nothing);
    std::string text;
    for (const auto& [index, call] : et_schema::communication_calls(trace)) {
      for (const auto* const tensors : {&call.inputs, &call.outputs}) {
        for (const et_schema::Tensor* const tensor : *tensors) {
          text += fmt::format("{} ", tensor->numel);
        }
        text += "| ";
      }
    }
    return text;
  };
  EXPECT_EQ(call_on(0, "all_gather"), "6 | 2 2 2 | ");
  EXPECT_EQ(call_on(0, "reduce_scatter"), "2 2 2 | 6 | ");
  EXPECT_EQ(call_on(1, "gather"), "6 | 2 2 2 | ");
  EXPECT_EQ(call_on(0, "gather"), "6 | | ");
  EXPECT_EQ(call_on(1, "scatter"), "2 2 2 | 6 | ");
  EXPECT_EQ(call_on(2, "scatter"), "| 6 | ");
}

TEST(TraceOfProfile, WithoutShapesAndDeviceTheOutermostOperatorsAreKernels) {
  const Trace trace = ProfileText()
                          .op("aten::linear", 0, 50)
                          .op("aten::addmm", 10, 30)
                          .op("aten::t", 60, 5)
                          .trace();
  EXPECT_EQ(node_of(trace, "aten::linear").kernel_backend, "unknown");
  EXPECT_EQ(node_of(trace, "aten::addmm").kernel_backend, "");
  EXPECT_EQ(node_of(trace, "aten::t").kernel_backend, "unknown");
  EXPECT_EQ(trace.losses[Loss::kUnshapedOperators], 3U);
}

TEST(TraceOfProfile, AnOperatorWhoseTimeNothingBelowItExplainsIsAKernel) {
  const auto is_kernel = [](int own_us, const char* below, int below_us) {
    const Trace trace = ProfileText()
                            .op("acme::mix", 0, own_us + below_us, kOne)
                            .op(below, 1, below_us, kOne)
                            .trace();
    return !node_of(trace, "acme::mix").kernel_backend.empty();
  };
  EXPECT_TRUE(is_kernel(30, "aten::empty_like", 10)) << "it computes by itself";
  EXPECT_TRUE(is_kernel(600, "aten::relu", 500));
  EXPECT_FALSE(is_kernel(400, "aten::relu", 500));
  EXPECT_FALSE(is_kernel(90, "aten::relu", 10)) << "so long a call of others may take";
  EXPECT_FALSE(is_kernel(600, "PythonSubclass", 700));
  const auto on_device = [](int own, int of_child) {
    ProfileText text;
    text.op("acme::mix", 0, 100, kOne).op("aten::relu", 10, 20, kOne);
    for (int i = 0; i < own + of_child; ++i) {
      text.launch(i < own ? 40 + i : 11 + i - own, "kernel");
    }
    return !node_of(text.trace(), "acme::mix").kernel_backend.empty();
  };
  EXPECT_TRUE(on_device(3, 1));
  EXPECT_FALSE(on_device(1, 3));
}

TEST(TraceOfProfile, OneStepOfSeveralIsWalked) {
  Profile profile = ProfileText()
                        .mark("ProfilerStep#5", 0, 40)
                        .op("aten::relu", 10, 10, kOne)
                        .mark("ProfilerStep#6", 50, 40)
                        .op("aten::tanh", 60, 10, kOne)
                        .op("aten::neg", 75, 10, kOne)
                        .parsed();
  using Names = std::vector<std::string>;
  const Trace first = trace_of_profile(profile, like_first, "");
  EXPECT_EQ(names_in(first), (Names{"ProfilerStep#5", "aten::relu", "ProfilerStep#6"}));
  EXPECT_EQ(first.losses[Loss::kNodesOutsideStep], 2U);
  const Trace second = trace_of_profile(profile, like_first, "6");
  EXPECT_EQ(names_in(second),
            (Names{"ProfilerStep#5", "ProfilerStep#6", "aten::tanh", "aten::neg"}));
  EXPECT_EQ(second.losses[Loss::kExternalTensors], 1U) << "of the step before it knows nothing";
  EXPECT_EQ(names_in(trace_of_profile(profile, like_first, "7")),
            (Names{"ProfilerStep#5", "ProfilerStep#6"}));
}

TEST(TraceOfProfile, TwoResultsAreTwoTensors) {
  const std::string kQr = shapes("[[4,8],[]]", "[[8,1],[]]", R"(["float",""])", R"(["",""])");
  const std::string kOut = shapes("[[4,8],[],[4,8]]", "[[8,1],[],[8,1]]",
                                  R"(["float","Scalar","float"])", R"(["","0",""])");
  const auto two = [](std::span<const AskedCall> calls) {
    std::vector<CallResults> answers = like_first(calls);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].schema.starts_with("aten::linalg_qr(")) {
        answers[i].tensors.push_back(answers[i].tensors.front());
      }
    }
    return answers;
  };
  const Trace trace = ProfileText()
                          .op("aten::linalg_qr", 0, 50, kQr)
                          .op("aten::alias", 10, 10, kOne)
                          .op("aten::triu", 30, 10, kOut)
                          .trace(two);
  const Node& qr = node_of(trace, "aten::linalg_qr");
  EXPECT_NE(qr.outputs[0].tensor().storage_id, qr.outputs[1].tensor().storage_id);
  const Node& triu = node_of(trace, "aten::triu");
  EXPECT_NE(input(triu, 2).storage_id, input(triu, 0).storage_id) << "it writes not what it reads";
}

TEST(TraceOfProfile, WhatHasNoStridesIsSparse) {
  const std::string kProduct =
      shapes("[[4,4],[4,8]]", "[[],[8,1]]", R"(["float","float"])", R"(["",""])");
  const auto like_second = [](std::span<const AskedCall> calls) {
    EXPECT_EQ(calls.front().inputs[0].tensor().strides.size(), 0U);
    CallResults answer;
    answer.tensors.push_back({et_schema::DType::kFloat32, {4, 8}, {8, 1}});
    return std::vector<CallResults>(calls.size(), answer);
  };
  const Trace trace = ProfileText().op("aten::_sparse_mm", 0, 10, kProduct).trace(like_second);
  const Node& product = node_of(trace, "aten::_sparse_mm");
  EXPECT_FALSE(input(product, 0).has_storage());
  EXPECT_TRUE(input(product, 1).has_storage());
  EXPECT_EQ(trace.losses[Loss::kAssumedLayouts], 0U);
}

TEST(TraceOfProfile, WhatIsWrittenMayGrow) {
  const std::string kRange =
      shapes("[[],[],[],[0]]", "[[],[],[],[1]]", R"(["Scalar","Scalar","Scalar","float"])",
             R"(["0","4","1",""])");
  const std::string kVector = shapes("[[4]]", "[[1]]", R"(["float"])", R"([""])");
  const auto four = [](std::span<const AskedCall> calls) {
    std::vector<CallResults> answers = like_first(calls);
    answers.front().tensors.front() = {et_schema::DType::kFloat32, {4}, {1}, 0, 0};
    return answers;
  };
  const Trace trace =
      ProfileText().op("aten::arange", 0, 20, kRange).op("aten::neg", 30, 10, kVector).trace(four);
  const Node& range = node_of(trace, "aten::arange");
  EXPECT_EQ(output(range).storage_id, input(range, 3).storage_id);
  EXPECT_EQ(output(range).numel, 4);
  EXPECT_EQ(input(node_of(trace, "aten::neg"), 0).tensor_id, output(range).tensor_id);
}

TEST(TraceOfProfile, ATensorThatIsLaidOutInPlaceHasItsFormerLayoutNoMore) {
  const std::string kTurn =
      shapes("[[4,8],[],[]]", "[[8,1],[],[]]", R"(["float","Scalar","Scalar"])", R"(["","0","1"])");
  const std::string kTurned = shapes("[[8,4]]", "[[1,8]]", R"(["float"])", R"([""])");
  const auto turned = [](std::span<const AskedCall> calls) {
    std::vector<CallResults> answers = like_first(calls);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].schema.starts_with("aten::transpose_(")) {
        answers[i].tensors.front() = {et_schema::DType::kFloat32, {8, 4}, {1, 8}, 0, 0};
      }
    }
    return answers;
  };
  const Trace trace = ProfileText()
                          .op("aten::relu", 0, 10, kOne)
                          .op("aten::transpose_", 20, 10, kTurn)
                          .op("aten::tanh", 40, 10, kTurned)
                          .op("aten::neg", 60, 10, kOne)
                          .trace(turned);
  const Tensor& relu = output(node_of(trace, "aten::relu"));
  const Tensor& read = input(node_of(trace, "aten::tanh"), 0);
  EXPECT_EQ(read.storage_id, relu.storage_id);
  EXPECT_EQ(read.tensor_id, output(node_of(trace, "aten::transpose_")).tensor_id);
  EXPECT_NE(input(node_of(trace, "aten::neg"), 0).storage_id, relu.storage_id);
}

TEST(TraceOfProfile, WithoutStridesTheTensorsThatAreFoundTellThem) {
  const std::string kSquare =
      R"("Input Dims":[[4,4]],"Input type":["float"],"Concrete Inputs":[""])";
  const auto turned = [](std::span<const AskedCall> calls) {
    std::vector<CallResults> answers = like_first(calls);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      ResultTensor& result = answers[i].tensors.front();
      if (calls[i].schema.starts_with("aten::t(")) {
        result.strides = {1, 4};
        result.storage_of = 0;
      } else if (result.strides.empty()) {
        result.strides = {4, 1};
      }
    }
    return answers;
  };
  const Trace trace =
      ProfileText().op("aten::t", 0, 10, kSquare).op("aten::relu", 20, 10, kSquare).trace(turned);
  EXPECT_EQ(output(node_of(trace, "aten::relu")).strides[0], 1);
  EXPECT_EQ(trace.losses[Loss::kExternalTensors], 1U) << "of one walk, not of both";
}

TEST(TraceOfProfile, WhatHandsATensorOnIsNoStub) {
  const Trace trace = ProfileText()
                          .op("aten::relu", 0, 10, kOne)
                          .op("_c10d_functional::_wrap_tensor_autograd", 20, 10, kOne)
                          .op("aten::set_", 40, 10,
                              shapes("[[0],[],[],[4],[]]", "[[1],[],[],[],[]]",
                                     R"(["float","","Scalar","ScalarList","ScalarList"])",
                                     R"(["","","0","[4]","[1]"])"))
                          .op("custom::other", 60, 10, kOne)
                          .trace();
  const auto is_kernel = [&](std::string_view name) {
    return !node_of(trace, name).kernel_backend.empty();
  };
  EXPECT_FALSE(is_kernel("_c10d_functional::_wrap_tensor_autograd"));
  EXPECT_FALSE(is_kernel("aten::set_"));
  EXPECT_TRUE(is_kernel("custom::other"));
}

TEST(TraceOfProfile, AnUndefinedTensorStandsBehindOthersAlone) {
  const auto loss = [](const std::string& first) {
    return shapes("[[4,8],[4,8],[4],[],[],[],[]]", "[[8,1],[8,1],[1],[],[],[],[]]",
                  fmt::format(R"(["{}","float","long int","","Scalar","Scalar",""])", first),
                  R"(["","","","","1","-100",""])");
  };
  const Trace trace = ProfileText()
                          .op("aten::nll_loss_backward", 0, 10, loss("float"))
                          .op("aten::nll_loss_backward", 20, 10, loss(""))
                          .trace();
  const Node& node = node_of(trace, "aten::nll_loss_backward");
  EXPECT_TRUE(node.op_schema.starts_with("aten::nll_loss_backward("));
  EXPECT_TRUE(node.inputs[6].is(et_schema::ValueKind::kNone));
  EXPECT_EQ(trace.losses[Loss::kOpenedOperators], 1);
}

TEST(TraceOfProfile, WhatAnOperatorReadsBackItselfLiesOnTheDevice) {
  const std::string lookup = shapes("[[100,8],[4],[],[],[]]", "[[8,1],[1],[],[],[]]",
                                    R"(["float","long int","Scalar","Scalar","Scalar"])",
                                    R"(["","","-1","False","False"])");
  const std::string copy = shapes("[[4,8],[4,8],[]]", "[[8,1],[1,4],[]]",
                                  R"(["float","float","Scalar"])", R"(["","","False"])");
  const Trace trace = ProfileText()
                          .op("aten::embedding", 0, 10, lookup)
                          .launch(5, "Memcpy DtoH (Device -> Pinned)", "gpu_memcpy")
                          .op("aten::copy_", 20, 10, copy)
                          .launch(25, "Memcpy DtoH (Device -> Pageable)", "gpu_memcpy")
                          .trace();
  const Node& looked_up = node_of(trace, "aten::embedding");
  EXPECT_EQ(to_string(input(looked_up, 0).device), "cuda:0");
  EXPECT_EQ(to_string(input(looked_up, 1).device), "cuda:0");
  const Node& copied = node_of(trace, "aten::copy_");
  EXPECT_EQ(to_string(input(copied, 0).device), "cpu");
  EXPECT_EQ(to_string(input(copied, 1).device), "cuda:0");
}

TEST(TraceOfProfile, NumbersThatNoKernelChangesLieOnTheHost) {
  const auto add = [](const std::string& type) {
    return shapes("[[],[],[]]", "[[],[],[]]", fmt::format(R"(["{0}","{0}","Scalar"])", type),
                  R"(["","","1"])");
  };
  const Trace trace = ProfileText()
                          .op("aten::add_", 0, 10, add("float"))
                          .op("aten::sub_", 20, 10, add("long int"))
                          .launch(25, "elementwise_kernel")
                          .trace();
  EXPECT_EQ(to_string(input(node_of(trace, "aten::add_"), 0).device), "cpu");
  EXPECT_EQ(to_string(input(node_of(trace, "aten::sub_"), 0).device), "cuda:0");
}

TEST(TraceOfProfile, OffsetsOfAnOptimizersTablesAreTheirOwn) {
  const Trace trace =
      ProfileText()
          .op("fbgemm::split_embedding_backward_codegen_rowwise_adagrad_cpu", 0, 10,
              shapes(
                  "[[16,32],[9600],[2],[2],[3],[],[3],[],[62],[33],[],[],[],[600],[2],[2],[],[],[],"
                  "[],[],[]]",
                  "[[32,1],[1],[1],[1],[1],[],[1],[],[1],[1],[],[],[],[1],[1],[1],[],[],[],[],[],[]"
                  "]",
                  R"(["float","float","int","long int","int","Scalar","long int","Scalar","long int","long int","Scalar","","Scalar","float","int","long int","float","Scalar","Scalar","Scalar","Scalar","Scalar"])",
                  R"(["","","","","","16","","10","","","0","","True","","","","","1e-08","0.","0","0.","0"])"))
          .trace(know_nothing);
  const Node& node = node_of(trace, "fbgemm::split_embedding_backward_codegen_rowwise_adagrad_cpu");
  EXPECT_TRUE(node.op_schema.starts_with(node.name));
  EXPECT_TRUE(node.inputs[11].is(et_schema::ValueKind::kNone)) << "no weights of indices";
  EXPECT_EQ(input(node, 2).tensor_id, input(node, 14).tensor_id) << "placements are alike";
  EXPECT_NE(input(node, 3).tensor_id, input(node, 15).tensor_id)
      << "weights_offsets, momentum1_offsets";
}

TEST(TraceOfProfile, AProfileOfGraphsAloneIsRefusedWithWhatToDo) {
  Profile profile = et_schema::parse_kineto(
      R"({"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch",)"
      R"("pid":1,"tid":1,"ts":0,"dur":1,"args":{"correlation":1}}]})",
      "p.json", et_schema::KinetoDetail::kArguments);
  EXPECT_EQ(error_of([&] { return trace_of_profile(profile, know_nothing); }),
            "a profile without operators\n"
            "  file:     p.json\n"
            "  field:    traceEvents\n"
            "  expected: operators (cat cpu_op)\n"
            "  got:      1 events, none of them an operator: the step launches graphs\n"
            "  hint:     understudy generate EAGER --graph-profile FILE takes operators from a "
            "profile of the step run eagerly, and times from this one; understudy inspect "
            "--device-time shows what this profile tells of its kernels");
}

TEST(TraceOfProfile, AProfileWithoutOperatorsIsRefused) {
  Profile profile = et_schema::parse_kineto(
      R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2}]})",
      "p.json", et_schema::KinetoDetail::kArguments);
  EXPECT_EQ(error_of([&] { return trace_of_profile(profile, like_first); }),
            "a profile without operators\n"
            "  file:     p.json\n"
            "  field:    traceEvents\n"
            "  expected: operators (cat cpu_op)\n"
            "  got:      1 events, none of them an operator\n"
            "  hint:     profile with ProfilerActivity.CPU too; understudy inspect --device-time "
            "shows what this profile tells of its kernels");
}

}  // namespace
}  // namespace understudy::generator
