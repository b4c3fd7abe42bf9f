#include "generator/resize/batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>
#include <variant>

#include "et_schema/base/error.h"
#include "et_schema/base/map_values.h"
#include "et_schema/model/bodies.h"
#include "generator/flow/model_names.h"
#include "sizes.h"

namespace understudy::generator {
namespace {

using et_schema::OtherSize;

std::string what_of(const BatchSize& batch) {
  return batch.anywhere ? "the size cannot be changed" : "the batch size cannot be changed";
}

/// Calls that other sizes are told of, numbered as in a program's text.
class Answers {
 public:
  Answers(Program& program, const BatchSize& batch, int rank)
      : program_(program), batch_(batch), rank_(rank) {
    et_schema::for_each_instruction(program_.instructions,
                                    [this](Instruction& call) { calls_.push_back(&call); });
  }

  /// Throws Error (bad input) if something is told of what the program does not have.
  void check(const std::vector<OtherSize>& told) const {
    for (const OtherSize& one : told) {
      if (!fits(one)) {
        throw et_schema::bad_input("other sizes of another program", {.rank = rank_});
      }
    }
  }

  /// Throws Error (bad input) if the program cannot have the size.
  void refuse(const std::vector<OtherSize>& told) const {
    constexpr std::size_t kMost = 12;
    const Instruction* first = nullptr;
    std::vector<std::string> why;
    for (const OtherSize& one : told) {
      if (one.known) {
        refuse_size(*one.known);
      }
      if (!one.refused.empty()) {
        const Instruction& call = call_of(one);
        why.push_back(first == nullptr
                          ? one.refused
                          : fmt::format("{} (node {}): {}", call.name, call.node_id, one.refused));
        first = first == nullptr ? &call : first;
      }
    }
    if (first == nullptr) {
      return;
    }
    if (why.size() > kMost) {
      const std::size_t more = why.size() - kMost;
      why.resize(kMost);
      why.push_back(fmt::format("{} more", more));
    }
    throw et_schema::bad_input(
        what_of(batch_), {.rank = rank_,
                          .node = first->node_id,
                          .field = first->name,
                          .expected = fmt::format("operators that run with {} in place of {}",
                                                  batch_.to, batch_.from),
                          .got = fmt::format("{}", fmt::join(why, "; ")),
                          .hint = batch_.anywhere ? "capture the program with that size"
                                                  : "capture the program with that batch size"});
  }

  /// Sets the sizes of tensors and the numbers among arguments.
  void apply(const std::vector<OtherSize>& told) const {
    for (const OtherSize& one : told) {
      if (one.slot) {
        Slot& slot = program_.slots[*one.slot];
        slot.sizes = one.sizes;
        slot.strides = one.strides;
        slot.offset = one.offset;
      } else if (one.argument) {
        Argument& argument = call_of(one).args[*one.argument];
        Argument& number =
            one.item ? std::get<Argument::List>(argument.value)[*one.item] : argument;
        number.value = one.number;
      }
    }
  }

  [[nodiscard]] std::vector<BatchNote> notes(const std::vector<OtherSize>& told) const {
    std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
    for (const OtherSize& one : told) {
      if (!one.kept.empty()) {
        ++counts[{call_of(one).name, "results keep the recorded size: " + one.kept}];
      } else if (one.assumed) {
        ++counts[{call_of(one).name,
                  "taken to be of the batch, since nothing else reads its size"}];
      }
    }
    std::vector<BatchNote> notes;
    for (const auto& [note, count] : counts) {
      notes.push_back({note.first, count, note.second});
    }
    return notes;
  }

 private:
  [[nodiscard]] bool fits(const OtherSize& one) const {
    if (one.slot) {
      return *one.slot < program_.slots.size() &&
             one.sizes.size() == program_.slots[*one.slot].sizes.size() &&
             one.strides.size() == one.sizes.size();
    }
    if (one.known) {
      return true;
    }
    if (!one.instruction || *one.instruction >= calls_.size() || !one.argument) {
      return one.instruction && *one.instruction < calls_.size() && !one.item;
    }
    const std::vector<Argument>& args = calls_[*one.instruction]->args;
    if (*one.argument >= args.size()) {
      return false;
    }
    const Argument* argument = &args[*one.argument];
    if (one.item) {
      const auto* list = std::get_if<Argument::List>(&argument->value);
      argument = list != nullptr && *one.item < list->size() ? &(*list)[*one.item] : nullptr;
    }
    return argument != nullptr && std::holds_alternative<std::int64_t>(argument->value);
  }

  [[nodiscard]] Instruction& call_of(const OtherSize& one) const {
    return *calls_[*one.instruction];
  }

  [[noreturn]] void refuse_size(const std::vector<std::int64_t>& known) const {
    throw et_schema::bad_input(
        what_of(batch_),
        {.rank = rank_,
         .field = std::string(flag_of(batch_)),
         .expected = fmt::format("a {}size of its data: {}", batch_.anywhere ? "" : "leading ",
                                 fmt::join(known, ", ")),
         .got = fmt::format("{}", batch_.from),
         .hint =
             batch_.anywhere
                 ? "FROM is a size of the data that the step reads"
                 : "FROM is the first size of the data that the step reads: of one micro-batch, "
                   "where it accumulates gradients of several"});
  }

  Program& program_;
  BatchSize batch_;
  int rank_;
  std::vector<Instruction*> calls_;
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

ScaledBatch with_batch_size(const Program& program, const BatchSize& batch, int rank,
                            const AskSizes& ask) {
  const std::vector<OtherSize> told = ask(program, batch);
  ScaledBatch result{program, {}, {}};
  const Answers answers(result.program, batch, rank);
  answers.check(told);
  answers.refuse(told);
  answers.apply(told);
  fit_storages(program, result.program, rank, flag_of(batch));
  result.changes = changes_of(program, result.program);
  result.notes = answers.notes(told);
  return result;
}

}  // namespace understudy::generator
