#include "generator/lowering/holds.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "et_schema/model/bodies.h"
#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

constexpr std::string_view kAccumulate = "torch::autograd::AccumulateGrad";
constexpr std::string_view kStep = "Optimizer.step#";
constexpr std::string_view kClear = "Optimizer.zero_grad#";

/// The block of the profile that holds a storage.
struct StorageBlock {
  bool is_known = false;  ///< the block was found
  bool is_freed = false;  ///< its free within the step is known
  /// Index of the first instruction that began after the free, or the number of instructions.
  std::uint32_t until = 0;
};

/// Allocators round sizes up: at most this many bytes of a block may be padding.
constexpr std::int64_t kMostPadding = 1024;

class BlockMatching {
 public:
  BlockMatching(const Trace& trace, const ObservedMemory& observed, const Program& program)
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
      for_each_slot(instruction.args, [&](SlotId slot) {
        seen_[program_.slots[slot].storage] = true;  // read first: no instruction makes it
      });
      for_each_slot(instruction.results, [&](SlotId slot) {
        const StorageId storage = program_.slots[slot].storage;
        if (!seen_[storage] && span && !program_.storages[storage].external) {
          found_[storage] = find_block(*span, program_.storages[storage].bytes);
        }
        seen_[storage] = true;
      });
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::optional<ObservedSpan> span_of(const Instruction& instruction) const {
    const NodeIndex node = trace_.find(instruction.node_id);
    return node == kNoNode ? std::nullopt : observed_.nodes[node];
  }

