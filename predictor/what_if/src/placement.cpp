#include "predictor/what_if/placement.h"

#include <algorithm>
#include <utility>

#include "predictor/flow/host_waits.h"

namespace understudy::predictor {

using et_schema::Device;
using et_schema::DeviceType;
using et_schema::Storage;

bool is_on_host(const et_schema::Program& program) {
  return std::ranges::none_of(
      program.storages, [](const Storage& storage) { return is_accelerator(storage.device); });
}

et_schema::Program placed_on_device(et_schema::Program program) {
  constexpr Device kFirst{DeviceType::kCuda, 0};
  for (Storage& storage : program.storages) {
    if (storage.device.type == DeviceType::kCpu) {
      storage.device = kFirst;
    }
  }
  return program;
}

}  // namespace understudy::predictor
