#pragma once

#include <span>
#include <string>
#include <string_view>

#include "et_schema/model/counted_kernel.h"
#include "generator/link/link.h"

namespace understudy::generator {

/// Returns a kernel's name without result, namespaces, template arguments and parameters, since
/// profilers differ in these: "void at::native::(anonymous namespace)::max_pool<float>(int)" is
/// "max_pool".
[[nodiscard]] std::string kernel_base_name(std::string_view name);

/// Joins kernels that another profiler counted, in order of launch, to the linked step. Of kernels
/// with one base name, the k-th counted one is the k-th launched one; the counted ones may be of
/// several whole steps. Kernels that do not join are a loss (unjoined_counters). Throws Error (bad
/// input) if none joins; `file` names the input.
void add_counters(std::span<const et_schema::CountedKernel> kernels, const std::string& file,
                  Link& link);

}  // namespace understudy::generator
