#include "sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/bodies.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

constexpr const char* kTooLarge = "the benchmark would be too large";

/// Returns the bytes of its storage that a slot needs. Sizes come from files and options, so
/// products may overflow.
std::int64_t needed_bytes(const Slot& slot, int rank, std::string_view flag) {
  std::int64_t last = slot.offset;
  std::int64_t elements = 1;
  bool overflows = false;
  for (std::size_t d = 0; d < slot.sizes.size(); ++d) {
    if (slot.sizes[d] == 0) {
      return 0;
    }
    std::int64_t step = 0;
    const std::int64_t stride = d < slot.strides.size() ? slot.strides[d] : 0;
    overflows = overflows || __builtin_mul_overflow(elements, slot.sizes[d], &elements) ||
                __builtin_mul_overflow(slot.sizes[d] - 1, stride, &step) ||
                __builtin_add_overflow(last, step, &last);
  }
  std::int64_t bytes = 0;
  const auto item = static_cast<std::int64_t>(et_schema::item_size(slot.dtype));
  overflows = overflows || __builtin_add_overflow(last, 1, &last) ||
              __builtin_mul_overflow(elements, item, &elements) ||
              __builtin_mul_overflow(last, item, &bytes);
  if (overflows) {
    throw et_schema::bad_input(kTooLarge, {.rank = rank,
                                           .field = std::string(flag),
                                           .expected = "tensors of at most 2^63 bytes",
                                           .got = fmt::format("[{}]", fmt::join(slot.sizes, ","))});
  }
  return bytes;
}

/// Returns the needed bytes by storage; sparse tensors need none.
std::vector<std::int64_t> needed_of_storages(const Program& program, int rank,
                                             std::string_view flag) {
  std::vector<std::int64_t> needed(program.storages.size());
  for (const Slot& slot : program.slots) {
    if (!slot.sparse) {
      needed[slot.storage] = std::max(needed[slot.storage], needed_bytes(slot, rank, flag));
    }
  }
  return needed;
}

/// Returns true if a tensor of the call changed its size.
bool is_changed(const Program& recorded, const Program& scaled, const Instruction& instruction) {
  return std::ranges::any_of(et_schema::all_slots_of(instruction), [&](SlotId slot) {
    return recorded.slots[slot].sizes != scaled.slots[slot].sizes;
  });
}

}  // namespace

std::uint64_t drop_bodies(const Program& recorded, const Program& program,
                          std::vector<Instruction>& instructions) {
  std::uint64_t dropped = 0;
  for (Instruction& instruction : instructions) {
    if (!is_changed(recorded, program, instruction)) {
      continue;
    }
    if (et_schema::is_in_libtorch(et_schema::without_overload(instruction.name))) {
      dropped += instruction.body.empty() ? 0U : 1U;
      instruction.body.clear();
    } else {
      dropped += drop_bodies(recorded, program, instruction.body);
    }
  }
  return dropped;
}

std::int64_t scaled_number(std::int64_t number, const BatchSize& batch, int rank,
                           const std::string& of) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(number, batch.to, &product) || product % batch.from != 0) {
    throw et_schema::bad_input(
        "the batch size cannot be changed",
        {.rank = rank,
         .field = std::string(flag_of(batch)),
         .expected = fmt::format("sizes that are multiples of {}", batch.from),
         .got = fmt::format("{} of {}", number, of)});
  }
  return product / batch.from;
}

void fit_storages(const Program& recorded, Program& scaled, int rank, std::string_view flag) {
  const std::vector<std::int64_t> was = needed_of_storages(recorded, rank, flag);
  const std::vector<std::int64_t> is = needed_of_storages(scaled, rank, flag);
  for (std::size_t storage = 0; storage < was.size(); ++storage) {
    if (is[storage] != was[storage]) {
      const std::int64_t beyond =
          std::max<std::int64_t>(recorded.storages[storage].bytes - was[storage], 0);
      if (__builtin_add_overflow(is[storage], beyond, &scaled.storages[storage].bytes)) {
        throw et_schema::bad_input(kTooLarge, {.rank = rank,
                                               .field = std::string(flag),
                                               .expected = "memory of at most 2^63 bytes",
                                               .got = fmt::format("{} + {}", is[storage], beyond)});
      }
    }
  }
}

void forget_times(et_schema::Program& program) {
  program.profile.reset();
  program.heap_blocks.clear();
  for (et_schema::Instruction& instruction : program.instructions) {
    instruction.timing.reset();
  }
}

}  // namespace understudy::generator
