#pragma once

#include <cstdint>
#include <string_view>

#include "et_schema/model/program.h"

namespace understudy::generator {

/// FSDP's operator that puts a rank's parts side by side to where all ranks' are gathered.
inline constexpr std::string_view kCopiesShardsIn = "fsdp::all_gather_copy_in";

/// Numbers among an instruction's arguments that scale_arguments() leaves, since no batch changes
/// them: they follow from `recorded` to `scaled`, whose tensors have the sizes that they have on
/// `ranks` ranks. `position`: the rank's, among them.
void change_part_arguments(const et_schema::Program& recorded, const et_schema::Program& scaled,
                           std::int64_t ranks, std::int64_t position,
                           et_schema::Instruction& instruction);

}  // namespace understudy::generator
