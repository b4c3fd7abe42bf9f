#include "generator/job/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/base/file_name.h"
#include "et_schema/base/version.h"
#include "generator/flow/below.h"
#include "generator/flow/captured_ranges.h"
#include "generator/flow/flow.h"
#include "generator/flow/model_names.h"
#include "generator/flow/steps.h"
#include "generator/lowering/groups.h"
#include "generator/lowering/holds.h"
#include "generator/lowering/lowering.h"
#include "generator/selection/selection.h"
#include "generator/values/value_flow.h"
#include "job.h"

namespace understudy::generator {
namespace {

std::uint64_t count_outside(const Trace& trace, const CommCalls& calls, const IdRange& step) {
  std::uint64_t outside = 0;
  for (et_schema::NodeIndex index = 0; index < trace.nodes.size(); ++index) {
    const bool counts = calls.contains(index) ||
                        et_schema::classify(trace.nodes[index]) == et_schema::NodeClass::kOperator;
    outside += counts && !step.contains(trace.nodes[index].id) ? 1U : 0U;
  }
  return outside;
}

/// Counts the lifetimes at reused addresses that replayed operators read.
std::uint64_t count_reused(const Flow& flow, const Selected& selected) {
  std::set<LifetimeId> reused;
  for (const et_schema::NodeIndex node : selected.operators) {
    for (const LifetimeId id : flow.reads[node]) {
      if (id != kNoLifetime && flow.lifetimes[id].at_reused_address) {
        reused.insert(id);
      }
    }
  }
  return reused.size();
}

/// Counts operators that the trace does not show: the allocations of compiled graphs.
std::uint64_t count_unshown(const Program& program) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(program.instructions, [](const et_schema::Instruction& instruction) {
        return instruction.kind == et_schema::InstructionKind::kOp &&
               instruction.node_id == et_schema::kNoNodeId;
      }));
}

/// Counts operators on wrappers that dispatched nothing.
std::uint64_t count_bookkeeping(const Trace& trace, const Flow& flow) {
  std::uint64_t count = 0;
  for (et_schema::NodeIndex node = 0; node < trace.nodes.size(); ++node) {
    const auto is_dispatched = [&](et_schema::NodeIndex below) {
      return flow.is_operator[below] || flow.is_wrapped[below] ? Walk::kStop : Walk::kInto;
    };
    count += flow.is_wrapped[node] && !walk_below(trace, node, is_dispatched) ? 1U : 0U;
  }
  return count;
}

/// Counts external tensors without recorded strides that could have more than one memory layout.
std::uint64_t count_assumed_layouts(const Program& program) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(program.slots, [](const et_schema::Slot& slot) {
        const auto dimensions =
            std::ranges::count_if(slot.sizes, [](std::int64_t size) { return size > 1; });
        return slot.external && !slot.strides_recorded && !slot.sparse && dimensions > 1;
      }));
}

/// Adds the original's memory that no operator uses, so that a replay occupies as much.
void add_untouched(const Link& link, Program& program) {
  for (const auto& [device, bytes] : link.untouched_tensor_bytes) {
    program.storages.push_back({.device = et_schema::parse_device(device),
                                .bytes = static_cast<std::int64_t>(bytes),
                                .external = true,
                                .untouched = true});
  }
}

