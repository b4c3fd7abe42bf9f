#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

#include "et_schema/model/program.h"

namespace understudy::replayer {

/// Whether the storage was page-locked in the original and a replay on `target` copies from or to
/// it.
[[nodiscard]] bool is_page_locked(const et_schema::Storage& storage, c10::Device target);

/// Whether a storage that is made before the run is mapped on demand: kMappedBytes and more of the
/// CPU's memory, unless it is page-locked, which takes all of it at once.
[[nodiscard]] bool maps_on_demand(const et_schema::Storage& storage, c10::Device target);

/// Bytes that a replay on `device` needs at least: externals and, at their peak, intermediates by
/// their lifetimes. Externals that are mapped on demand are left out, since values decide how much
/// of them is touched.
[[nodiscard]] std::uint64_t needed_bytes(const et_schema::Program& program, c10::Device device);

/// The part of these bytes that lies on `device`, in a replay on `target`.
[[nodiscard]] std::uint64_t needed_bytes_on(const et_schema::Program& program, c10::Device device,
                                            c10::Device target);

/// Refuses a program, before anything is allocated, that needs more than `limit_bytes` on the
/// device, more than the device has free, or more of the host's memory than is free. Throws Error
/// (failed) with the peak, its node and the largest tensors.
void check_memory(const et_schema::Program& program, c10::Device device,
                  std::optional<std::uint64_t> limit_bytes);

}  // namespace understudy::replayer
