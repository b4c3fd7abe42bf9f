// Tensors that are older than the step, of every kind that a trace can hold.

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fixture.h"
#include "replayer/dispatch/layout.h"
#include "replayer/memory/memory.h"
#include "replayer/values/values.h"

namespace understudy::replayer::testing {
namespace {

constexpr const char* kDequantize = "aten::dequantize.self(Tensor self) -> Tensor";
constexpr const char* kIntRepr = "aten::int_repr(Tensor self) -> Tensor";
constexpr const char* kViewAs = "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)";
constexpr const char* kCastSchema =
    "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)";
constexpr const char* kViewAsReal = "aten::view_as_real(Tensor(a) self) -> Tensor(a)";
constexpr const char* kNarrow =
    "aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)";

class TensorKindsTest : public ReplayerTest {
 protected:
  SlotId defaulted(DType dtype, const Sizes& sizes) {
    const SlotId slot = builder_.external(dtype, sizes, constant(0));
    builder_.slot(slot).value.reset();
    return slot;
  }
  /// What the operator makes of x, after the trial.
  at::Tensor result_of(const std::string& schema, std::vector<Argument> args, DType dtype,
                       const Sizes& sizes) {
    const SlotId y = builder_.intermediate(dtype, sizes);
    const SlotId out = sink(dtype, sizes);
    builder_.add_op(schema, std::move(args), {ref(y)});
    keep(y, out);
    EXPECT_EQ(try_out().output_mismatches, 0U);
    return slot(out);
  }
};

using QuantisedTest = TensorKindsTest;

TEST_F(QuantisedTest, ArePerTensorOfAnAssumedScaleAndNotExact) {
  for (const DType dtype : {DType::kQInt8, DType::kQUInt8, DType::kQInt32}) {
    builder_ = {};
    const SlotId x = defaulted(dtype, {40, 30});
    const at::Tensor real = result_of(kDequantize, {ref(x)}, DType::kFloat32, {40, 30});
    EXPECT_TRUE(slot(x).is_quantized());
    EXPECT_EQ(slot(x).q_scale(), kAssumedScale);
    EXPECT_EQ(slot(x).q_zero_point(), dtype == DType::kQUInt8 ? 128 : 0);
    EXPECT_NEAR(real.std().item<double>(), 256 * kAssumedScale / std::sqrt(12.0), 0.05);
    EXPECT_NEAR(real.mean().item<double>(), 0, 0.1);
    const et_schema::Coverage coverage = decisions_->coverage();
    ASSERT_EQ(coverage.substituted.size(), 1U);
    EXPECT_EQ(coverage.substituted[0].name, "aten::dequantize.self");
    EXPECT_EQ(coverage.substituted[0].note, "itself, on a quantised tensor of an assumed scale");
    EXPECT_EQ(coverage.exact, 1U);
  }
}

TEST_F(QuantisedTest, ComeBackWithTheirFirstContentInAnyLayout) {
  const SlotId x = defaulted(DType::kQInt8, {6, 5});
  builder_.slot(x).strides = {1, 6};
  const at::Tensor first = result_of(kIntRepr, {ref(x)}, DType::kInt8, {6, 5}).clone();
  builder_.slot(x).strides_recorded = true;
  EXPECT_TRUE(first.ne(0).any().item<bool>());
  iterate();
  EXPECT_TRUE(slot(x).int_repr().equal(first));
}

TEST_F(QuantisedTest, OfLessThanAByteAreQuantisedByChannel) {
  const SlotId x = defaulted(DType{16}, {6, 8});  // quint4x2
  const at::Tensor real = result_of(kDequantize, {ref(x)}, DType::kFloat32, {6, 8});
  EXPECT_EQ(slot(x).qscheme(), at::kPerChannelAffineFloatQParams);
  EXPECT_TRUE(real.ne(0).any().item<bool>());
  EXPECT_LE(real.abs().max().item<double>(), 15 * kAssumedScale);
}

TEST_F(QuantisedTest, AViewKeepsTheScaleOfWhatAnOperatorMade) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1.5));
  const SlotId made = builder_.intermediate(DType::kQInt8, {4});
  builder_.add_op(
      "aten::quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> "
      "Tensor",
      {ref(x), real(0.5), number(3), number(12)}, {ref(made)});
  const SlotId part = builder_.view(made, {2}, {1}, 2);
  builder_.add_alias(made, part);
  const at::Tensor numbers = result_of(kDequantize, {ref(part)}, DType::kFloat32, {2});
  EXPECT_TRUE(numbers.eq(1.5).all().item<bool>()) << numbers;
  EXPECT_TRUE(decisions_->coverage().substituted.empty());
}

struct Stored {
  int dtype;
  bool is_zero;  ///< integers of which nothing is asked
};

/// Bits, integers of less than a byte, two floats in a byte.
class StoredAsBytesTest : public TensorKindsTest, public ::testing::WithParamInterface<Stored> {};

