#pragma once

#include <string>
#include <vector>

#include "et_schema/bench/bench.h"
#include "predictor/card/card.h"
#include "predictor/rows/call.h"

namespace understudy::predictor {

/// The operator calls of benchmarks that hold recorded times, as measured: the device's exclusive
/// time where the profile saw work of a device, else the host's. What device it was is not told
/// ("cuda"), all ranks' are taken for equal; of a host no threads but those of OMP_NUM_THREADS.
/// `source` names the file. Throws Error (bad input): no program has recorded times.
[[nodiscard]] std::vector<MeasuredCall> recorded_calls(const et_schema::Bench& bench,
                                                       const std::string& source);

/// Rows of a GPU that only its place names ("cuda", "cuda:1") are of the one card in `described`
/// that no other row names: they get its name. Throws Error (usage) where several could be meant.
void name_places(std::vector<MeasuredCall>& calls, const std::vector<Card>& described);

}  // namespace understudy::predictor
