#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <string_view>

#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// The table of substitutes, in the form of an operator map: stand_ins.json.
extern const std::string_view kStandIns;

/// Returns the substitute of an operator by this table, as find_mapped() does by the operator map.
[[nodiscard]] std::optional<Substitute> find_stand_in(std::string_view recorded_schema,
                                                      c10::Device device, RecordedResults results);

}  // namespace understudy::replayer