Program compile(const Trace& trace, const Link* link, const GenerateOptions& options,
                Groups& groups) {
  const et_schema::Communication communication = et_schema::read_communication(trace);
  const CommCalls& calls = communication.calls;
  const Step step = choose_step(trace, options.step);
  const Flow flow = analyze_flow(trace, calls, step.ids);
  Selected selected = select_operators(trace, flow);
  const bool has_times = link != nullptr && link->has_times;
  LabelsFound found = find_labels(trace, flow, step.ids, selected, has_times ? link : nullptr);
  std::vector<WorkingLabel>& labels = found.working;
  apply_filters(trace, calls, options, selected, labels);

  Program program = lower(trace, calls, flow, selected, labels, groups);
  set_asynchrony(trace, link, program);
  hold_storages(trace, link == nullptr ? ObservedMemory() : link->memory, program);
  make_masks(program);
  const CapturedValues captured{captured_ranges(trace), join_index_uses(trace, flow)};
  assign_values(program, captured, options.indices);
  program.losses.add(Loss::kUnjoinedIndices, captured.reuses.unjoined);
  program.selection.step = step.name;
  program.selection.filters = describe_filters(options);
  program.selection.operators = selected.operators.size() + count_unshown(program);
  program.selection.labels = labels.size();
  program.selection.rounds = selected.rounds;
  program.selection.opened = selected.opened;
  program.losses += trace.losses;
  program.losses.add(Loss::kReusedAddresses, count_reused(flow, selected));
  const auto graphs =
      static_cast<std::uint64_t>(std::ranges::count_if(labels, [&trace](const WorkingLabel& label) {
        return is_graph_call(trace.nodes[label.label].name);
      }));
  program.losses.add(Loss::kNativeWork, labels.size() - graphs);
  program.losses.add(Loss::kUnshownGraphs, graphs);
  program.losses.add(Loss::kNoWork, found.handed_on + count_bookkeeping(trace, flow));
  program.losses.add(Loss::kFilteredOperators, selected.filtered.size());
  program.losses.add(Loss::kAssumedLayouts, count_assumed_layouts(program));
  program.losses.add(Loss::kUnknownCommunication,
                     static_cast<std::uint64_t>(std::ranges::count_if(
                         communication.unknown, [&](et_schema::NodeIndex node) {
                           return step.ids.contains(trace.nodes[node].id);
                         })));
  program.losses.add(Loss::kNodesOutsideStep, count_outside(trace, calls, step.ids));
  if (link != nullptr) {
    set_timings(trace, *link, flow, selected, communication.unknown, program);
    add_untouched(*link, program);
  }
  return program;
}

}  // namespace

et_schema::Bench generate(const std::vector<Trace>& traces, const GenerateOptions& options,
                          const std::vector<Link>& links) {
  UNDERSTUDY_ASSERT(links.empty() || links.size() == traces.size());
  et_schema::Bench bench;
  bench.tool_version = et_schema::kToolVersion;
  Job job = find_job(traces, options.partial);
  Groups groups(traces, job.world_size);
  for (std::size_t rank = 0; rank < traces.size(); ++rank) {
    const Trace& trace = traces[rank];
    bench.sources.push_back({std::string(et_schema::file_name(trace.file)), trace.content_bytes,
                             trace.content_hash, trace.schema});
    Program program = compile(trace, links.empty() ? nullptr : &links[rank], options, groups);
    const bool is_first = bench.programs.empty();
    const bool is_same_step =
        is_first || program.selection.step == bench.programs.front().selection.step;
    program.losses.add(Loss::kForeignRanks, job.is_foreign[rank] ? 1 : 0);
    program.losses.add(Loss::kOtherSteps, is_same_step ? 0 : 1);
    program.losses.add(Loss::kMissingRanks, is_first ? job.missing : 0);
    bench.programs.push_back(std::move(program));
  }
  const bool is_empty = std::ranges::all_of(bench.programs, [](const Program& program) {
    return program.selection.operators + program.selection.labels == 0;
  });
  if (is_empty) {
    const std::vector<std::string> filters = describe_filters(options);
    throw et_schema::Error(
        filters.empty() ? et_schema::ErrorKind::kBadInput : et_schema::ErrorKind::kUsage,
        "nothing is selected",
        {.file = traces.front().file,
         .expected = "an operator to replay",
         .got = filters.empty() ? "none in the trace"
                                : fmt::format("none with {}", fmt::join(filters, " ")),
         .hint = "understudy inspect TRACE --by name lists the operators"});
  }
  bench.partial = std::move(job.partial);
  bench.groups = groups.take();
  return bench;
}

}  // namespace understudy::generator
