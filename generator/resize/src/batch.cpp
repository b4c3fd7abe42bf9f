#include "generator/resize/batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "batch_rules.h"
#include "et_schema/base/error.h"
#include "et_schema/base/map_values.h"
#include "et_schema/facts/schema_text.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

/// Returns the storages that the step's operators write. Other storages, such as those of data and
/// constants, are only read.
std::set<et_schema::StorageId> written_storages(const Program& program) {
  std::set<et_schema::StorageId> storages;
  for (const Instruction& instruction : program.instructions) {
    for (std::size_t i = 0; instruction.schema && i < instruction.args.size(); ++i) {
      if (et_schema::argument_is_written(program.schemas[*instruction.schema], i)) {
        et_schema::for_each_slot({instruction.args[i]}, [&](SlotId slot) {
          storages.insert(program.slots[slot].storage);
        });
      }
    }
  }
  return storages;
}

class Walker {
 public:
  Walker(const Program& program, const BatchSize& batch, int rank)
      : program_(program),
        batch_(batch),
        rank_(rank),
        dims_(program.slots.size()),
        holds_more_(program.slots.size()) {}

  void walk() {
    mark_data();
    for (const Instruction& instruction : program_.instructions) {
      pass(instruction);
    }
  }
  [[nodiscard]] const std::vector<std::optional<Dims>>& dims() const { return dims_; }

 private:
  void mark_data() {
    const auto written = written_storages(program_);
    std::set<std::int64_t> known;
    bool is_found = false;
    for (std::size_t i = 0; i < program_.slots.size(); ++i) {
      const Slot& slot = program_.slots[i];
      if (!slot.external || slot.sizes.empty() || written.contains(slot.storage)) {
        continue;
      }
      Dims dims(slot.sizes.size(), false);
      for (std::size_t d = 0; d < (batch_.anywhere ? dims.size() : 1); ++d) {
        known.insert(slot.sizes[d]);
        dims[d] = slot.sizes[d] == batch_.from;
      }
      if (grows(dims)) {
        dims_[i] = dims;
        is_found = true;
      }
    }
    if (!is_found) {
      throw et_schema::bad_input(
          batch_.anywhere ? "the size cannot be changed" : kNoOtherBatch,
          {.rank = rank_,
           .field = std::string(flag_of(batch_)),
           .expected = fmt::format("a {}size of its data: {}", batch_.anywhere ? "" : "leading ",
                                   fmt::join(known, ", ")),
           .got = fmt::format("{}", batch_.from),
           .hint = batch_.anywhere ? "FROM is a size of the data that the step reads"
                                   : "FROM is the first size of the data that the step reads"});
    }
    mark_bags(written);
  }

  /// Marks the indices of bags as growing: their number is the sum of the bags' sizes.
  void mark_bags(const std::set<et_schema::StorageId>& written) {
    for (const Instruction& instruction : program_.instructions) {
      const std::vector<SlotId> inputs = et_schema::slots_in(instruction.args);
      constexpr std::size_t kOffsets = 2;
      if (!is_bag(instruction.name) || inputs.size() <= kOffsets || !dims_[inputs[kOffsets]]) {
        continue;
      }
      const Slot& indices = program_.slots[inputs[1]];
      if (indices.external && !written.contains(indices.storage) && indices.sizes.size() == 1 &&
          indices.sizes[0] % batch_.from == 0 && grows(*dims_[inputs[kOffsets]])) {
        dims_[inputs[1]] = Dims{true};
      }
    }
  }

  [[nodiscard]] BatchTensor tensor(SlotId id) const {
    const Slot& slot = program_.slots[id];
    return {id,
            true,
            slot.sizes,
            slot.strides,
            dims_[id].value_or(Dims(slot.sizes.size(), false)),
            holds_more_[id]};
  }

  void add_results(const std::vector<Argument>& results, std::vector<BatchTensor>& out) const {
    for (const Argument& result : results) {
      if (const auto* slot = std::get_if<Argument::SlotRef>(&result.value)) {
        out.push_back(tensor(slot->id));
        out.back().dims.assign(out.back().sizes.size(), false);
      } else if (const auto* list = std::get_if<Argument::List>(&result.value)) {
        add_results(*list, out);
      } else {
        out.emplace_back();
      }
    }
  }

  void pass(const Instruction& instruction) {
    if (instruction.kind == InstructionKind::kMarker ||
        instruction.kind == InstructionKind::kWait) {
      return;
    }
    BatchCall call{instruction, {}, {}, batch_};
    et_schema::for_each_slot(instruction.args,
                             [&](SlotId slot) { call.inputs.push_back(tensor(slot)); });
    add_results(instruction.results, call.outputs);
    const bool meets_batch =
        std::ranges::any_of(call.inputs, [](const BatchTensor& in) { return grows(in.dims); });
    if (meets_batch && !has_rule(instruction) && !instruction.body.empty()) {
      pass_body(instruction);
      return;
    }
    try {
      const std::vector<Dims> results = batch_of_results(call);
      for (std::size_t i = 0; i < results.size() && i < call.outputs.size(); ++i) {
        if (call.outputs[i].is_there) {
          set(call.outputs[i], results[i]);
        }
      }
      pass_elements(call);
    } catch (const NoRule& error) {
      refuse_call(instruction, error);
    }
  }

