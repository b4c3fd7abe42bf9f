#pragma once

namespace understudy::calibrator {

/// Measures the first touch of a page that the system hands out: the median over 30 mappings of
/// 16 MiB. Returns 0 if the system maps none.
[[nodiscard]] double measure_page_fault_ns();

}  // namespace understudy::calibrator
