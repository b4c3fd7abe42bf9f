#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/resize/batch.h"

namespace understudy::generator {

/// By dimension of a tensor: true if it grows with the batch.
using Dims = std::vector<bool>;
[[nodiscard]] bool grows(const Dims& dims);

/// A tensor of a call, as the rules see it.
struct BatchTensor {
  et_schema::SlotId slot = 0;
  bool is_there = false;              ///< false for an absent result
  std::vector<std::int64_t> sizes;    ///< as recorded
  std::vector<std::int64_t> strides;  ///< as recorded
  Dims dims;                          ///< for a result: all false
  bool holds_more = false;            ///< a sparse tensor with more elements in a larger batch
};

/// A call, and the growing dimensions of its arguments.
struct BatchCall {
  const et_schema::Instruction& instruction;
  std::vector<BatchTensor> inputs;   ///< tensors among the arguments, in order, with those in lists
  std::vector<BatchTensor> outputs;  ///< tensors among the results, in order, absent ones included
  BatchSize batch;
};

/// Thrown if no rule covers the call's use of the batch.
struct NoRule : std::runtime_error {
  NoRule(const std::string& wanted, std::string found)
      : std::runtime_error(wanted), got(std::move(found)) {}
  std::string got;
};

/// Returns true if a rule covers the instruction.
[[nodiscard]] bool has_rule(const et_schema::Instruction& instruction);
/// Returns true for sums of looked-up rows by bags: table, indices, offsets.
[[nodiscard]] bool is_bag(std::string_view name);

/// Returns the growing dimensions of the results. Throws NoRule.
[[nodiscard]] std::vector<Dims> batch_of_results(const BatchCall& call);

inline constexpr const char* kNoOtherBatch = "the batch size cannot be changed";

/// Returns number × to ÷ from; empty if that is not an integer or overflows.
[[nodiscard]] std::optional<std::int64_t> times_exactly(std::int64_t number, std::int64_t to,
                                                        std::int64_t from);

/// Scales a number that is proportional to the batch. Throws Error (bad input) if the number is not
/// a multiple of the recorded size or the result overflows; `of` names its owner.
[[nodiscard]] std::int64_t scaled_number(std::int64_t number, const BatchSize& batch, int rank,
                                         const std::string& of);

/// Scales a slot's growing dimensions. Strides of the dimensions around them grow likewise.
void scale(et_schema::Slot& slot, const Dims& dims, const BatchSize& batch, int rank);

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

/// Scales the counts of elements in an external's value rule from a slot of the recorded size to
/// one of the new size. Throws Error (bad input) if a count is not proportional.
void scale_rule(const et_schema::Slot& recorded, et_schema::Slot& scaled, const BatchSize& batch,
                int rank);

}  // namespace understudy::generator
