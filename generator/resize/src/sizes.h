#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/resize/batch.h"

namespace understudy::generator {

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

/// Drops what was recorded below operators of LibTorch whose tensors changed: they were run as a
/// whole. Returns how many.
std::uint64_t drop_bodies(const et_schema::Program& recorded, const et_schema::Program& program,
                          std::vector<et_schema::Instruction>& instructions);

}  // namespace understudy::generator
