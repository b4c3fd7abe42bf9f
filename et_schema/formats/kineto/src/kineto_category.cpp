#include "kineto_category.h"

#include <algorithm>
#include <array>

namespace understudy::et_schema {
namespace {

struct CategoryName {
  std::string_view text;
  KinetoCategory category;
};
constexpr std::array kCategories = {
    CategoryName{"cpu_op", KinetoCategory::kCpuOp},
    CategoryName{"kernel", KinetoCategory::kKernel},
    CategoryName{"cuda_runtime", KinetoCategory::kRuntime},
    CategoryName{"cuda_driver", KinetoCategory::kRuntime},
    CategoryName{"user_annotation", KinetoCategory::kUserAnnotation},
    CategoryName{"gpu_user_annotation", KinetoCategory::kGpuUserAnnotation},
    CategoryName{"gpu_memcpy", KinetoCategory::kGpuMemcpy},
    CategoryName{"gpu_memset", KinetoCategory::kGpuMemset},
    CategoryName{"cuda_sync", KinetoCategory::kSync},
    CategoryName{"overhead", KinetoCategory::kOverhead},
    CategoryName{"mtia_ccp_events", KinetoCategory::kKernel},
    CategoryName{"runtime", KinetoCategory::kRuntime},
    CategoryName{"driver", KinetoCategory::kRuntime},
};

/// Categories that are no operator's time: they stand beside the work, or are a call on the host.
constexpr auto kNoWork = std::to_array<std::string_view>(
    {"", "cuda_event", "collective_comm", "external_correlation", "ac2g", "async_cpu_to_gpu",
     "fwdbwd", "Trace", "cpu_instant_event", "hardware_counters", "mtia_insight", "mtia_counters",
     "cuda_profiler_range", "xpu_scope_profiler", "hpu_op"});

}  // namespace

KinetoCategory category_of(std::string_view text) {
  for (const CategoryName& known : kCategories) {
    if (known.text == text) {
      return known.category;
    }
  }
  const auto ends_with = [text](std::string_view ending) { return text.ends_with(ending); };
  if (ends_with("_runtime") || ends_with("_driver")) {
    return KinetoCategory::kRuntime;
  }
  if (ends_with("_memcpy")) {
    return KinetoCategory::kGpuMemcpy;
  }
  if (ends_with("_memset")) {
    return KinetoCategory::kGpuMemset;
  }
  return ends_with("_kernel") ? KinetoCategory::kKernel : KinetoCategory::kOther;
}

bool is_beside_work(std::string_view text) {
  return std::ranges::find(kNoWork, text) != kNoWork.end();
}

}  // namespace understudy::et_schema
