// Calls with more elements than an int can count. They need about 14 GB on two ranks: run them by
// hand or with `ctest -L large`, on a machine with that much memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "plain_data.h"

namespace understudy::tests {
namespace {

using backends::Call;
using et_schema::CommKind;
using et_schema::DType;

constexpr std::int64_t kCount = (std::int64_t{1} << 31) + 5;

/// A byte for each element that differs between positions of more than 32 bits.
std::uint8_t value(std::int64_t i, int rank) {
  return static_cast<std::uint8_t>((i + (i >> 31) * 3 + rank) % 101);
}

/// Returns how many elements differ from expected(i) after the call on memory of this rank's.
template <typename Expected>
std::int64_t differences_after(Call call, const Expected& expected) {
  std::vector<std::uint8_t> data;
  for (std::int64_t i = 0; i < kCount; ++i) {
    data.push_back(value(i, backend().rank()));
  }
  call.inputs = call.outputs = {{data.data(), kCount, DType::kUInt8}};
  backend().run(call);
  std::int64_t differences = 0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    differences += data[static_cast<std::size_t>(i)] == expected(i) ? 0 : 1;
  }
  return differences;
}

TEST(Large, AllReduce) {
  const auto sum = [](std::int64_t i) {
    return static_cast<std::uint8_t>(value(i, 0) + value(i, 1));
  };
  EXPECT_EQ(differences_after({.kind = CommKind::kAllReduce}, sum), 0);
}

TEST(Large, SendAndReceive) {
  const bool sends = backend().rank() == 0;
  const Call message{.kind = sends ? CommKind::kSend : CommKind::kRecv, .root_or_peer = sends};
  EXPECT_EQ(differences_after(message, [](std::int64_t i) { return value(i, 0); }), 0);
}

}  // namespace
}  // namespace understudy::tests
