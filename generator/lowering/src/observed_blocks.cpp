#include "observed_blocks.h"

#include <algorithm>
#include <cstddef>

#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

/// Allocators round sizes up: this many bytes of a block that holds a storage may be padding.
constexpr std::int64_t kMostPadding = 1024;

class Matching {
 public:
  Matching(const Trace& trace, const ObservedMemory& observed, const Program& program)
      : trace_(trace),
        observed_(observed),
        program_(program),
        found_(program.storages.size()),
        seen_(program.storages.size()),
        taken_(observed.blocks.size()) {}

  std::vector<StorageBlock> match() {
    find_begins();
    for (const Instruction& instruction : program_.instructions) {
      const auto span = span_of(instruction);
      const auto find_if_made = [&](SlotId slot) {
        const StorageId storage = program_.slots[slot].storage;
        if (!seen_[storage]) {
          seen_[storage] = true;
          if (span && !program_.storages[storage].external) {
            found_[storage] = find_block(*span, program_.storages[storage].bytes);
          }
        }
      };
      for_each_slot(instruction.args, [&](SlotId slot) {
        seen_[program_.slots[slot].storage] = true;  // the instruction does not make it
      });
      for_each_slot(instruction.results, find_if_made);
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::optional<ObservedSpan> span_of(const Instruction& instruction) const {
    const NodeIndex node = trace_.find(instruction.node_id);
    return node == kNoNode ? std::nullopt : observed_.nodes[node];
  }

  /// Sets when instructions begin, in order; one that no profile shows begins with the one before
  /// it.
  void find_begins() {
    std::int64_t last = 0;
    for (const Instruction& instruction : program_.instructions) {
      const auto span = span_of(instruction);
      last = span ? std::max(last, span->begin_ns) : last;
      begins_.push_back(last);
    }
  }

  StorageBlock find_block(const ObservedSpan& span, std::int64_t bytes) {
    const auto first =
        std::ranges::lower_bound(observed_.blocks, span.begin_ns, {}, &ObservedBlock::allocated_ns);
    auto best = observed_.blocks.end();
    for (auto block = first; block != observed_.blocks.end() && block->allocated_ns <= span.end_ns;
         ++block) {
      const bool fits = block->bytes >= bytes && block->bytes <= bytes + kMostPadding;
      const bool outlives = !block->freed_ns || *block->freed_ns > span.end_ns;
      if (fits && outlives && !taken_[place(block)] &&
          (best == observed_.blocks.end() || block->bytes < best->bytes)) {
        best = block;
      }
    }
    if (best == observed_.blocks.end()) {
      return {};
    }
    taken_[place(best)] = true;
    const std::int64_t end_ns = best->freed_ns.value_or(INT64_MAX);
    const auto behind = std::ranges::upper_bound(begins_, end_ns);
    return {true, best->freed_ns.has_value(), static_cast<std::uint32_t>(behind - begins_.begin())};
  }

  [[nodiscard]] std::size_t place(std::vector<ObservedBlock>::const_iterator block) const {
    return static_cast<std::size_t>(block - observed_.blocks.begin());
  }

  const Trace& trace_;
  const ObservedMemory& observed_;
  const Program& program_;
  std::vector<StorageBlock> found_;
  std::vector<bool> seen_;   ///< by storage
  std::vector<bool> taken_;  ///< by block
  std::vector<std::int64_t> begins_;
};

}  // namespace

std::vector<StorageBlock> blocks_of_storages(const Trace& trace, const ObservedMemory& observed,
                                             const Program& program) {
  if (observed.blocks.empty()) {
    return std::vector<StorageBlock>(program.storages.size());
  }
  return Matching(trace, observed, program).match();
}

}  // namespace understudy::generator
