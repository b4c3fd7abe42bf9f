#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "et_schema/model/program.h"
#include "generator/resize/batch.h"

namespace understudy::generator {

/// Returns number × to ÷ from; empty if that is not an integer or overflows.
[[nodiscard]] std::optional<std::int64_t> times_exactly(std::int64_t number, std::int64_t to,
                                                        std::int64_t from);

/// Scales a number that is proportional to the batch. Throws Error (bad input) if the number is not
/// a multiple of the recorded size or the result overflows; `of` names its owner.
[[nodiscard]] std::int64_t scaled_number(std::int64_t number, const BatchSize& batch, int rank,
                                         const std::string& of);

/// Resizes storages to the slots of `scaled`. A storage larger than needed keeps its surplus.
/// `flag`: the option that requested the size. Throws Error (bad input) on overflow.
void fit_storages(const et_schema::Program& recorded, et_schema::Program& scaled, int rank,
                  std::string_view flag);

/// Removes recorded times, which belong to the recorded sizes.
void forget_times(et_schema::Program& program);

/// FSDP's operator that copies a rank's parts into the buffer for the all-gather.
inline constexpr std::string_view kCopiesShardsIn = "fsdp::all_gather_copy_in";

/// A rank's position among the ranks that share parameters.
struct RankPart {
  std::int64_t ranks = 1;
  std::int64_t position = 0;
};

/// Scales numbers among an instruction's arguments that name sizes or strides of its tensors, from
/// `recorded` to `scaled`, whose tensors already have the new sizes. If `part` is set, also scales
/// numbers that describe a rank's part of the parameters.
void scale_arguments(const et_schema::Program& recorded, const et_schema::Program& scaled,
                     et_schema::Instruction& instruction,
                     const std::optional<RankPart>& part = std::nullopt);

}  // namespace understudy::generator
