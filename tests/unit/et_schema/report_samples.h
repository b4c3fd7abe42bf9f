#pragma once

#include <cstdint>

#include "et_schema/model/report.h"

namespace understudy::et_schema {

/// A report of one rank with something in every field; ranks differ in what differs in real jobs.
[[nodiscard]] RankReport sample_rank_report(int rank);

/// Of a GPU that tells most of what can be told.
[[nodiscard]] GpuUse sample_gpu_use();

/// A job of so many ranks.
[[nodiscard]] Report sample_report(int ranks);

}  // namespace understudy::et_schema
