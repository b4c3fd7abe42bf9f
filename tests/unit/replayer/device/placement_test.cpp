// Which GPU is a rank's, and what of a program moves to it.

#include "replayer/device/placement.h"

#include <gtest/gtest.h>

#include "program_builder.h"
#include "replayer/device/device.h"
#include "replayer/dispatch/layout.h"
#include "replayer/memory/memory_limit.h"

namespace understudy::replayer::testing {
namespace {

using et_schema::Device;
using et_schema::DeviceType;

const c10::Device kCpu(c10::kCPU);
const c10::Device kGpu(c10::kCUDA, 1);
constexpr Device kRecordedGpu{DeviceType::kCuda, 3};

TEST(ChooseGpu, IsThatOfTheRanksNumberOnItsHost) {
  EXPECT_EQ(choose_gpu(std::nullopt, 8), 0);
  EXPECT_EQ(choose_gpu(0, 8), 0);
  EXPECT_EQ(choose_gpu(5, 8), 5);
  EXPECT_EQ(choose_gpu(5, 1), 0);  // each rank was given one of its own
  EXPECT_EQ(choose_gpu(8, 8), std::nullopt);
  EXPECT_EQ(choose_gpu(2, 2), std::nullopt);
  EXPECT_EQ(choose_gpu(std::nullopt, 0), std::nullopt);
}

class PlacementTest : public ::testing::Test {
 protected:
  PlacementTest() {
    builder_.add_op(kMul, {ref(x_), ref(two_)}, {ref(y_)});
    builder_.slot(two_).wrapped_number = true;
    builder_.add_op(
        "aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None) -> Tensor",
        {numbers({4}), none(), none(), none(), none()}, {ref(z_)});
    builder_.add_op(
        "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> "
        "(Tensor, Tensor)",
        {ref(x_), ref(lengths_), flag(false)}, {ref(y_), ref(z_)});
    for (et_schema::Storage& storage : builder_.program().storages) {
      storage.device = {DeviceType::kCpu, -1};
    }
  }
  c10::Device place_of(const Program& program, SlotId slot) {
    return map_device(program.storages[program.slots[slot].storage].device, kGpu);
  }
  ProgramBuilder builder_;
  SlotId x_ = builder_.external(DType::kFloat32, {4}, constant(1));
  SlotId two_ = builder_.external(DType::kFloat64, {}, constant(2));
  SlotId lengths_ = builder_.external(DType::kInt64, {4}, constant(1));
  SlotId y_ = builder_.intermediate(DType::kFloat32, {4});
  SlotId z_ = builder_.intermediate(DType::kFloat32, {4});
};

TEST_F(PlacementTest, ABenchmarkOfACpuMovesToTheGpu) {
  EXPECT_TRUE(moves_to(kGpu, builder_.program()));
  EXPECT_FALSE(moves_to(kCpu, builder_.program()));
}

TEST_F(PlacementTest, OneOfAGpuStaysWhereItWas) {
  builder_.program().storages[builder_.slot(x_).storage].device = kRecordedGpu;
  EXPECT_FALSE(moves_to(kGpu, builder_.program()));
}

TEST_F(PlacementTest, NumbersAndLengthsStayOnTheHost) {
  const Program moved = move_to_device(builder_.program());
  EXPECT_EQ(place_of(moved, x_), kGpu);
  EXPECT_EQ(place_of(moved, y_), kGpu);
  EXPECT_EQ(place_of(moved, two_), kCpu);
  EXPECT_EQ(place_of(moved, lengths_), kCpu);
  const auto* device = std::get_if<Argument::DeviceRef>(&moved.instructions[1].args[3].value);
  ASSERT_NE(device, nullptr);  // a factory makes its tensor where its readers are
  EXPECT_EQ(map_device(device->device, kGpu), kGpu);
}

const char* const kEmpty =
    "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor";

TEST_F(PlacementTest, WhatTheHostKeepsIsMadeThere) {
  const Argument cpu{Argument::DeviceRef{{DeviceType::kCpu, -1}}};
  const SlotId sizes = builder_.intermediate(DType::kInt64, {4});
  builder_.program().storages[builder_.slot(sizes).storage].device = {DeviceType::kCpu, -1};
  builder_.add_op(kEmpty, {numbers({4}), number(4), none(), cpu, flag(true), none()}, {ref(sizes)});
  builder_.add_op(kEmpty, {numbers({4}), number(6), none(), cpu, flag(true), none()}, {ref(y_)});
  builder_.add_op("aten::lstm.data(Tensor data, Tensor batch_sizes) -> Tensor",
                  {ref(x_), ref(sizes)}, {ref(z_)});
  const std::size_t first = builder_.program().instructions.size() - 3;
  const Program moved = move_to_device(builder_.program());
  const auto device_of = [&](std::size_t at) {
    return map_device(std::get<Argument::DeviceRef>(moved.instructions[at].args[3].value).device,
                      kGpu);
  };
  const auto pins = [&](std::size_t at) {
    return std::get<bool>(moved.instructions[at].args[4].value);
  };
  EXPECT_EQ(place_of(moved, sizes), kCpu);
  EXPECT_EQ(device_of(first), kCpu);
  EXPECT_TRUE(pins(first));
  EXPECT_EQ(device_of(first + 1), kGpu);
  EXPECT_FALSE(pins(first + 1));  // only the host's memory can be page-locked
}

TEST_F(PlacementTest, MemoryCountsAgainstTheDeviceItLiesOn) {
  Program program = builder_.program();
  program.storages[program.slots[x_].storage].device = kRecordedGpu;
  program.storages[program.slots[y_].storage].device = kRecordedGpu;
  const std::uint64_t on_gpu = needed_bytes_on(program, kGpu, kGpu);
  const std::uint64_t on_cpu = needed_bytes_on(program, kCpu, kGpu);
  EXPECT_EQ(on_gpu, 32U);           // x and y
  EXPECT_EQ(on_cpu, 8 + 32 + 16U);  // the number, the lengths, and z at the peak
}

}  // namespace
}  // namespace understudy::replayer::testing
