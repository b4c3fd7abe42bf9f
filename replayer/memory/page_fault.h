#pragma once

namespace understudy::replayer {

/// Measures the first touch of a new page: the median over 30 mappings of 16 MiB. Returns 0 if the
/// system refuses the mappings.
[[nodiscard]] double measure_page_fault_ns();

}  // namespace understudy::replayer
