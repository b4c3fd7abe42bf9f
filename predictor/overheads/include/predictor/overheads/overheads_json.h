#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "predictor/overheads/overheads.h"

namespace understudy::et_schema {
class JsonField;
}

namespace understudy::predictor {

/// The section `overheads` of a platform file (docs/formats.md): one JSON object, hosts by name.
[[nodiscard]] std::string to_json(const std::vector<HostOverheads>& hosts);
/// Reads it back. Throws Error (bad input) with the field.
[[nodiscard]] std::vector<HostOverheads> overheads_from_json(const et_schema::JsonField& section);

/// Reads published overheads in microseconds: {"launches", "t1", "t2", "t3", "t4", "t5"} with
/// [mean, deviation], or a study's means by workload with [mean, deviation, n], pooled over the
/// workloads: T1 as {workload: …}, operators' T2 as {operator: {workload: …}}. Throws Error (bad
/// input): neither form, or numbers below 0.
[[nodiscard]] HostOverheads parse_published_overheads(std::string_view text,
                                                      const std::string& file);

}  // namespace understudy::predictor
