#include "composer/reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "et_schema/model/op_class.h"

namespace understudy::composer {
namespace {

using et_schema::Bench;
using et_schema::Instruction;
using et_schema::InstructionLoop;
using et_schema::Program;
using et_schema::Timing;

std::map<std::string, double> times_by_class(const Bench& bench) {
  std::map<std::string, double> times;
  for (const Program& program : bench.programs) {
    for (const Instruction& instruction : program.instructions) {
      if (instruction.timing) {
        times[std::string(et_schema::op_class(instruction.name))] +=
            static_cast<double>(instruction.timing->host_ns + instruction.timing->device_ns);
      }
    }
  }
  return times;
}

/// The same place in each repetition: indices of instructions.
std::vector<std::size_t> place_in(const InstructionLoop& loop, std::size_t place) {
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < loop.times; ++i) {
    at.push_back(loop.first + i * loop.period + place);
  }
  return at;
}

/// Nothing where one has none.
std::vector<Timing*> timings_at(Program& program, const std::vector<std::size_t>& at) {
  std::vector<Timing*> timings;
  for (const std::size_t index : at) {
    auto& timing = program.instructions[index].timing;
    if (!timing) {
      return {};
    }
    timings.push_back(&*timing);
  }
  return timings;
}

std::int64_t mean(const std::vector<Timing*>& timings, std::int64_t Timing::*field) {
  double sum = 0;
  for (const Timing* timing : timings) {
    sum += static_cast<double>(timing->*field);
  }
  return std::llround(sum / static_cast<double>(timings.size()));
}

void even_place(const std::vector<Timing*>& timings, std::int64_t begin_ns,
                std::int64_t length_ns) {
  const std::int64_t host_ns = mean(timings, &Timing::host_ns);
  const std::int64_t gap_ns = mean(timings, &Timing::gap_ns);
  const std::int64_t device_ns = mean(timings, &Timing::device_ns);
  for (std::size_t i = 0; i < timings.size(); ++i) {
    Timing& timing = *timings[i];
    timing.host_ns = host_ns;
    timing.gap_ns = gap_ns;
    timing.device_ns = device_ns;
    timing.start_ns = begin_ns + static_cast<std::int64_t>(i) * length_ns;
  }
}

/// Leaves out the blocks and faults of a place where its repetitions differ in them.
void even_heap(Program& program, const std::vector<std::size_t>& at) {
  const std::size_t first = at.front();
  const bool is_same = std::ranges::all_of(at, [&](std::size_t index) {
    return std::ranges::equal(heap_blocks_of(program, index), heap_blocks_of(program, first)) &&
           program.instructions[index].timing->page_faults ==
               program.instructions[first].timing->page_faults;
  });
  if (is_same) {
    return;
  }
  for (const std::size_t index : at) {
    program.heap_blocks.erase(index);
    program.instructions[index].timing->page_faults.reset();
  }
}

void even_loop(Program& program, const InstructionLoop& loop) {
  std::vector<std::vector<Timing*>> places;
  for (std::size_t place = 0; place < loop.period; ++place) {
    places.push_back(timings_at(program, place_in(loop, place)));
    if (places.back().empty()) {
      return;
    }
  }
  const std::int64_t begin_ns = places.front().front()->start_ns;
  const std::int64_t last_ns = places.front().back()->start_ns;
  // Instructions of several threads need not begin in their order: none begins before the step.
  const std::int64_t length_ns =
      std::max<std::int64_t>((last_ns - begin_ns) / static_cast<std::int64_t>(loop.times - 1), 0);
  for (std::size_t place = 0; place < loop.period; ++place) {
    const std::vector<Timing*>& timings = places[place];
    // Where it stands in a repetition, on the mean.
    double offset_ns = 0;
    for (std::size_t i = 0; i < timings.size(); ++i) {
      offset_ns += static_cast<double>(timings[i]->start_ns - begin_ns) -
                   static_cast<double>(i) * static_cast<double>(length_ns);
    }
    const std::int64_t mean_ns = std::llround(offset_ns / static_cast<double>(timings.size()));
    even_place(timings, std::max<std::int64_t>(begin_ns + mean_ns, 0), length_ns);
    even_heap(program, place_in(loop, place));
  }
}

}  // namespace

Reduction even_loops(Bench& bench) {
  Reduction reduction;
  const std::map<std::string, double> before = times_by_class(bench);
  bench.programs.edit_each([&](Program& program, std::size_t ranks) {
    reduction.instructions += ranks * program.instructions.size();
    for (const InstructionLoop& loop : et_schema::find_loops(program)) {
      reduction.loops += ranks;
      reduction.in_loops += ranks * loop.period * loop.times;
      reduction.written += ranks * loop.period;
      even_loop(program, loop);
    }
  });
  for (const auto& [name, ns] : times_by_class(bench)) {
    const double recorded = before.at(name);
    const double change = recorded > 0 ? std::abs(ns - recorded) / recorded : 0;
    if (change > reduction.largest_change) {
      reduction.largest_change = change;
      reduction.of_class = name;
    }
  }
  return reduction;
}

}  // namespace understudy::composer
