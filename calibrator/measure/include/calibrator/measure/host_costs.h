#pragma once

#include <string>

namespace understudy::calibrator {

/// What a host takes beside its operators.
struct HostCosts {
  std::string probe_kind;    ///< replayer::HostProbe's
  double probe_us = 0;       ///< how fast this host is for a program in an interpreter
  double loop_ns = 0;        ///< of a C++ loop between two operators
  double page_fault_ns = 0;  ///< of the first touch of a page that the system hands out
};

/// Takes about a second.
[[nodiscard]] HostCosts measure_host_costs();

}  // namespace understudy::calibrator
