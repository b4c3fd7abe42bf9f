// Operators that show memory: checked at every call, whatever kind their tensors are of.
#include <gtest/gtest.h>

#include "fixture.h"

namespace understudy::replayer::testing {
namespace {

constexpr const char* kReshapeAlias =
    "aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)";
constexpr const char* kFill = "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)";
constexpr const char* kClone =
    "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor";
constexpr std::int64_t kQUInt8 = 13;

class ExtentTest : public ReplayerTest {
 protected:
  /// How the trial ends, or else the second iteration; the externals keep what the first one wrote.
  std::string ending() {
    try {
      try_out();
      machine_->run(result_.program);
    } catch (const et_schema::Error& error) {
      return et_schema::to_text(error);
    }
    return "no error";
  }

  /// Elements that a mask selects, shown as `shown` of them. The step then clears `cleared` of the
  /// mask.
  void show_selected(std::int64_t shown, std::int64_t cleared) {
    const SlotId data = builder_.external(DType::kFloat32, {8}, constant(1));
    const SlotId mask = builder_.external(DType::kBool, {8}, constant(1));
    const SlotId selected = builder_.intermediate(DType::kFloat32, {8});
    const SlotId view = builder_.view(selected, {shown}, {1}, 0);
    const SlotId part = builder_.view(mask, {cleared}, {1}, 8 - cleared);
    builder_.add_op("aten::masked_select(Tensor self, Tensor mask) -> Tensor",
                    {ref(data), ref(mask)}, {ref(selected)});
    builder_.add_op(kReshapeAlias, {ref(selected), numbers({shown}), numbers({1})}, {ref(view)});
    builder_.add_op(kClone, {ref(view), none()},
                    {ref(builder_.intermediate(DType::kFloat32, {shown}))});
    builder_.add_op(
        "aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> "
        "Tensor(a)",
        {ref(mask), number(0), number(8 - cleared), number(cleared)}, {ref(part)});
    builder_.add_op(kFill, {ref(part), number(0)}, {ref(part)});
  }
};

TEST_F(ExtentTest, AViewIsCheckedInEachIteration) {
  show_selected(8, 4);
  EXPECT_EQ(ending(),
            "an operator shows memory that is not its tensor's\n"
            "  node:     102\n"
            "  field:    aten::_reshape_alias\n"
            "  expected: an extent within the 16 bytes of its storage\n"
            "  got:      float32[8] strides [1], offset 0\n"
            "  hint:     The benchmark is damaged, or made to read what is not its own.");
}

TEST_F(ExtentTest, AViewThatStaysWithinItsStorageRuns) {
  show_selected(4, 4);
  EXPECT_EQ(ending(), "no error");
}

class QuantisedViews : public ExtentTest, public ::testing::WithParamInterface<std::int64_t> {
 protected:
  void SetUp() override {
    const SlotId data = builder_.external(DType::kFloat32, {16}, constant(1));
    const SlotId quantised = builder_.intermediate(DType::kQUInt8, {16});
    const SlotId view = builder_.view(quantised, {GetParam()}, {1}, 0);
    builder_.add_op(
        "aten::quantize_per_tensor(Tensor self, float scale, int zero_point, "
        "ScalarType dtype) -> Tensor",
        {ref(data), real(0.1), number(0), number(kQUInt8)}, {ref(quantised)});
    builder_.add_op(kReshapeAlias, {ref(quantised), numbers({GetParam()}), numbers({1})},
                    {ref(view)});
    builder_.add_op(kFill, {ref(view), real(1)}, {ref(view)});
  }
};

TEST_P(QuantisedViews, AreChecked) {
  const std::string error = ending();
  EXPECT_EQ(GetParam() <= 16, error == "no error") << error;
  if (GetParam() > 16) {
    EXPECT_NE(error.find("expected: an extent within the 16 bytes of its storage"),
              std::string::npos)
        << error;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, QuantisedViews, ::testing::Values(16, 17, 3000));

/// A sparse tensor keeps the very tensor of indices that it was made of.
class SparseIndices : public ExtentTest, public ::testing::WithParamInterface<std::int64_t> {
 protected:
  void SetUp() override {
    const SlotId indices = builder_.external(DType::kInt64, {1, 2}, constant(0));
    const SlotId values = builder_.external(DType::kFloat32, {2}, constant(1));
    const SlotId sparse = builder_.intermediate(DType::kFloat32, {4});
    builder_.slot(sparse).sparse = true;
    builder_.add_op(
        "aten::_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, SymInt[] size, "
        "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None, bool? is_coalesced=None) -> Tensor",
        {ref(indices), ref(values), numbers({4}), none(), none(), none(), none(), none()},
        {ref(sparse)});
    builder_.add_op(kFill, {ref(indices), number(GetParam())}, {ref(indices)});
    builder_.add_op(
        "aten::to_dense(Tensor self, ScalarType? dtype=None, *, bool? "
        "masked_grad=None) -> Tensor",
        {ref(sparse), none(), none()}, {ref(builder_.intermediate(DType::kFloat32, {4}))});
  }
};

TEST_P(SparseIndices, AreCheckedWhereTheyAreUsed) {
  const std::string error = ending();
  EXPECT_EQ(GetParam() < 4, error == "no error") << error;
  if (GetParam() >= 4) {
    EXPECT_NE(error.find("expected: parts within their storages, and indices within its sizes"),
              std::string::npos)
        << error;
  }
}

INSTANTIATE_TEST_SUITE_P(Indices, SparseIndices, ::testing::Values(0, 3, 4, 1'000'000'000'000));

/// Other tensors hold its sizes, and operators can change these.
TEST_F(ExtentTest, ANestedTensorIsRefusedWhereItIsMade) {
  const SlotId part = builder_.external(DType::kFloat32, {4, 2}, constant(1));
  builder_.add_op(
      "aten::_nested_tensor_from_tensor_list(Tensor[] list, ScalarType? dtype=None, "
      "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
      {list({ref(part)}), none(), none(), none(), none()},
      {ref(builder_.intermediate(DType::kFloat32, {1, 4, 2}))});
  EXPECT_NE(ending().find("got:      it gives a nested tensor, which no benchmark can hold"),
            std::string::npos);
}

/// Kernels that write where numbers say, and do not look at these.
class UncheckedKernels : public ExtentTest, public ::testing::WithParamInterface<std::int64_t> {};

TEST_P(UncheckedKernels, PoolingWritesWhereItFoundMaxima) {
  const SlotId grad = builder_.external(DType::kFloat32, {1, 1, 1, 1}, constant(1));
  const SlotId input = builder_.external(DType::kFloat32, {1, 1, 2, 2}, constant(1));
  const SlotId indices = builder_.external(DType::kInt64, {1, 1, 1, 1}, constant(0));
  builder_.add_op(kFill, {ref(indices), number(GetParam())}, {ref(indices)});
  builder_.add_op(
      "aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
      "int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
      {ref(grad), ref(input), numbers({2, 2}), numbers({2, 2}), numbers({0, 0}), numbers({1, 1}),
       flag(false), ref(indices)},
      {ref(builder_.intermediate(DType::kFloat32, {1, 1, 2, 2}))});
  const std::string error = ending();
  EXPECT_EQ(GetParam() < 4 || error.find("is outside of [0, 4)") != std::string::npos, true);
  EXPECT_EQ(GetParam() < 4, error == "no error") << error;
}

TEST_P(UncheckedKernels, SegmentsLieWithinTheirData) {
  const SlotId data = builder_.external(DType::kFloat32, {3}, constant(1));
  const SlotId lengths = builder_.external(DType::kInt64, {1}, constant(0));
  builder_.add_op(kFill, {ref(lengths), number(GetParam())}, {ref(lengths)});
  builder_.add_op(
      "aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? "
      "indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? "
      "initial=None) -> Tensor",
      {ref(data),
       {std::string("sum")},
       ref(lengths),
       none(),
       none(),
       number(0),
       flag(true),
       none()},
      {ref(builder_.intermediate(DType::kFloat32, {1}))});
  const std::string error = ending();
  EXPECT_EQ(GetParam() < 4, error == "no error") << error;
}

INSTANTIATE_TEST_SUITE_P(Numbers, UncheckedKernels, ::testing::Values(0, 3, 4, 1'000'000'000'000));

TEST_F(ExtentTest, ACommunicationOfASmallerTensorIsRefused) {
  const SlotId made = builder_.intermediate(DType::kFloat32, {1024});
  const SlotId all = builder_.external(DType::kFloat32, {1024}, constant(0));
  builder_.add_op(
      "aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None) -> Tensor",
      {numbers({4}), none(), none(), none(), none()}, {ref(made)});
  builder_.add_collective(et_schema::CommKind::kAllGather, {ref(made)}, {ref(all)});
  const std::string error = ending();
  EXPECT_NE(error.find("a communication's tensor is smaller than what it moves"), std::string::npos)
      << error;
}

}  // namespace
}  // namespace understudy::replayer::testing
