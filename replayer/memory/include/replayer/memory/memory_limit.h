#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

#include "et_schema/model/program.h"

namespace understudy::replayer {

/// Bytes that a replay on `device` needs at least: externals and, at their peak, intermediates by
/// their lifetimes. Externals that are mapped on demand are left out: how much of them is touched
/// depends on values.
[[nodiscard]] std::uint64_t needed_bytes(const et_schema::Program& program, c10::Device device);

/// The same of what lies on `device` alone, in a replay on `target`.
[[nodiscard]] std::uint64_t needed_bytes_on(const et_schema::Program& program, c10::Device device,
                                            c10::Device target);

/// Refuses a program that needs more than `limit_bytes` on the device, more than the device has
/// free, or more of the host's memory than that has, before anything is allocated. Throws Error
/// (failed) with the peak, its node and the largest tensors.
void check_memory(const et_schema::Program& program, c10::Device device,
                  std::optional<std::uint64_t> limit_bytes);

}  // namespace understudy::replayer
