#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <functional>
#include <numeric>

#include "plain_data.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/backends/interface/check_call.h"

namespace understudy::tests {
namespace {

using backends::Call;
using backends::ReduceOp;
using et_schema::CommKind;
using et_schema::DType;

constexpr std::array<ReduceOp, 8> kOps = {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kProduct,
                                          ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kBand,
                                          ReduceOp::kBor, ReduceOp::kBxor};
// Counts below and above the size from which parts are exchanged; some are no multiple of any rank
// count.
constexpr std::array<std::int64_t, 5> kReducedCounts = {0, 1, 7, 1000, 70001};

/// Element i of rank r: so small that results over eight ranks are exact in every dtype.
double number_of(DType dtype, ReduceOp op, int rank, std::int64_t i, int ranks) {
  const auto mixed = static_cast<int>((i + rank) % 3);
  if (dtype == DType::kBool) {
    return mixed == 0 ? 1 : 0;
  }
  constexpr int kMostFactors = 6;  // 2^6 fits in int8
  switch (op) {
    case ReduceOp::kProduct:
      return rank < kMostFactors && mixed != 0 ? 2 : 1;
    case ReduceOp::kAvg:
      return mixed * ranks;
    default:
      return 1 + mixed;
  }
}

double combine(DType dtype, ReduceOp op, double a, double b) {
  if (dtype == DType::kBool) {
    const bool both = a != 0 && b != 0;
    const bool either = a != 0 || b != 0;
    switch (op) {
      case ReduceOp::kProduct:
      case ReduceOp::kMin:
      case ReduceOp::kBand:
        return both ? 1 : 0;
      case ReduceOp::kBxor:
        return a != b ? 1 : 0;
      default:
        return either ? 1 : 0;
    }
  }
  const auto left = static_cast<int>(a);
  const auto right = static_cast<int>(b);
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return a + b;
    case ReduceOp::kProduct:
      return a * b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kBand:
      return left & right;
    case ReduceOp::kBor:
      return left | right;
    case ReduceOp::kBxor:
      return left ^ right;
  }
  return 0;
}

std::vector<double> numbers_of(DType dtype, ReduceOp op, int rank, std::int64_t count, int ranks,
                               std::int64_t first = 0) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(number_of(dtype, op, rank, first + i, ranks));
  }
  return numbers;
}

std::vector<double> reduced(DType dtype, ReduceOp op, std::int64_t count, int ranks,
                            std::int64_t first = 0) {
  std::vector<double> result = numbers_of(dtype, op, 0, count, ranks, first);
  for (int rank = 1; rank < ranks; ++rank) {
    for (std::int64_t i = 0; i < count; ++i) {
      double& into = result[static_cast<std::size_t>(i)];
      into = combine(dtype, op, into, number_of(dtype, op, rank, first + i, ranks));
    }
  }
  if (op == ReduceOp::kAvg) {
    for (double& number : result) {
      number /= ranks;
    }
  }
  return result;
}

/// Calls body(dtype, op) for each pair that is defined.
void for_each_reduction(const std::function<void(DType, ReduceOp)>& body) {
  for (const DType dtype : all_dtypes()) {
    for (const ReduceOp op : kOps) {
      if (backends::can_reduce(dtype, op)) {
        SCOPED_TRACE(std::string(et_schema::to_string(dtype)) + " " +
                     std::string(et_schema::to_string(op)));
        body(dtype, op);
      }
    }
  }
}

Call make_call(CommKind kind, ReduceOp op) {
  Call call;
  call.kind = kind;
  call.op = op;
  return call;
}

TEST(AllReduce, EveryDTypeAndOperationInPlace) {
  const int ranks = backend().world_size();
  for (const std::int64_t count : kReducedCounts) {
    SCOPED_TRACE(count);
    for_each_reduction([&](DType dtype, ReduceOp op) {
      Data data(dtype, numbers_of(dtype, op, backend().rank(), count, ranks));
      Call call = make_call(CommKind::kAllReduce, op);
      call.inputs = call.outputs = {data.buffer()};
      backend().run(call);
      EXPECT_TRUE(data.holds(reduced(dtype, op, count, ranks)));
    });
  }
}

TEST(AllReduce, ToAnotherBufferLeavesTheInput) {
  const int ranks = backend().world_size();
  for (const std::int64_t count : kReducedCounts) {
    const auto own = numbers_of(DType::kFloat32, ReduceOp::kSum, backend().rank(), count, ranks);
    Data input(DType::kFloat32, own);
    Data output(DType::kFloat32, std::vector<double>(own.size(), -1));
    Call call = make_call(CommKind::kAllReduce, ReduceOp::kSum);
    call.inputs = {input.buffer()};
    call.outputs = {output.buffer()};
    backend().run(call);
    EXPECT_TRUE(input.holds(own));
    EXPECT_TRUE(output.holds(reduced(DType::kFloat32, ReduceOp::kSum, count, ranks)));
  }
}

