#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/model/bodies.h"
#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"
#include "generator/resize/batch.h"
#include "sizes.h"

namespace understudy::generator {
namespace {

/// Resizes slots that no instruction names, in memory whose other slots are resized. A part with
/// values (such as those of lookups) becomes the same part of the larger memory. Because the batch
/// is the first dimension, offsets scale with it, except for the distance from the end within the
/// last sample. Slots without values are not needed.
class UnusedSlots {
 public:
  UnusedSlots(const Program& recorded, Program& scaled, const BatchSize& batch, int rank)
      : recorded_(recorded), scaled_(scaled), batch_(batch), rank_(rank) {}

  void fit() {
    std::vector<bool> used(scaled_.slots.size());
    et_schema::for_each_instruction(scaled_.instructions, [&used](const Instruction& instruction) {
      for (const SlotId slot : et_schema::all_slots_of(instruction)) {
        used[slot] = true;
      }
    });
    std::vector<bool> has_changed(scaled_.storages.size());
    for (std::size_t slot = 0; slot < scaled_.slots.size(); ++slot) {
      const Slot& is = scaled_.slots[slot];
      has_changed[is.storage] = has_changed[is.storage] || is.sizes != recorded_.slots[slot].sizes;
    }
    for (std::size_t slot = 0; slot < scaled_.slots.size(); ++slot) {
      Slot& is = scaled_.slots[slot];
      if (!used[slot] && has_changed[is.storage] && is.sizes == recorded_.slots[slot].sizes) {
        fit(is);
      }
    }
  }

 private:
  void fit(Slot& slot) const {
    const std::int64_t item = et_schema::item_size(slot.dtype);
    const std::int64_t all = item > 0 ? recorded_.storages[slot.storage].bytes / item : 0;
    const bool is_row = slot.sizes.size() == 1 && slot.strides == std::vector<std::int64_t>{1};
    if (!slot.external || !slot.value || !is_row || all % batch_.from != 0) {
      slot.sizes = {0};
      slot.strides = {1};
      slot.offset = 0;
      slot.value.reset();
      return;
    }
    const std::int64_t end = slot.offset + slot.sizes[0];
    slot.offset = place(slot.offset, all);
    slot.sizes[0] = std::max<std::int64_t>(place(end, all) - slot.offset, 0);
  }

  /// Returns the new position of an element of `all` elements in the resized memory.
  [[nodiscard]] std::int64_t place(std::int64_t element, std::int64_t all) const {
    const std::int64_t sample = std::max<std::int64_t>(all / batch_.from, 1);
    const std::int64_t now = scaled_number(all, batch_, rank_, "elements of memory");
    const std::int64_t left = all - element;
    return left < sample ? now - left
                         : element / sample * batch_.to / batch_.from * sample + element % sample;
  }

  const Program& recorded_;
  Program& scaled_;
  BatchSize batch_;
  int rank_;
};

/// Scales the counts of elements in an external's value rule.
void scale_rule(const Slot& recorded, Slot& scaled, const BatchSize& batch, int rank) {
  if (!scaled.value || recorded.sizes == scaled.sizes) {
    return;
  }
  const auto follow_batch = [&](std::int64_t& count) {
    count = scaled_number(count, batch, rank, "elements that a rule of values counts");
  };
  if (auto* offsets = scaled.value->as<et_schema::ValueRule::Offsets>()) {
    follow_batch(offsets->end);
  } else if (const auto* mask = scaled.value->as<et_schema::ValueRule::Mask>()) {
    // What it selects keeps its size, since that depends on data.
    const std::int64_t elements = et_schema::element_count(scaled);
    if (mask->count > elements) {
      throw et_schema::bad_input(
          "the batch size cannot be changed",
          {.rank = rank,
           .field = std::string(flag_of(batch)),
           .expected = fmt::format("masks of {} elements or more", mask->count),
           .got = fmt::format("{}", elements)});
    }
  } else if (auto* lengths = scaled.value->as<et_schema::ValueRule::Lengths>()) {
    for (et_schema::ValueRule::Segment& segment : lengths->segments) {
      follow_batch(segment.count);
      follow_batch(segment.sum);
    }
  }
}

}  // namespace

BatchedBench bench_with_batch_size(et_schema::Bench bench, const BatchSize& batch,
                                   const AskSizes& ask) {
  BatchedBench batched;
  bench.programs.separate();
  et_schema::Programs programs;
  for (std::size_t at = 0; at < bench.programs.size(); ++at) {
    const Program& recorded = bench.programs[at];
    const auto rank = static_cast<int>(at);
    ScaledBatch scaled = with_batch_size(recorded, batch, rank, ask);
    Program& program = scaled.program;
    batched.dropped_bodies += drop_bodies(recorded, program, program.instructions);
    UnusedSlots(recorded, program, batch, rank).fit();
    for (std::size_t slot = 0; slot < program.slots.size(); ++slot) {
      scale_rule(recorded.slots[slot], program.slots[slot], batch, rank);
    }
    fit_storages(recorded, program, rank, flag_of(batch));
    forget_times(program);
    program.selection.filters.push_back(
        fmt::format("{} {}:{}", flag_of(batch), batch.from, batch.to));
    batched.changes.push_back(std::move(scaled.changes));
    batched.notes.push_back(std::move(scaled.notes));
    programs.push_back(std::move(program));
  }
  bench.programs = std::move(programs);
  batched.bench = std::move(bench);
  return batched;
}

}  // namespace understudy::generator
