#pragma once

#include "et_schema/model/dtype.h"
#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// CUDA, or a device of a name that is not known here: neither the CPU nor `meta`.
[[nodiscard]] constexpr bool is_accelerator(const Device& device) {
  return device.type == DeviceType::kCuda || device.type == DeviceType::kOther;
}

/// True if any of the program's memory was recorded on one.
[[nodiscard]] bool uses_accelerator(const Program& program);

}  // namespace understudy::et_schema