TEST(AllReduce, CoalescedListOfAllSizes) {
  const int ranks = backend().world_size();
  std::vector<Data> tensors;
  Call call = make_call(CommKind::kAllReduce, ReduceOp::kAvg);
  for (const std::int64_t count : kReducedCounts) {
    tensors.emplace_back(DType::kBFloat16, numbers_of(DType::kBFloat16, ReduceOp::kAvg,
                                                      backend().rank(), count, ranks, count));
  }
  call.inputs = call.outputs = buffers_of(tensors);
  backend().run(call);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_TRUE(tensors[i].holds(
        reduced(DType::kBFloat16, ReduceOp::kAvg, kReducedCounts[i], ranks, kReducedCounts[i])));
  }
}

TEST(AllReduce, AverageOfIntegersIsTruncated) {
  const int ranks = backend().world_size();
  Data data(DType::kInt32, {static_cast<double>(backend().rank() == 0 ? 7 : 0)});
  Call call = make_call(CommKind::kAllReduce, ReduceOp::kAvg);
  call.inputs = call.outputs = {data.buffer()};
  backend().run(call);
  EXPECT_TRUE(data.holds({static_cast<double>(7 / ranks)}));
}

TEST(AllReduce, ElementsTimesAFactor) {
  const int ranks = backend().world_size();
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    for (const std::int64_t count : kReducedCounts) {
      SCOPED_TRACE(std::string(et_schema::to_string(dtype)) + " " + std::to_string(count));
      Data data(dtype, std::vector<double>(static_cast<std::size_t>(count), 4));
      Call call = make_call(CommKind::kAllReduce, ReduceOp::kSum);
      call.factor = 0.25;
      call.inputs = call.outputs = {data.buffer()};
      backend().run(call);
      EXPECT_TRUE(data.holds(
          std::vector<double>(static_cast<std::size_t>(count), static_cast<double>(ranks))));
    }
  }
}

TEST(ReduceScatter, ElementsTimesAFactor) {
  const int ranks = backend().world_size();
  const DType dtype = DType::kBFloat16;
  Data input(dtype, std::vector<double>(static_cast<std::size_t>(3 * ranks), 2));
  Data output(dtype, {0, 0, 0});
  Call call = make_call(CommKind::kReduceScatterBase, ReduceOp::kSum);
  call.factor = 0.5;
  call.inputs = {input.buffer()};
  call.outputs = {output.buffer()};
  backend().run(call);
  EXPECT_TRUE(output.holds(std::vector<double>(3, ranks)));
}

TEST(AllReduce, ProductOfComplexNumbers) {
  const int ranks = backend().world_size();
  for (const std::size_t count : {std::size_t{3}, std::size_t{9001}}) {
    std::vector<std::complex<float>> data(count, {0.0F, 1.0F});
    Call call = make_call(CommKind::kAllReduce, ReduceOp::kProduct);
    call.inputs = {{data.data(), static_cast<std::int64_t>(count), DType::kComplexFloat32}};
    call.outputs = call.inputs;
    backend().run(call);
    std::complex<float> expected{1.0F, 0.0F};
    for (int i = 0; i < ranks; ++i) {
      expected *= std::complex<float>{0.0F, 1.0F};
    }
    EXPECT_TRUE(std::all_of(data.begin(), data.end(), [&](auto x) { return x == expected; }));
  }
}

TEST(AllReduce, HalvesKeepInfinityAndSubnormals) {
  const int ranks = backend().world_size();
  // These are bits of binary16: infinity, the smallest subnormal, the largest number.
  std::vector<std::uint16_t> data = {0x7c00, 0x0001, 0x7bff};
  Call call = make_call(CommKind::kAllReduce, ReduceOp::kSum);
  call.inputs = call.outputs = {{data.data(), 3, DType::kFloat16}};
  backend().run(call);
  EXPECT_EQ(data[0], 0x7c00);
  EXPECT_EQ(data[1], ranks);
  EXPECT_EQ(data[2], ranks == 1 ? 0x7bff : 0x7c00);
}

TEST(Reduce, EveryRootEveryDTypeAndOperation) {
  const int ranks = backend().world_size();
  for (int root = 0; root < ranks; ++root) {
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{5}, std::int64_t{20001}}) {
      for_each_reduction([&](DType dtype, ReduceOp op) {
        const auto own = numbers_of(dtype, op, backend().rank(), count, ranks);
        Data data(dtype, own);
        Call call = make_call(CommKind::kReduce, op);
        call.root_or_peer = root;
        call.inputs = call.outputs = {data.buffer()};
        backend().run(call);
        EXPECT_TRUE(data.holds(backend().rank() == root ? reduced(dtype, op, count, ranks) : own));
      });
    }
  }
}