TEST_P(StoredAsBytesTest, HaveContentThatComesBack) {
  const auto dtype = static_cast<DType>(GetParam().dtype);
  const SlotId x = defaulted(dtype, {64});
  const std::int64_t bytes = 64 * item_size(dtype);
  const at::Tensor first = result_of(kViewAs, {ref(x), number(0)}, DType::kUInt8, {bytes}).clone();
  EXPECT_EQ(first.eq(0).all().item<bool>(), GetParam().is_zero) << to_string(dtype);
  iterate();
  EXPECT_TRUE(slot(x).view(at::kByte).equal(first)) << to_string(dtype);
  EXPECT_EQ(decisions_->coverage().exact, 2U);
}

INSTANTIATE_TEST_SUITE_P(All, StoredAsBytesTest,
                         ::testing::Values(Stored{18, false}, Stored{19, false}, Stored{20, false},
                                           Stored{21, false}, Stored{22, false}, Stored{30, true},
                                           Stored{33, true}, Stored{36, true}, Stored{37, true},
                                           Stored{40, true}, Stored{43, true}, Stored{45, false}),
                         [](const auto& stored) {
                           return std::string(to_string(static_cast<DType>(stored.param.dtype)));
                         });

TEST_F(TensorKindsTest, Float8HoldsHealthyNumbers) {
  for (const DType dtype : {DType::kFloat8E5M2, DType::kFloat8E4M3Fn, DType::kFloat8E5M2Fnuz,
                            DType::kFloat8E4M3Fnuz, DType::kFloat8E8M0Fnu}) {
    builder_ = {};
    const SlotId x = defaulted(dtype, {30, 16});
    const at::Tensor real =
        result_of(kCastSchema, {ref(x), number(6), flag(false), flag(false), none()},
                  DType::kFloat32, {30, 16});
    EXPECT_EQ(scan(slot(x)), ValueHealth()) << to_string(dtype);
    EXPECT_EQ(scan(real), ValueHealth()) << to_string(dtype);
    EXPECT_GT(real.std().item<double>(), 0.1) << to_string(dtype);
  }
}

TEST_F(TensorKindsTest, ComplexNumbersHaveBothParts) {
  for (const auto& [complex, part] : {std::pair(DType::kComplexFloat16, DType::kFloat16),
                                      std::pair(DType::kComplexFloat32, DType::kFloat32),
                                      std::pair(DType::kComplexFloat64, DType::kFloat64)}) {
    builder_ = {};
    const SlotId x = defaulted(complex, {30, 16});
    const at::Tensor parts = result_of(kViewAsReal, {ref(x)}, part, {30, 16, 2});
    EXPECT_EQ(scan(parts), ValueHealth());
    for (const std::int64_t which : {0, 1}) {
      EXPECT_GT(parts.select(-1, which).to(at::kDouble).std().item<double>(), 0.1);
    }
  }
}

TEST_F(TensorKindsTest, ZeroSizes) {
  const SlotId x = defaulted(DType::kFloat32, {0, 3});
  const at::Tensor sum = result_of(
      "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
      "ScalarType? dtype=None) -> Tensor",
      {ref(x), numbers({0}), flag(false), none()}, DType::kFloat32, {3});
  EXPECT_TRUE(sum.eq(0).all().item<bool>());
  EXPECT_EQ(decisions_->coverage().count, 1.0);
}

TEST_F(TensorKindsTest, WithoutMemoryStaySo) {
  constexpr std::int64_t kSide = 1 << 20;  // no machine has that much
  const SlotId x = defaulted(DType::kFloat32, {kSide, kSide});
  const SlotId y = builder_.intermediate(DType::kFloat32, {kSide, kSide});
  const SlotId fresh = builder_.intermediate(DType::kFloat32, {kSide});
  for (const SlotId id : {x, y, fresh}) {
    builder_.program().storages[builder_.slot(id).storage].device = {et_schema::DeviceType::kMeta,
                                                                     -1};
  }
  builder_.add_op("aten::mm(Tensor self, Tensor mat2) -> Tensor", {ref(x), ref(x)}, {ref(y)});
  builder_.add_op(kAddInPlace, {ref(x), ref(y), number(1)}, {ref(x)});
  builder_.add_op(
      "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
      {numbers({kSide}),
       number(6),
       none(),
       {Argument::DeviceRef{{et_schema::DeviceType::kMeta, -1}}},
       none(),
       none()},
      {ref(fresh)});
  EXPECT_EQ(try_out().output_mismatches, 0U);
  EXPECT_TRUE(slot(x).is_meta());
  EXPECT_EQ(externals_->touched_bytes(), 0U);
  EXPECT_EQ(decisions_->coverage().count, 1.0);
  externals_->remember(result_.program);
  externals_->draw_variants();
  iterate();
  externals_->vary(1);
}