  /// Propagates the batch through another library's operator, by the operators recorded below it.
  void pass_body(const Instruction& instruction) {
    for (const Instruction& below : instruction.body) {
      pass(below);
    }
    et_schema::for_each_slot(instruction.results, [&](SlotId slot) {
      const bool is_made = dims_[slot].has_value() || program_.slots[slot].sizes.empty();
      dims_[slot] = dims_[slot].value_or(Dims(program_.slots[slot].sizes.size(), false));
      if (!is_made) {
        refuse_call(instruction, {"an operator whose rule is known", instruction.name});
      }
    });
  }

  [[noreturn]] void refuse_call(const Instruction& instruction, const NoRule& error) const {
    throw et_schema::bad_input(
        batch_.anywhere ? "the size cannot be changed" : kNoOtherBatch,
        {.rank = rank_,
         .node = instruction.node_id,
         .field = instruction.name,
         .expected = error.what(),
         .got = error.got,
         .hint = batch_.anywhere ? "capture the program with that size"
                                 : "capture the program with that batch size"});
  }

  /// Marks sparse results that have more elements in a larger batch: one for each growing index, or
  /// one for each element of a sparse argument that has more.
  void pass_elements(const BatchCall& call) {
    const bool is_more = std::ranges::any_of(call.inputs, [this](const BatchTensor& in) {
      return in.holds_more ||
             (grows(in.dims) && et_schema::is_integral(program_.slots[in.slot].dtype));
    });
    for (const BatchTensor& out : call.outputs) {
      if (out.is_there && program_.slots[out.slot].sparse) {
        holds_more_[out.slot] = holds_more_[out.slot] || is_more;
      }
    }
  }

  void set(const BatchTensor& result, const Dims& dims) {
    if (dims.size() != result.sizes.size()) {
      throw NoRule(fmt::format("a result of {} dimensions", dims.size()),
                   fmt::format("[{}]", fmt::join(result.sizes, ",")));
    }
    std::optional<Dims>& known = dims_[result.slot];
    if (known && *known != dims) {
      throw NoRule("a tensor that grows as it did before",
                   fmt::format("[{}], which does not", fmt::join(result.sizes, ",")));
    }
    known = dims;
  }

  const Program& program_;
  BatchSize batch_;
  int rank_;
  std::vector<std::optional<Dims>> dims_;
  std::vector<bool> holds_more_;  ///< by slot
};

std::string shapes_of(const Program& program, const std::vector<Argument>& arguments) {
  std::string text;
  et_schema::for_each_slot(arguments, [&](SlotId id) {
    const Slot& slot = program.slots[id];
    text += fmt::format("{}{}[{}]", text.empty() ? "" : " ", et_schema::to_string(slot.dtype),
                        fmt::join(slot.sizes, ","));
  });
  return text;
}

std::string shapes_of(const Program& program, const Instruction& instruction) {
  return shapes_of(program, instruction.args) + " -> " + shapes_of(program, instruction.results);
}

std::vector<BatchChange> changes_of(const Program& before, const Program& after) {
  std::map<std::string, BatchChange> changes;
  for (const Instruction& instruction : before.instructions) {
    std::string was = shapes_of(before, instruction);
    std::string is = shapes_of(after, instruction);
    if (instruction.kind == InstructionKind::kMarker || was == is) {
      continue;
    }
    BatchChange& change = changes[instruction.name];
    if (change.count++ == 0) {
      change.name = instruction.name;
      change.before = std::move(was);
      change.after = std::move(is);
    }
  }
  return et_schema::values_of(std::move(changes));
}

}  // namespace

std::string_view flag_of(const BatchSize& batch) {
  return batch.anywhere ? "--size" : "--batch";
}

BatchSize parse_batch_size(std::string_view text, bool anywhere) {
  BatchSize batch;
  batch.anywhere = anywhere;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto read = [&](std::string_view part, std::int64_t least, std::int64_t& size) {
    constexpr std::int64_t kMost = 1'000'000'000;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    return error == std::errc() && stop == part.data() + part.size() && size >= least &&
           size <= kMost;
  };
  // A batch of 1 cannot be distinguished from other dimensions of size 1.
  if (!read(text.substr(0, colon), 2, batch.from) ||
      !read(text.substr(std::min(colon + 1, text.size())), 1, batch.to)) {
    throw et_schema::usage_error(
        anywhere ? "a size that cannot be read" : "a batch size that cannot be read",
        {.field = std::string(flag_of(batch)),
         .expected = "FROM:TO, such as 64:256, with FROM the recorded size, 2 or more",
         .got = std::string(text)});
  }
  return batch;
}

ScaledBatch with_batch_size(const Program& program, const BatchSize& batch, int rank) {
  Walker walker(program, batch, rank);
  walker.walk();
  ScaledBatch result{program, {}};
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    const std::optional<Dims>& dims = walker.dims()[i];
    if (dims && grows(*dims)) {
      scale(result.program.slots[i], *dims, batch, rank);
    }
  }
  fit_storages(program, result.program, rank, flag_of(batch));
  result.changes = changes_of(program, result.program);
  return result;
}

}  // namespace understudy::generator
