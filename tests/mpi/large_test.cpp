// Calls with more elements than an int can count. They need about 14 GB on two ranks: run them by
// hand or with `ctest -L large`, on a machine with that much memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plain_data.h"
#include "replayer/backends/interface/backend.h"

namespace understudy::tests {
namespace {

using backends::Call;
using et_schema::CommKind;
using et_schema::DType;

constexpr std::int64_t kCount = (std::int64_t{1} << 31) + 5;

class Large : public testing::Test {
 protected:
  /// A byte for each element that differs between positions of more than 32 bits.
  static std::uint8_t value(std::int64_t i, int rank) {
    return static_cast<std::uint8_t>((i + (i >> 31) * 3 + rank) % 101);
  }

  void fill(int rank) {
    for (std::int64_t i = 0; i < kCount; ++i) {
      data_[static_cast<std::size_t>(i)] = value(i, rank);
    }
  }

  template <typename Expected>
  [[nodiscard]] bool holds(Expected&& expected) const {
    for (std::int64_t i = 0; i < kCount; ++i) {
      if (data_[static_cast<std::size_t>(i)] != expected(i)) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] Call call(CommKind kind) {
    Call call;
    call.kind = kind;
    call.inputs = call.outputs = {{data_.data(), kCount, DType::kUInt8}};
    return call;
  }

  std::vector<std::uint8_t> data_ = std::vector<std::uint8_t>(static_cast<std::size_t>(kCount));
};

TEST_F(Large, AllReduce) {
  fill(backend().rank());
  Call sum = call(CommKind::kAllReduce);
  backend().run(sum);
  EXPECT_TRUE(
      holds([](std::int64_t i) { return static_cast<std::uint8_t>(value(i, 0) + value(i, 1)); }));
}

TEST_F(Large, Reduce) {
  fill(backend().rank());
  Call maximum = call(CommKind::kReduce);
  maximum.op = backends::ReduceOp::kMax;
  backend().run(maximum);
  if (backend().rank() == 0) {
    EXPECT_TRUE(holds([](std::int64_t i) { return std::max(value(i, 0), value(i, 1)); }));
  }
}

TEST_F(Large, Broadcast) {
  fill(backend().rank());
  backend().run(call(CommKind::kBroadcast));
  EXPECT_TRUE(holds([](std::int64_t i) { return value(i, 0); }));
}

TEST_F(Large, SendAndReceive) {
  fill(backend().rank());
  Call message = call(backend().rank() == 0 ? CommKind::kSend : CommKind::kRecv);
  message.root_or_peer = 1 - backend().rank();
  backend().run(message);
  EXPECT_TRUE(holds([](std::int64_t i) { return value(i, 0); }));
}

}  // namespace
}  // namespace understudy::tests