TEST_F(TensorKindsTest, OfMoreThanTwoToThe31Elements) {
  constexpr std::int64_t kElements = (std::int64_t{1} << 31U) + 64;  // mapped: no page is touched
  constexpr std::int64_t kLast = 16;
  const SlotId x = defaulted(DType::kFloat16, {kElements});
  const SlotId index = builder_.external(DType::kInt64, {1}, constant(0));
  builder_.slot(index).value = constant(static_cast<double>(kElements - 2));
  const SlotId row = builder_.intermediate(DType::kFloat16, {1});
  const SlotId out = sink(DType::kFloat16, {1});
  builder_.add_op("aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
                  {ref(x), number(0), ref(index)}, {ref(row)});
  keep(row, out);
  const at::Tensor end =
      result_of(kNarrow, {ref(x), number(0), number(kElements - kLast), number(kLast)},
                DType::kFloat16, {kLast});
  EXPECT_NE(slot(out).item<float>(), 0.0F) << "the row that is looked up is made";
  EXPECT_EQ(end[kLast - 2].item<float>(), slot(out).item<float>());
  EXPECT_EQ(end.ne(0).sum().item<std::int64_t>(), 1);
  EXPECT_LT(externals_->touched_bytes(), std::uint64_t{1} << 20U);
}

TEST_F(TensorKindsTest, AnElementTypeThatIsNotKnownDropsItsReaders) {
  const SlotId x = defaulted(DType::kFloat32, {4});
  builder_.slot(x).dtype = DType::kUndefined;
  const SlotId y = builder_.intermediate(DType::kFloat32, {4});
  builder_.add_op(kRelu, {ref(x)}, {ref(y)});
  keep(y, sink(DType::kFloat32, {4}));
  try_out();
  const et_schema::Coverage coverage = decisions_->coverage();
  ASSERT_EQ(coverage.dropped.size(), 1U);
  EXPECT_EQ(coverage.dropped[0].note, "an argument of an element type that is not known here");
}

class SparseExternalTest : public ReplayerTest {
 protected:
  /// How a product with a sparse matrix counts.
  et_schema::Coverage coverage_with(std::optional<et_schema::SparseContent> content) {
    const SlotId matrix = builder_.external(DType::kFloat32, {50, 30}, constant(1));
    builder_.slot(matrix).sparse = true;
    builder_.slot(matrix).content = std::move(content);
    const SlotId dense = builder_.external(DType::kFloat32, {30, 4}, constant(1));
    const SlotId turned = builder_.intermediate(DType::kFloat32, {30, 50});
    builder_.slot(turned).sparse = true;
    const SlotId back = builder_.intermediate(DType::kFloat32, {50, 30});
    builder_.slot(back).sparse = true;
    const SlotId y = builder_.intermediate(DType::kFloat32, {50, 4});
    builder_.add_op("aten::t(Tensor(a) self) -> Tensor(a)", {ref(matrix)}, {ref(turned)});
    builder_.add_op("aten::t(Tensor(a) self) -> Tensor(a)", {ref(turned)}, {ref(back)});
    builder_.add_op("aten::_sparse_mm(Tensor sparse, Tensor dense) -> Tensor",
                    {ref(back), ref(dense)}, {ref(y)});
    keep(y, sink(DType::kFloat32, {50, 4}));
    EXPECT_EQ(try_out().output_mismatches, 0U);
    elements_ = slot(matrix)._nnz();
    return decisions_->coverage();
  }
  static et_schema::SparseContent content(const std::string& why) {
    et_schema::SparseContent content;
    content.elements = 120;
    for (const std::int64_t size : {50, 30}) {
      content.indices.push_back({et_schema::ValueRule::Integers{.high = size}, why});
    }
    return content;
  }
  std::int64_t elements_ = 0;
};

TEST_F(SparseExternalTest, OfAnAssumedNumberOfElementsAreNotExact) {
  const et_schema::Coverage coverage = coverage_with(content("assumed number of elements"));
  EXPECT_EQ(elements_, 120);
  ASSERT_EQ(coverage.substituted.size(), 2U);
  EXPECT_EQ(coverage.substituted[0].name, "aten::_sparse_mm");
  EXPECT_EQ(coverage.substituted[1].count, 2U);
  EXPECT_EQ(coverage.substituted[1].note,
            "itself, on a sparse tensor of an assumed number of elements");
  EXPECT_EQ(coverage.exact, 1U);  // the copy
}

TEST_F(SparseExternalTest, WithoutElementsAreNotExact) {
  const et_schema::Coverage coverage = coverage_with(std::nullopt);
  EXPECT_EQ(elements_, 0);
  ASSERT_EQ(coverage.substituted.size(), 2U);
  EXPECT_EQ(coverage.substituted[0].note, "itself, on a sparse tensor without elements");
}

TEST_F(SparseExternalTest, OfRecordedElementsAreExact) {
  const et_schema::Coverage coverage = coverage_with(content("captured reuse"));
  EXPECT_EQ(coverage.exact, 4U);
  EXPECT_EQ(coverage.count, 1.0);
}

}  // namespace
}  // namespace understudy::replayer::testing
