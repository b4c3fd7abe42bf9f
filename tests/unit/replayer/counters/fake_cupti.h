#pragma once

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

/// CUPTI's library of one GPU for tests (fake_cupti.cpp). It refuses calls in a wrong order, blocks
/// of a wrong size, and images that are not its own.
struct FakeCupti {
  struct Failure {
    CUptiResult status = CUPTI_ERROR_UNKNOWN;
    int after = 0;  ///< calls that succeed before
  };
  std::map<std::string, Failure> failures;  ///< by function
  /// Values of the range "0"; the range "i" has i + 1 times as much.
  std::map<std::string, double> metrics;
  std::set<std::string> apart;      ///< metrics that are not counted together with others
  std::size_t metrics_of_pass = 2;  ///< a configuration needs a pass for each two of its metrics
  std::size_t hidden_passes = 0;    ///< passes that a configuration needs beyond those it tells
  std::size_t kept_ranges = 1000;   ///< ranges beyond are dropped
  const char* chip = "GH100";
  CUpti_Profiler_DeviceSupported_Params support{};  ///< of the GPU; what is unset is supported
  std::size_t open = 0;                             ///< objects that are not ended yet
};

using FakeCuptiFunction = FakeCupti*();  ///< of the function "fake_cupti"
