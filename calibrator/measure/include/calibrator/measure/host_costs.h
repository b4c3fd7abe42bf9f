#pragma once

namespace understudy::calibrator {

/// What a host takes beside its operators.
struct HostCosts {
  double loop_ns = 0;        ///< of a C++ loop between two operators
  double page_fault_ns = 0;  ///< of the first touch of a page that the system hands out
};

/// Takes about a second.
[[nodiscard]] HostCosts measure_host_costs();

}  // namespace understudy::calibrator
