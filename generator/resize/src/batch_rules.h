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

/// Which dimensions of a tensor grow with the batch.
using Dims = std::vector<bool>;
[[nodiscard]] bool grows(const Dims& dims);

/// A tensor of a call as rules see it.
struct BatchTensor {
  et_schema::SlotId slot = 0;
  bool is_there = false;              ///< of a result that is none
  std::vector<std::int64_t> sizes;    ///< as recorded
  std::vector<std::int64_t> strides;  ///< likewise
  Dims dims;                          ///< of a result: false throughout
  bool holds_more = false;            ///< a sparse one that has more elements in a larger batch
};

/// A call with what is known of its arguments.
struct BatchCall {
  const et_schema::Instruction& instruction;
  std::vector<BatchTensor> inputs;   ///< tensors among the arguments, lists included, in order
  std::vector<BatchTensor> outputs;  ///< likewise of the results, and those that are none
  BatchSize batch;
};

/// No rule says what the call does with the batch.
struct NoRule : std::runtime_error {
  NoRule(const std::string& wanted, std::string found)
      : std::runtime_error(wanted), got(std::move(found)) {}
  std::string got;
};

/// Whether a rule says what another size changes of it.
[[nodiscard]] bool has_rule(const et_schema::Instruction& instruction);
/// Whether it sums looked-up rows by bags: table, indices, offsets.
[[nodiscard]] bool is_bag(std::string_view name);

/// The dimensions of its results. Throws NoRule.
[[nodiscard]] std::vector<Dims> batch_of_results(const BatchCall& call);

inline constexpr const char* kNoOtherBatch = "the batch size cannot be changed";

/// `number` times `to`, divided by `from`; nothing where that is no whole number, or too large.
[[nodiscard]] std::optional<std::int64_t> times_exactly(std::int64_t number, std::int64_t to,
                                                        std::int64_t from);

/// A number that is proportional to the batch. Throws Error (bad input) where it is not a multiple
/// of the recorded size, or too large; `of` says whose it is.
[[nodiscard]] std::int64_t scaled_number(std::int64_t number, const BatchSize& batch, int rank,
                                         const std::string& of);

/// Gives a slot the new size. What lies outside of a dimension that grows is as much further apart.
void scale(et_schema::Slot& slot, const Dims& dims, const BatchSize& batch, int rank);

/// Storages as large as the slots of `scaled` need; what was larger than it needed to be stays so
/// much larger. `flag`: by which another size was asked for. Throws Error (bad input) where a size
/// is no number.
void fit_storages(const et_schema::Program& recorded, et_schema::Program& scaled, int rank,
                  std::string_view flag);

/// Leaves out what was recorded of time, which is of the recorded sizes.
void forget_times(et_schema::Program& program);

/// FSDP's operator that puts a rank's parts side by side to where all ranks' are gathered.
inline constexpr std::string_view kCopiesShardsIn = "fsdp::all_gather_copy_in";

/// A rank's place among those that share parameters.
struct RankPart {
  std::int64_t ranks = 1;
  std::int64_t position = 0;
};

/// Numbers among an instruction's arguments that name sizes or strides of its tensors: they follow
/// from `recorded` to `scaled`, whose tensors have the new sizes already. `part`: also those that
/// tell of a rank's part of parameters, as on that rank.
void scale_arguments(const et_schema::Program& recorded, const et_schema::Program& scaled,
                     et_schema::Instruction& instruction,
                     const std::optional<RankPart>& part = std::nullopt);

/// The rule of an external tensor's values where it counts elements, from a slot of the recorded
/// size to that of the new one. Throws Error (bad input) where a count is not proportional.
void scale_rule(const et_schema::Slot& recorded, et_schema::Slot& scaled, const BatchSize& batch,
                int rank);

}  // namespace understudy::generator
