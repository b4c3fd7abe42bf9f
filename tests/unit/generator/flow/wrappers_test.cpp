// Operators on tensors of torch.func, which have no memory: what they call is replayed.

#include "wrappers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/flow/model_names.h"
#include "trace_builder.h"

namespace understudy::generator::test {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kTanh = "aten::tanh(Tensor self) -> Tensor";
constexpr const char* kView = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)";
constexpr const char* kMm = "aten::mm(Tensor self, Tensor mat2) -> Tensor";
constexpr const char* kMatmul = "aten::matmul(Tensor self, Tensor other) -> Tensor";

/// Whether an operator that takes and gives such tensors works on wrappers.
bool is_wrapped(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides) {
  TraceBuilder builder;
  const TestValue taken = without_storage(10, sizes, strides);
  builder.add(2, "aten::tanh", kTanh, {taken}, {without_storage(11, sizes, strides)});
  return find_wrapped(builder.trace()).back();
}

TEST(Wrappers, HaveTheStridesOfALayout) {
  EXPECT_TRUE(is_wrapped({4, 8}, {8, 1}));
  EXPECT_TRUE(is_wrapped({4, 8}, {1, 4}));
  EXPECT_TRUE(is_wrapped({8}, {1}));
  EXPECT_TRUE(is_wrapped({}, {}));
  EXPECT_TRUE(is_wrapped({4, 8}, {8, 0}));
}

TEST(Wrappers, SparseAndOpaqueTensorsHaveNoStrides) {
  EXPECT_FALSE(is_wrapped({4, 8}, {0, 0}));
  EXPECT_FALSE(is_wrapped({8}, {0}));
  EXPECT_FALSE(is_wrapped({4, 8}, {1, 0}));
}

TEST(Wrappers, WithoutStridesOfTheirOwnAreToldByTheOperatorThatGaveThem) {
  TraceBuilder builder;
  const TestValue expanded = without_storage(11, {4, 8}, {0, 0});
  const TestValue flat = without_storage(12, {32}, {0});
  builder.add(2, "aten::expand", kView, {without_storage(10, {}, {}), integer(8)}, {expanded});
  builder.add(2, "aten::view", kView, {expanded, integer(32)}, {flat});
  builder.add(2, "aten::tanh", kTanh, {without_storage(20, {6}, {0})},
              {without_storage(11, {6}, {0})});
  builder.add(2, "aten::tanh", kTanh, {without_storage(11, {6}, {0})}, {tensor(13, 14, {6})});
  const std::vector<bool> wrapped = find_wrapped(builder.trace());
  EXPECT_EQ(std::vector<bool>(wrapped.end() - 4, wrapped.end()),
            (std::vector<bool>{true, true, false, false}))
      << "the last two took a sparse tensor, at a reused id";
}

TEST(Wrappers, TheCallsOnRealTensorsAreReplayed) {
  // vmap over mm: the level above hands on, the batch rule takes another operator, which the
  // dispatcher shows once more for the same tensors.
  TraceBuilder builder;
  const TestValue weight = tensor(30, 31, {8, 2});
  const TestValue result = tensor(32, 33, {5, 4, 2});
  const auto outer = builder.add(2, "aten::mm", kMm, {without_storage(10, {4, 8}, {8, 1}), weight},
                                 {without_storage(11, {4, 2}, {2, 1})});
  const auto inner =
      builder.add(outer, "aten::mm", kMm, {without_storage(12, {4, 8}, {8, 1}), weight},
                  {without_storage(13, {4, 2}, {2, 1})});
  const auto front =
      builder.add(inner, "aten::matmul", kMatmul, {tensor(20, 21, {5, 4, 8}), weight}, {result});
  builder.add(front, "aten::matmul", kMatmul, {tensor(20, 21, {5, 4, 8}), weight}, {result});
  builder.add(2, "aten::detach", kDetach, {without_storage(11, {4, 2}, {2, 1})},
              {without_storage(14, {4, 2}, {2, 1})});
  builder.add(2, "aten::tanh", kTanh, {result}, {tensor(34, 35, {5, 4, 2})});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions), (Names{"aten::matmul", "aten::tanh"}));
  EXPECT_TRUE(std::ranges::none_of(program.slots, &et_schema::Slot::sparse));
  EXPECT_EQ(program.slots.size(), 4U);
  EXPECT_EQ(program.losses[Loss::kNoWork], 1U) << "detach called nothing";
  const std::string reason = "it works on wrappers, without memory";
  EXPECT_EQ(program.selection.opened,
            (std::vector<et_schema::Opened>{
                {"aten::mm", 2, reason},
                {"aten::detach", 1, reason},
                {"aten::matmul", 1, "it holds an operator of the same schema"}}));
}

constexpr const char* kAllReduce =
    "_c10d_functional::all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor";
constexpr const char* kWrap = "_c10d_functional::_wrap_tensor_autograd(Tensor input) -> Tensor";
constexpr std::int64_t kNull = 90;  // the id of the address 0

TEST(Wrappers, OfPythonsClassesAreToldByTheLabelsOfTheirCalls) {
  // A DTensor's tanh: the class takes it on, and calls tanh on the tensor inside.
  TraceBuilder builder;
  const TestValue weight = tensor(30, 31, {8});
  for (const std::int64_t id : {10, 11}) {
    const TestValue taken = tensor(id, kNull, {4, 8});
    const auto outer =
        builder.add(2, "aten::tanh", kTanh, {taken}, {tensor(id + 2, kNull, {4, 8})});
    const auto label = builder.add(outer, "PythonSubclass", "", {taken, weight}, {});
    builder.add(label, "aten::tanh", kTanh, {tensor(id + 20, id + 30, {2, 8})},
                {tensor(id + 40, id + 50, {2, 8})});
  }
  builder.add(2, "aten::detach", kDetach, {tensor(12, kNull, {4, 8})}, {tensor(14, kNull, {4, 8})});
  builder.add(2, "aten::tanh", kTanh, {weight}, {tensor(34, 35, {8})});
  const Program program = builder.program();
  EXPECT_EQ(names(program.instructions), (Names{"aten::tanh", "aten::tanh", "aten::tanh"}));
  EXPECT_EQ(program.losses[Loss::kNoWork], 1U) << "detach called nothing";
}

TEST(Wrappers, AroundACommunicationAreNoCommunication) {
  TraceBuilder builder;
  const TestValue sum = tensor(12, 13, {4});
  builder.add(2, "_c10d_functional::all_reduce", kAllReduce, {tensor(10, 11, {4})}, {sum});
  builder.add(2, "_c10d_functional::_wrap_tensor_autograd", kWrap, {sum}, {tensor(14, kNull, {4})});
  builder.add(2, "PythonSubclass", "", {tensor(14, kNull, {4})}, {});
  EXPECT_EQ(names(builder.program().instructions), (Names{"allreduce"}));
}

TEST(Wrappers, LabelsOfPyTorchsOwnFunctionsDidNoWork) {
  TraceBuilder builder;
  for (const char* name : {"RedistributeBackward", "RegisterPostBackwardFunctionBackward",
                           "_DDPSinkBackward", "MyFunctionBackward"}) {
    builder.add(2, name, "", {tensor(10, 11, {4})}, {});
  }
  EXPECT_EQ(builder.program().selection.labels, 1U);
}

}  // namespace
}  // namespace understudy::generator::test