TEST(ReduceScatter, BaseEveryDTypeAndOperation) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{3}, std::int64_t{9001}}) {
    for_each_reduction([&](DType dtype, ReduceOp op) {
      const auto own = numbers_of(dtype, op, rank, count * ranks, ranks);
      Data input(dtype, own);
      Data output(dtype, std::vector<double>(static_cast<std::size_t>(count), 0));
      Call call = make_call(CommKind::kReduceScatterBase, op);
      call.inputs = {input.buffer()};
      call.outputs = {output.buffer()};
      backend().run(call);
      EXPECT_TRUE(input.holds(own));
      EXPECT_TRUE(output.holds(reduced(dtype, op, count, ranks, rank * count)));
    });
  }
}

TEST(ReduceScatter, BaseInPlaceAndCoalesced) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  constexpr std::int64_t kCount = 11;
  Data first(DType::kFloat64,
             numbers_of(DType::kFloat64, ReduceOp::kSum, rank, kCount * ranks, ranks));
  Data second(DType::kFloat64,
              numbers_of(DType::kFloat64, ReduceOp::kSum, rank, kCount * ranks, ranks, 1));
  Call call = make_call(CommKind::kReduceScatterBase, ReduceOp::kSum);
  call.inputs = {first.buffer(), second.buffer()};
  call.outputs = {first.part(rank * kCount, kCount), second.part(rank * kCount, kCount)};
  backend().run(call);
  const auto expect = [&](Data& whole, std::int64_t shift) {
    const auto* begin = whole.bytes().data() + rank * kCount * 8;
    EXPECT_EQ(std::vector<std::byte>(begin, begin + kCount * 8),
              encode(DType::kFloat64, reduced(DType::kFloat64, ReduceOp::kSum, kCount, ranks,
                                              rank * kCount + shift)));
  };
  expect(first, 0);
  expect(second, 1);
}

/// Of these the largest goes in three pieces, the last in one with others.
TEST(Reduce, OfManyBytesBesideFewToTheLastRankAndToAll) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  constexpr std::array<std::int64_t, 4> kCounts = {5, 2200003, 9001, 70001};
  for (const CommKind kind : {CommKind::kReduce, CommKind::kAllReduce}) {
    Call call = make_call(kind, ReduceOp::kAvg);
    call.root_or_peer = ranks - 1;
    std::vector<Data> data;
    for (const std::int64_t count : kCounts) {
      data.emplace_back(DType::kFloat64,
                        numbers_of(DType::kFloat64, ReduceOp::kAvg, rank, count, ranks));
    }
    call.inputs = call.outputs = buffers_of(data);
    backend().run(call);
    for (std::size_t i = 0; i < data.size(); ++i) {
      EXPECT_TRUE(data[i].holds(
          kind == CommKind::kAllReduce || rank == ranks - 1
              ? reduced(DType::kFloat64, ReduceOp::kAvg, kCounts[i], ranks)
              : numbers_of(DType::kFloat64, ReduceOp::kAvg, rank, kCounts[i], ranks)));
    }
  }
}

/// The last rank's output lies across its inputs for two ranks, those of others do not.
TEST(ReduceScatter, OfManyBytesIntoAnInput) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  if (ranks == 1 || backend().name() == "nccl") {
    GTEST_SKIP() << "NCCL takes no such output";
  }
  const std::int64_t count = 2200003 / ranks;
  Data input(DType::kFloat64,
             numbers_of(DType::kFloat64, ReduceOp::kSum, rank, count * ranks, ranks));
  Data output(DType::kFloat64, std::vector<double>(static_cast<std::size_t>(count), 0));
  Call call = make_call(CommKind::kReduceScatterBase, ReduceOp::kSum);
  call.inputs = {input.buffer()};
  call.outputs = {rank == ranks - 1 ? input.part(count / 2, count) : output.buffer()};
  backend().run(call);
  const auto* result = static_cast<const std::byte*>(call.outputs[0].data);
  EXPECT_EQ(std::vector<std::byte>(result, result + count * 8),
            encode(DType::kFloat64,
                   reduced(DType::kFloat64, ReduceOp::kSum, count, ranks, rank * count)));
}

TEST(ReduceScatter, UnevenLists) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  std::vector<Data> inputs;
  Call call = make_call(CommKind::kReduceScatter, ReduceOp::kMax);
  for (int to = 0; to < ranks; ++to) {
    inputs.emplace_back(DType::kInt64,
                        numbers_of(DType::kInt64, ReduceOp::kMax, rank, to * 3, ranks, to));
  }
  call.inputs = buffers_of(inputs);
  Data output(DType::kInt64, std::vector<double>(static_cast<std::size_t>(rank * 3), 0));
  call.outputs = {output.buffer()};
  backend().run(call);
  EXPECT_TRUE(output.holds(reduced(DType::kInt64, ReduceOp::kMax, rank * 3, ranks, rank)));
}

}  // namespace
}  // namespace understudy::tests
