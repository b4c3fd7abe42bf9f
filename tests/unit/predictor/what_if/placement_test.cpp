#include <gtest/gtest.h>

#include "predictor/what_if/what_if.h"

namespace understudy::predictor {
namespace {

using et_schema::Device;
using et_schema::DeviceType;

et_schema::Program program_on(std::initializer_list<Device> devices) {
  et_schema::Program program;
  for (const Device& device : devices) {
    program.storages.push_back({.device = device, .bytes = 4});
  }
  return program;
}

TEST(Placement, TensorsOfTheHostMoveAndOthersStay) {
  const et_schema::Program host = program_on({{DeviceType::kCpu, -1}, {DeviceType::kMeta, -1}});
  EXPECT_FALSE(uses_accelerator(host));
  const et_schema::Program placed = placed_on_device(host);
  EXPECT_TRUE(uses_accelerator(placed));
  EXPECT_EQ(placed.storages[0].device, (Device{DeviceType::kCuda, 0}));
  EXPECT_EQ(placed.storages[1].device.type, DeviceType::kMeta);
}

TEST(Placement, OneTensorOnADeviceIsEnough) {
  EXPECT_TRUE(uses_accelerator(program_on({{DeviceType::kCpu, -1}, {DeviceType::kCuda, 1}})));
  EXPECT_TRUE(uses_accelerator(program_on({{DeviceType::kOther, 0}})));
}

}  // namespace
}  // namespace understudy::predictor
