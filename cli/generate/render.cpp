#include "generate/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/json_csv.h"
#include "common/table.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/memory_plan.h"
#include "generate/batch.h"
#include "generate/blur.h"
#include "generate/render_profile.h"

namespace understudy::cli {
namespace {

using et_schema::Bench;
using et_schema::Program;

/// A benchmark of older programs may name none.
et_schema::Source source_of(const Bench& bench, std::size_t rank) {
  return rank < bench.sources.size() ? bench.sources[rank] : et_schema::Source{};
}

TextTable rank_table(const Bench& bench) {
  TextTable table({{"rank", Alignment::kRight},
                   {"source"},
                   {"schema"},
                   {"step"},
                   {"operators", Alignment::kRight},
                   {"labels", Alignment::kRight},
                   {"instructions", Alignment::kRight},
                   {"tensors", Alignment::kRight},
                   {"bytes made before the step", Alignment::kRight}});
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const Program& program = bench.programs[rank];
    const std::string& step = program.selection.step;
    table.add({std::to_string(bench.recorded_rank(rank)), source_of(bench, rank).file,
               source_of(bench, rank).schema, step.empty() ? "whole trace" : step,
               std::to_string(program.selection.operators),
               std::to_string(program.selection.labels),
               std::to_string(program.instructions.size()), std::to_string(program.slots.size()),
               with_commas(et_schema::plan_memory(program).external_bytes)});
  }
  return table;
}

/// Summed over ranks, by name and reason.
std::map<std::pair<std::string, std::string>, et_schema::Opened> opened_operators(
    const Bench& bench) {
  std::map<std::pair<std::string, std::string>, et_schema::Opened> opened;
  for (const Program& program : bench.programs) {
    for (const et_schema::Opened& entry : program.selection.opened) {
      et_schema::Opened& sum = opened[{entry.name, entry.reason}];
      sum.count += entry.count;
      sum.own_ns += entry.own_ns;
    }
  }
  return opened;
}

/// With the time that was recorded in an operator itself where a profile is linked: it is not
/// replayed.
TextTable opened_table(const Bench& bench, bool is_timed) {
  std::vector<TableColumn> columns = {{"operator"}, {"count", Alignment::kRight}, {"reason"}};
  if (is_timed) {
    columns.insert(columns.begin() + 2, {"own us", Alignment::kRight});
  }
  TextTable table(std::move(columns));
  for (const auto& [key, sum] : opened_operators(bench)) {
    std::vector<std::string> cells = {key.first, with_commas(sum.count), key.second};
    if (is_timed) {
      constexpr double kNsPerUs = 1e3;
      cells.insert(cells.begin() + 2,
                   fmt::format("{:.1f}", static_cast<double>(sum.own_ns) / kNsPerUs));
    }
    table.add(std::move(cells));
  }
  return table;
}

std::map<std::string, std::uint64_t> working_labels(const Bench& bench) {
  std::map<std::string, std::uint64_t> labels;
  for (const Program& program : bench.programs) {
    for (const et_schema::Instruction& instruction : program.instructions) {
      if (instruction.kind == et_schema::InstructionKind::kNative) {
        ++labels[instruction.name];
      }
    }
  }
  return labels;
}

std::string partial_text(const Bench& bench) {
  return bench.partial
             ? fmt::format(" ({} of {}, each to be replayed alone)",
                           fmt::join(bench.partial->ranks, ", "), bench.partial->world_size)
             : "";
}

et_schema::Losses losses_of(const Bench& bench) {
  et_schema::Losses losses;
  for (const Program& program : bench.programs) {
    losses += program.losses;
  }
  return losses;
}

/// What is told of all that was selected from, in a benchmark that was narrowed.
std::string whole_step_note(const Bench& bench) {
  const bool is_narrowed =
      !bench.programs.empty() && !bench.programs.front().selection.filters.empty();
  return is_narrowed ? " (in the whole step, before filters)" : "";
}

std::string bench_text(const Generated& made) {
  const Bench& bench = made.bench;
  const std::vector<std::string>& unlinked = made.unlinked;
  std::string text = made.path.empty()
                         ? std::string()
                         : fmt::format("{}: the benchmark of {} rank{}{}, {}\n", made.path,
                                       bench.world_size(), bench.world_size() == 1 ? "" : "s",
                                       partial_text(bench), with_bytes(made.bytes));
  text += rank_table(bench).to_text();
  if (!bench.programs.empty() && !bench.programs.front().selection.filters.empty()) {
    text += fmt::format("\nNarrowed by {}\n",
                        fmt::join(bench.programs.front().selection.filters, ", "));
  }
  const bool is_timed = !bench.programs.empty() && bench.programs.front().profile;
  if (const TextTable opened = opened_table(bench, is_timed); !opened.empty()) {
    text += fmt::format("\nOpened{}: the operators below them are replayed in their place\n{}",
                        whole_step_note(bench), opened.to_text());
  }
  if (const auto labels = working_labels(bench); !labels.empty()) {
    text += "\nLabels that did work without an operator of their own\n";
    TextTable table({{"label"}, {"count", Alignment::kRight}});
    for (const auto& [name, count] : labels) {
      table.add({name, with_commas(count)});
    }
    text += table.to_text();
  }
  text += profiles_text(bench, whole_step_note(bench));
  if (!unlinked.empty()) {
    text += fmt::format("\nNot linked: {} profile{} beside the traces, first {}; see --profile\n",
                        unlinked.size(), unlinked.size() == 1 ? "" : "s", unlinked.front());
  }
  const et_schema::Losses losses = losses_of(bench);
  if (losses[et_schema::Loss::kNoDeviceEvents] + losses[et_schema::Loss::kUnknownDeviceEvents] >
      0) {
    text +=
        "\nDEVICE TIMES ARE NOT ALL THERE: see no_device_events and unknown_device_events below\n";
  }
  text += losses.nonzero().empty() ? "\nNothing was lost or repaired\n"
                                   : "\nLost, assumed or repaired on the way\n";
  TextTable table({{"counter"}, {"count", Alignment::kRight}, {"meaning"}});
  for (std::size_t i = 0; i < et_schema::kLossCount; ++i) {
    const auto loss = static_cast<et_schema::Loss>(i);
    if (losses[loss] > 0) {
      table.add({std::string(et_schema::info(loss).name), with_commas(losses[loss]),
                 std::string(et_schema::info(loss).meaning)});
    }
  }
  return table.empty() ? text : text + table.to_text();
}

nlohmann::ordered_json bench_json(const Generated& made) {
  const Bench& bench = made.bench;
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const Program& program = bench.programs[rank];
    nlohmann::ordered_json opened = nlohmann::ordered_json::array();
    for (const et_schema::Opened& entry : program.selection.opened) {
      opened.push_back({{"name", entry.name}, {"count", entry.count}, {"reason", entry.reason}});
      if (program.profile) {
        opened.back()["own_ns"] = entry.own_ns;
      }
    }
    ranks.push_back({{"rank", bench.recorded_rank(rank)},
                     {"source", source_of(bench, rank).file},
                     {"schema", source_of(bench, rank).schema},
                     {"step", program.selection.step},
                     {"filters", program.selection.filters},
                     {"operators", program.selection.operators},
                     {"labels", program.selection.labels},
                     {"instructions", program.instructions.size()},
                     {"tensors", program.slots.size()},
                     {"external_bytes", et_schema::plan_memory(program).external_bytes},
                     {"opened", std::move(opened)},
                     {"profile", profile_json(program)},
                     {"losses", program.losses.nonzero()}});
  }
  return {{"bench", made.path.empty() ? nullptr : nlohmann::ordered_json(made.path)},
          {"bytes", made.bytes},
          {"world_size", bench.world_size()},
          {"recorded_world_size", bench.recorded_world_size()},
          {"ranks", std::move(ranks)}};
}

nlohmann::ordered_json document_of(const Generated& made) {
  nlohmann::ordered_json document = bench_json(made);
  if (made.blurred) {
    document["shapes"] = blurred_json(*made.blurred);
  }
  if (made.batched) {
    document["batch"] = batched_json(made.batched->size, made.batched->bench);
  }
  if (made.kernels) {
    document["kernels"] = kernels_json(*made.kernels);
  }
  if (made.removed_kernels > 0) {
    document["removed_kernels"] = made.removed_kernels;
  }
  if (!made.signed_by.empty()) {
    document["signed_by"] = made.signed_by;
  }
  if (made.hidden) {
    document["obfuscated"] = hidden_json(*made.hidden);
  }
  if (made.chakra) {
    document["chakra"] = chakra_json(*made.chakra);
  }
  return document;
}

}  // namespace

std::string generated_text(const Generated& made) {
  return bench_text(made) + (made.hidden ? hidden_text(*made.hidden) : std::string()) +
         (made.chakra ? "\n" + chakra_text(*made.chakra) : std::string());
}

std::string generated_json(const Generated& made) {
  return document_of(made).dump() + "\n";
}

std::string generated_csv(const Generated& made) {
  return json_to_csv(document_of(made));
}

}  // namespace understudy::cli
