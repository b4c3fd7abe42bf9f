#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

#include "et_schema/model/program.h"

namespace understudy::replayer {

/// Returns true if the storage was page-locked in the original and a replay on `target` copies from
/// or to it.
[[nodiscard]] bool is_page_locked(const et_schema::Storage& storage, c10::Device target);

/// Returns true if a storage made before the run is mapped on demand: CPU storages of kMappedBytes
/// or more, unless page-locked, which allocates all pages at once.
[[nodiscard]] bool maps_on_demand(const et_schema::Storage& storage, c10::Device target);

/// Returns the bytes of the externals that are mapped on demand.
[[nodiscard]] std::uint64_t mapped_bytes(const et_schema::Program& program, c10::Device device);

/// Returns the least bytes on `device` of a replay on `target`: externals plus the peak of
/// intermediates by their lifetimes. Externals that are mapped on demand are excluded, since values
/// decide how many of their pages are touched.
[[nodiscard]] std::uint64_t needed_bytes_on(const et_schema::Program& program, c10::Device device,
                                            c10::Device target);

/// Throws Error (failed) if a program needs more than `limit_bytes` on the device, more than the
/// device's free memory, or more than the host's free memory. Must be called before allocating. The
/// message names the peak, its node and the largest tensors.
void check_memory(const et_schema::Program& program, c10::Device device,
                  std::optional<std::uint64_t> limit_bytes);

}  // namespace understudy::replayer
