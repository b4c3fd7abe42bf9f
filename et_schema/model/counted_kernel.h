#pragma once

#include <string>

#include "et_schema/facts/counters.h"

namespace understudy::et_schema {

/// A kernel's launch, and what a profiler counted in it.
struct CountedKernel {
  std::string kernel;
  Counters metrics = {};  ///< by the maker's names: "dram__bytes_read.sum"
};

}  // namespace understudy::et_schema
