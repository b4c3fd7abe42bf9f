#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <functional>

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

/// Bools are all of them, or any, or an odd number of them.
ReduceOp op_on_numbers(DType dtype, ReduceOp op) {
  if (dtype != DType::kBool || op == ReduceOp::kBxor) {
    return op;
  }
  const bool is_all = op == ReduceOp::kProduct || op == ReduceOp::kMin || op == ReduceOp::kBand;
  return is_all ? ReduceOp::kMin : ReduceOp::kMax;
}

double combine(ReduceOp op, double a, double b) {
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
      into = combine(op_on_numbers(dtype, op), into, number_of(dtype, op, rank, first + i, ranks));
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

/// Runs the call on one buffer of `count` results; in place, or to memory of its own.
void expect_reduced(Call call, DType dtype, std::int64_t count, bool in_place) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  const bool is_part = call.kind == CommKind::kReduceScatterBase;
  const auto own = numbers_of(dtype, call.op, rank, is_part ? count * ranks : count, ranks);
  const std::vector<double> untouched(static_cast<std::size_t>(count), 1);
  Data input(dtype, own);
  Data output(dtype, in_place ? own : untouched);
  call.inputs = {in_place ? output.buffer() : input.buffer()};
  call.outputs = {output.buffer()};
  backend().run(call);
  EXPECT_TRUE(input.holds(own));
  const bool has_result = call.kind != CommKind::kReduce || rank == call.root_or_peer;
  EXPECT_TRUE(output.holds(has_result
                               ? reduced(dtype, call.op, count, ranks, is_part ? rank * count : 0)
                           : in_place ? own
                                      : untouched));
}

TEST(Reduced, EveryDTypeAndOperation) {
  for (const std::int64_t count : kReducedCounts) {
    SCOPED_TRACE(count);
    for_each_reduction([&](DType dtype, ReduceOp op) {
      expect_reduced({.kind = CommKind::kAllReduce, .op = op}, dtype, count, true);
      expect_reduced({.kind = CommKind::kReduceScatterBase, .op = op}, dtype, count % 10007, false);
      for (const int root : {0, backend().world_size() - 1}) {
        expect_reduced({.kind = CommKind::kReduce, .root_or_peer = root, .op = op}, dtype,
                       count % 21001, true);
      }
    });
    for (const CommKind kind : {CommKind::kAllReduce, CommKind::kReduce}) {
      expect_reduced({.kind = kind}, DType::kFloat32, count, false);
    }
  }
}

void run_in_place(Call call, const backends::Buffer& buffer) {
  call.inputs = call.outputs = {buffer};
  backend().run(call);
}

TEST(AllReduce, AverageOfIntegersIsTruncated) {
  const int ranks = backend().world_size();
  Data data(DType::kInt32, {static_cast<double>(backend().rank() == 0 ? 7 : 0)});
  run_in_place({.kind = CommKind::kAllReduce, .op = ReduceOp::kAvg}, data.buffer());
  EXPECT_TRUE(data.holds({static_cast<double>(7 / ranks)}));
}

TEST(AllReduce, ElementsTimesAFactor) {
  const int ranks = backend().world_size();
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    for (const std::int64_t count : kReducedCounts) {
      SCOPED_TRACE(std::string(et_schema::to_string(dtype)) + " " + std::to_string(count));
      Data data(dtype, std::vector<double>(static_cast<std::size_t>(count), 4));
      run_in_place({.kind = CommKind::kAllReduce, .factor = 0.25}, data.buffer());
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
  backend().run({.kind = CommKind::kReduceScatterBase,
                 .factor = 0.5,
                 .inputs = {input.buffer()},
                 .outputs = {output.buffer()}});
  EXPECT_TRUE(output.holds(std::vector<double>(3, ranks)));
}

TEST(AllReduce, ProductOfComplexNumbers) {
  const int ranks = backend().world_size();
  for (const std::size_t count : {std::size_t{3}, std::size_t{9001}}) {
    std::vector<std::complex<float>> data(count, {0.0F, 1.0F});
    run_in_place({.kind = CommKind::kAllReduce, .op = ReduceOp::kProduct},
                 {data.data(), static_cast<std::int64_t>(count), DType::kComplexFloat32});
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
  run_in_place({.kind = CommKind::kAllReduce}, {data.data(), 3, DType::kFloat16});
  EXPECT_EQ(data[0], 0x7c00);
  EXPECT_EQ(data[1], ranks);
  EXPECT_EQ(data[2], ranks == 1 ? 0x7bff : 0x7c00);
}

TEST(ReduceScatter, BaseInPlaceAndCoalesced) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  constexpr std::int64_t kCount = 11;
  Data first(DType::kFloat64,
             numbers_of(DType::kFloat64, ReduceOp::kSum, rank, kCount * ranks, ranks));
  Data second(DType::kFloat64,
              numbers_of(DType::kFloat64, ReduceOp::kSum, rank, kCount * ranks, ranks, 1));
  Call call{.kind = CommKind::kReduceScatterBase};
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
    Call call{.kind = kind, .root_or_peer = ranks - 1, .op = ReduceOp::kAvg};
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
  Call call{.kind = CommKind::kReduceScatterBase};
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
  Call call{.kind = CommKind::kReduceScatter, .op = ReduceOp::kMax};
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
