#include "generator/resize/batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "answers.h"
#include "et_schema/base/error.h"
#include "et_schema/base/map_values.h"
#include "generator/flow/model_names.h"
#include "sizes.h"

namespace understudy::generator {
namespace {

using et_schema::OtherSize;

std::string what_of(const BatchSize& batch) {
  return batch.anywhere ? "the size cannot be changed" : "the batch size cannot be changed";
}

/// Throws Error (bad input) if no data has the size.
void refuse_size(const std::vector<OtherSize>& told, const BatchSize& batch, int rank) {
  for (const OtherSize& one : told) {
    if (one.known) {
      throw et_schema::bad_input(
          what_of(batch),
          {.rank = rank,
           .field = std::string(flag_of(batch)),
           .expected = fmt::format("a {}size of its data: {}", batch.anywhere ? "" : "leading ",
                                   fmt::join(*one.known, ", ")),
           .got = fmt::format("{}", batch.from),
           .hint =
               batch.anywhere
                   ? "FROM is a size of the data that the step reads"
                   : "FROM is the first size of the data that the step reads: of one micro-batch, "
                     "where it accumulates gradients of several"});
    }
  }
}

std::vector<BatchNote> notes_of(const Answers& answers) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
  for (const OtherSize& one : answers.told()) {
    if (!one.kept.empty()) {
      ++counts[{answers.call_of(one).name, "results keep the recorded size: " + one.kept}];
    } else if (one.assumed) {
      ++counts[{answers.call_of(one).name,
                "taken to be of the batch, since nothing else reads its size"}];
    }
  }
  std::vector<BatchNote> notes;
  for (const auto& [note, count] : counts) {
    notes.push_back({note.first, count, note.second});
  }
  return notes;
}

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
  const Answers answers(program, ask(program, batch), rank);
  refuse_size(answers.told(), batch, rank);
  answers.refuse(what_of(batch), fmt::format("{} in place of {}", batch.to, batch.from),
                 batch.anywhere ? "capture the program with that size"
                                : "capture the program with that batch size");
  ScaledBatch result{program, {}, {}};
  answers.apply(result.program);
  fit_storages(program, result.program, rank, flag_of(batch));
  result.changes = changes_of(program, result.program);
  result.notes = notes_of(answers);
  return result;
}

}  // namespace understudy::generator