  /// Records the start of each instruction: the previous start if no profile shows the instruction,
  /// the next one if no node does: memory and views that a graph makes for its next operator, once
  /// it has freed what it no longer needs.
  void find_begins() {
    std::int64_t last = 0;
    for (const Instruction& instruction : program_.instructions) {
      const auto span = span_of(instruction);
      last = span ? std::max(last, span->begin_ns) : last;
      begins_.push_back(last);
    }
    for (std::size_t at = begins_.size(); at-- > 1;) {
      if (program_.instructions[at - 1].node_id == 0) {
        begins_[at - 1] = begins_[at];
      }
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

/// Returns by storage the block allocated by the instruction that makes it. Matches by size and
/// time: the smallest block that can hold the storage, was allocated while the instruction ran and
/// was not freed before the instruction ended; the first of equal ones.
std::vector<StorageBlock> blocks_of_storages(const Trace& trace, const ObservedMemory& observed,
                                             const Program& program) {
  if (observed.blocks.empty()) {
    return std::vector<StorageBlock>(program.storages.size());
  }
  return BlockMatching(trace, observed, program).match();
}

/// Returns the optimizer's class in a label: "SGD" in "Optimizer.step#SGD.step".
std::string_view class_of(std::string_view label) {
  const std::string_view name = label.substr(label.find('#') + 1);
  return name.substr(0, name.find('.'));
}

class GradientHolds {
 public:
  GradientHolds(const Trace& trace, Program& program)
      : trace_(trace), program_(program), optimizers_(program.storages.size()) {
    for (NodeIndex index = 0; index < trace.nodes.size(); ++index) {
      const Node& node = trace.nodes[index];
      if (node.op_schema.empty() && node.name.starts_with(kClear)) {
        clears_.push_back(index);
      } else if (node.op_schema.empty() && node.name.starts_with(kStep)) {
        steps_.push_back(index);
      }
    }
  }

  /// Sets held_until of gradients, except those whose free the profile shows (`blocks`).
  void apply(const std::vector<StorageBlock>& blocks) {
    note_optimizers();
    for (std::size_t at = 0; at < program_.instructions.size(); ++at) {
      const Instruction& instruction = program_.instructions[at];
      const NodeIndex node = trace_.find(instruction.node_id);
      if (node == kNoNode || !label_above(node, kAccumulate)) {
        continue;
      }
      et_schema::for_each_slot(instruction.results, [&](SlotId slot) {
        const StorageId id = program_.slots[slot].storage;
        et_schema::Storage& storage = program_.storages[id];
        // What no optimizer reads is let go: FSDP's gradients of whole parameters.
        const bool is_used = steps_.empty() || optimizers_[id];
        if (!storage.external && !blocks[id].is_freed && is_used) {
          storage.held_until = until(id, node);
        }
      });
    }
  }

 private:
  [[nodiscard]] std::optional<NodeIndex> label_above(NodeIndex node,
                                                     std::string_view prefix) const {
    for (NodeIndex above = trace_.nodes[node].parent; above != kNoNode;
         above = trace_.nodes[above].parent) {
      if (trace_.nodes[above].op_schema.empty() && trace_.nodes[above].name.starts_with(prefix)) {
        return above;
      }
    }
    return std::nullopt;
  }

  /// Records the optimizer step that first reads each storage. Marks optimizer state: external
  /// storages that no other instruction reads earlier. Steps that read the same storages belong to
  /// the same optimizer.
  void note_optimizers() {
    std::vector<bool> is_read(program_.storages.size());
    for (const Instruction& instruction : program_.instructions) {
      const NodeIndex node = trace_.find(instruction.node_id);
      const auto step = node == kNoNode ? std::nullopt : label_above(node, kStep);
      et_schema::for_each_slot(instruction.args, [&](SlotId slot) {
        const StorageId id = program_.slots[slot].storage;
        if (step) {
          optimizers_[id] = optimizers_[id].value_or(*step);
          if (program_.storages[id].external &&
              et_schema::extent_elements(program_.slots[slot]) > 1) {
            NodeIndex& first = first_steps_.try_emplace(*step, *step).first->second;
            first = std::min(first, first_step(*optimizers_[id]));
          }
          program_.storages[id].state |= program_.storages[id].external && !is_read[id];
        }
        is_read[id] = true;
      });
    }
  }

  /// Returns the instruction before which a gradient, accumulated at `node`, is freed.
  [[nodiscard]] std::uint32_t until(StorageId storage, NodeIndex node) const {
    const std::vector<NodeIndex> clears = clears_of(optimizers_[storage]);
    if (clears.empty()) {
      return static_cast<std::uint32_t>(program_.instructions.size());
    }
    const auto later = std::ranges::upper_bound(clears, node);
    return first_behind(later != clears.end() ? *later : clears.front());
  }

  /// Returns the first step of the optimizer that a step belongs to.
  [[nodiscard]] NodeIndex first_step(NodeIndex step) const {
    const auto known = first_steps_.find(step);
    return known == first_steps_.end() ? step : known->second;
  }

  /// Returns the labels of zero_grad that clear the gradients of a step's optimizer. These are the
  /// labels of its class. If the class has as many of them as steps, the k-th label belongs to the
  /// k-th step, and only those of this optimizer's steps are returned.
  [[nodiscard]] std::vector<NodeIndex> clears_of(std::optional<NodeIndex> step) const {
    if (!step) {
      return clears_;
    }
    const auto of_class = [&](const std::vector<NodeIndex>& labels) {
      std::vector<NodeIndex> same;
      std::ranges::copy_if(labels, std::back_inserter(same), [&](NodeIndex label) {
        return class_of(trace_.nodes[label].name) == class_of(trace_.nodes[*step].name);
      });
      return same;
    };
    std::vector<NodeIndex> clears = of_class(clears_);
    const std::vector<NodeIndex> steps = of_class(steps_);
    if (clears.size() == steps.size()) {
      std::vector<NodeIndex> own;
      for (std::size_t place = 0; place < steps.size(); ++place) {
        if (first_step(steps[place]) == first_step(*step)) {
          own.push_back(clears[place]);
        }
      }
      clears = std::move(own);
    }
    return clears.empty() ? clears_ : clears;
  }

  [[nodiscard]] std::uint32_t first_behind(NodeIndex label) const {
    const std::uint64_t id = trace_.nodes[label].id;
    const auto behind = std::ranges::find_if(
        program_.instructions,
        [id](const Instruction& instruction) { return instruction.node_id > id; });
    return static_cast<std::uint32_t>(behind - program_.instructions.begin());
  }

  const Trace& trace_;
  Program& program_;
  std::vector<NodeIndex> clears_;                     ///< labels of zero_grad, in order
  std::vector<NodeIndex> steps_;                      ///< labels of step
  std::vector<std::optional<NodeIndex>> optimizers_;  ///< by storage: the first step that reads it
  std::map<NodeIndex, NodeIndex> first_steps_;  ///< by step: the first step of the same optimizer
};

}  // namespace

void hold_storages(const Trace& trace, const ObservedMemory& observed, Program& program) {
  const std::vector<StorageBlock> blocks = blocks_of_storages(trace, observed, program);
  std::vector<std::uint32_t> behind_last(program.storages.size());
  for (std::uint32_t at = 0; at < program.instructions.size(); ++at) {
    for (const SlotId slot : et_schema::all_slots_of(program.instructions[at])) {
      behind_last[program.slots[slot].storage] = at + 1;
    }
  }
  for (StorageId id = 0; id < blocks.size(); ++id) {
    et_schema::Storage& storage = program.storages[id];
    if (blocks[id].is_known && blocks[id].until > behind_last[id]) {
      storage.held_until = blocks[id].until;
    }
  }
  GradientHolds(trace, program).apply(blocks);
}

}  // namespace understudy::generator
