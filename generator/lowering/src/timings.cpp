#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/model/device_time.h"
#include "et_schema/model/open_comms.h"
#include "generator/flow/below.h"
#include "generator/flow/captured_ranges.h"
#include "generator/flow/fake_group.h"
#include "generator/flow/model_names.h"
#include "generator/link/host.h"
#include "generator/lowering/lowering.h"

namespace understudy::generator {
namespace {

using et_schema::Counters;
using et_schema::Outside;
using et_schema::Timing;

constexpr std::string_view kCommunication = "communication";  // kernel_class() of its kernels

class TimingSetter {
 public:
  TimingSetter(const Trace& trace, const Link& link, const Flow& flow, const Selected& selected,
               const std::vector<NodeIndex>& unknown, Program& program)
      : trace_(trace),
        link_(link),
        flow_(flow),
        selected_(selected),
        unknown_(unknown),
        program_(program) {}

  void set() {
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      Instruction& instruction = program_.instructions[i];
      const NodeIndex node =
          instruction.node_id == et_schema::kNoNodeId ? kNoNode : trace_.find(instruction.node_id);
      if (node != kNoNode && link_.nodes[node]) {
        instruction.timing = timing_of(node, i);
        if (link_.nodes[node]->reads_pinned) {
          pin_inputs(instruction);
        }
      }
    }
    if (!link_.has_times) {
      keep_launches();
      program_.losses += link_.losses;
      return;
    }
    set_gaps();
    set_blocks();
    set_opened();
    program_.profile = link_.profile;
    mark_waits_inside(*program_.profile);
    add_outside(*program_.profile);
    count_unseen();
    add_up(*program_.profile);
    forget_fake_communication();
    program_.losses += link_.losses;
  }

 private:
  /// Marks the inputs of a copy from page-locked memory as pinned: a data loader pinned them.
  void pin_inputs(const Instruction& instruction) {
    et_schema::for_each_slot(instruction.args, [&](et_schema::SlotId slot) {
      et_schema::Storage& storage = program_.storages[program_.slots[slot].storage];
      storage.pinned |= storage.external && storage.device.type == et_schema::DeviceType::kCpu;
    });
  }

  [[nodiscard]] Timing timing_of(NodeIndex node, std::size_t position) const {
    const NodeTimes& times = *link_.nodes[node];
    Timing timing{.start_ns = times.start_ns,
                  .host_ns = times.host_ns,
                  .device_ns = times.device_ns,
                  .launches = times.launches,
                  .stream = times.stream,
                  .page_faults = times.page_faults,
                  .kernel_classes = times.kernel_classes};
    const bool is_label = program_.instructions[position].kind == InstructionKind::kNative;
    if (is_label || selected_.is_open[node]) {
      take_out_parts(node, position, timing);
    }
    // Medians, and differences of them, may leave time and no launch.
    timing.launches = std::max<std::uint64_t>(timing.launches, timing.device_ns > 0 ? 1 : 0);
    if (is_graph_call(trace_.nodes[node].name)) {
      timing.host_ns = times.self_ns;  // its parts run between its kernels, not all before them
    }
    return timing;
  }

  /// Subtracts the time of the node's parts that are replayed as instructions of their own. They
  /// directly precede the node's instruction.
  void take_out_parts(NodeIndex node, std::size_t position, Timing& timing) const {
    const std::int64_t end = timing.start_ns + timing.host_ns;
    for (std::size_t i = position; i-- > 0;) {
      const Instruction& part = program_.instructions[i];
      if (part.node_id == et_schema::kNoNodeId) {
        continue;
      }
      if (part.node_id <= trace_.nodes[node].id) {
        break;
      }
      if (!part.timing || !is_below(trace_.find(part.node_id), node)) {
        continue;
      }
      timing.start_ns =
          std::clamp(part.timing->start_ns + part.timing->host_ns, timing.start_ns, end);
      timing.device_ns = std::max<std::int64_t>(timing.device_ns - part.timing->device_ns, 0);
      timing.launches -= std::min(timing.launches, part.timing->launches);
      et_schema::take_kernel_times(part.timing->kernel_classes, timing.kernel_classes);
      if (timing.page_faults) {
        const std::int64_t of_part = part.timing->page_faults.value_or(0);
        timing.page_faults = std::max<std::int64_t>(*timing.page_faults - of_part, 0);
      }
    }
    timing.host_ns = end - timing.start_ns;
  }

  /// Keeps what a step that did not run says besides times.
  void keep_launches() {
    for (Instruction& instruction : program_.instructions) {
      if (instruction.timing && instruction.kind != InstructionKind::kWait) {
        instruction.launched = {instruction.timing->launches, instruction.timing->stream};
      }
      instruction.timing.reset();
    }
  }

  [[nodiscard]] bool is_below(NodeIndex node, NodeIndex above) const {
    while (node != kNoNode && node > above) {
      node = trace_.nodes[node].parent;
    }
    return node == above;
  }

  /// What communication takes is unknown where the other ranks were not there.
  void forget_fake_communication() {
    const bool is_fake = is_of_fake_group(trace_.process_groups);
    for (Instruction& instruction : program_.instructions) {
      if (is_fake && et_schema::communicates(instruction)) {
        instruction.timing.reset();
      }
    }
  }

  void set_gaps() {
    std::unordered_map<std::uint64_t, std::int64_t> thread_end;
    for (Instruction& instruction : program_.instructions) {
      // The time of a graph's own kernels is spread around its operators and counts as their gaps.
      if (instruction.timing && !is_graph_call(instruction.name)) {
        Timing& timing = *instruction.timing;
        std::int64_t& end = thread_end[instruction.thread];
        timing.gap_ns = std::max<std::int64_t>(timing.start_ns - end, 0);
        end = std::max(end, timing.start_ns + timing.host_ns);
      }
    }
  }

  /// Sets the heap blocks allocated while an instruction ran. The parts of an opened instruction
  /// precede it, so they claim their blocks first.
  void set_blocks() {
    const std::vector<ObservedBlock>& blocks = link_.memory.blocks;
    if (blocks.empty()) {
      return;
    }
    const std::uint64_t lowest = std::ranges::min(blocks, {}, &ObservedBlock::address).address;
    std::vector<bool> is_taken(blocks.size());
    for (std::size_t at = 0; at < program_.instructions.size(); ++at) {
      const Instruction& instruction = program_.instructions[at];
      const NodeIndex node = trace_.find(instruction.node_id);
      if (!instruction.timing || node == kNoNode || !link_.memory.nodes[node]) {
        continue;
      }
      const ObservedSpan& span = *link_.memory.nodes[node];
      const auto first =
          std::ranges::lower_bound(blocks, span.begin_ns, {}, &ObservedBlock::allocated_ns);
      for (auto i = static_cast<std::size_t>(first - blocks.begin());
           i < blocks.size() && blocks[i].allocated_ns <= span.end_ns; ++i) {
        const bool is_large = blocks[i].bytes >= et_schema::kLeastHeapBlockBytes;
        if (is_large && blocks[i].on_cpu && !is_taken[i]) {
          is_taken[i] = true;
          program_.heap_blocks[at].push_back({blocks[i].bytes, blocks[i].address - lowest});
        }
      }
    }
  }

  /// Marks the device waits inside of instructions: their time is part of the instruction's, and a
  /// replay of the instruction waits too.
  void mark_waits_inside(et_schema::RecordedProfile& profile) const {
    // Start → end of instructions; the longest one for each start.
    std::map<std::int64_t, std::int64_t> busy;
    for (const Instruction& instruction : program_.instructions) {
      if (instruction.timing) {
        std::int64_t& end = busy[instruction.timing->start_ns];
        end = std::max(end, instruction.timing->start_ns + instruction.timing->host_ns);
      }
    }
    std::int64_t latest = 0;
    for (auto& [start, end] : busy) {
      end = latest = std::max(latest, end);
    }
    for (et_schema::DeviceWait& wait : profile.device_waits) {
      const auto after = busy.upper_bound(wait.start_ns);
      wait.is_inside = after != busy.begin() && std::prev(after)->second > wait.start_ns;
    }
  }

  /// Returns the instruction of each node.
  [[nodiscard]] std::vector<std::optional<std::uint32_t>> instructions_of_nodes() const {
    std::vector<std::optional<std::uint32_t>> of_node(trace_.nodes.size());
    for (std::uint32_t i = 0; i < program_.instructions.size(); ++i) {
      const Instruction& instruction = program_.instructions[i];
      const NodeIndex node = instruction.timing ? trace_.find(instruction.node_id) : kNoNode;
      if (node != kNoNode) {
        of_node[node] = i;
      }
    }
    return of_node;
  }

  /// Adds the time that belongs to no instruction. An instruction's time includes everything below
  /// its node, except the host time of a compiled graph's parts.
  void add_outside(et_schema::RecordedProfile& profile) const {
    std::vector<std::optional<std::uint32_t>> holders = instructions_of_nodes();
    std::vector<bool> is_held_on_host(trace_.nodes.size());
    const std::vector<bool> is_filtered = at_or_below(selected_.filtered);
    const std::vector<bool> is_unknown = at_or_below(unknown_);
    std::vector<Outside> reasons(trace_.nodes.size(), Outside::kLabel);
    OutsideRows rows;
    for (NodeIndex node = 1; node < trace_.nodes.size(); ++node) {
      const NodeIndex above = trace_.nodes[node].parent;
      const bool is_part = holders[above] && is_graph_call(trace_.nodes[above].name) &&
                           program_.instructions[*holders[above]].node_id == trace_.nodes[above].id;
      is_held_on_host[node] = holders[node] || (is_held_on_host[above] && !is_part);
      holders[node] = holders[node] ? holders[node] : holders[above];
      const std::optional<NodeTimes>& times = link_.nodes[node];
      if (!times) {
        continue;
      }
      const Outside why = is_filtered[node]  ? Outside::kFiltered
                          : is_unknown[node] ? Outside::kUnseenComm
                                             : why_outside(node);
      reasons[node] = why;
      if (times->communicates && !is_unknown[node]) {
        continue;
      }
      const std::int64_t host_ns = times->is_summed && !is_held_on_host[node] ? times->self_ns : 0;
      const std::int64_t device_ns = holders[node] ? 0 : own_device_ns(trace_, link_, node);
      if (host_ns > 0 || device_ns > 0) {
        const bool is_named = why != Outside::kFiltered && why != Outside::kOpened;
        const std::string name(is_named ? trace_.nodes[node].name : "");
        add_row({why, name, host_ns, device_ns,
                 device_ns > 0 ? own_kernel_classes(trace_, link_, node)
                               : et_schema::KernelClassTimes()},
                std::string(trace_.nodes[node].name), rows);
      }
    }
    for (et_schema::OutsideTime& unlaunched : profile.outside) {
      const std::string launched_by(to_string(unlaunched.why));
      add_row(std::move(unlaunched), launched_by, rows);
    }
    profile.outside.clear();
    std::ranges::transform(rows, std::back_inserter(profile.outside),
                           [](auto& row) { return std::move(row.second); });
    add_counters(holders, is_filtered, profile);
    add_work(holders, reasons);
  }

  /// Adds the device's work, except work that filters exclude.
  void add_work(const std::vector<std::optional<std::uint32_t>>& holders,
                const std::vector<Outside>& reasons) const {
    std::vector<std::optional<std::uint32_t>> places;
    for (const LaunchedWork& launched : link_.work) {
      et_schema::DeviceWork work = launched.work;
      if (launched.node != kNoNode) {
        work.instruction = holders[launched.node];
        work.why = work.instruction ? work.why : reasons[launched.node];
      }
      const bool is_left_out = !work.instruction && work.why == Outside::kFiltered;
      if (!work.instruction && !is_left_out && launched.communicates) {
        work.why = Outside::kUnseenComm;
      }
      places.push_back(
          is_left_out ? std::nullopt
                      : std::optional(static_cast<std::uint32_t>(program_.device_work.size())));
      if (!is_left_out) {
        program_.device_work.push_back(work);
      }
    }
    for (et_schema::DeviceWait& wait : program_.profile->device_waits) {
      wait.work = wait.work ? places[*wait.work] : std::nullopt;
    }
  }

  using OutsideRows = std::map<std::pair<Outside, std::string>, et_schema::OutsideTime>;

  /// Adds a time outside of instructions. Communication kernels in it, which no recorded call
  /// launched, get a row of their own.
  void add_row(et_schema::OutsideTime time, const std::string& launched_by,
               OutsideRows& rows) const {
    const auto add = [&rows](const et_schema::OutsideTime& part) {
      et_schema::OutsideTime& row =
          rows.try_emplace({part.why, part.name}, et_schema::OutsideTime{part.why, part.name})
              .first->second;
      row.host_ns = add_times(row.host_ns, part.host_ns);
      row.device_ns = add_times(row.device_ns, part.device_ns);
      et_schema::add_kernel_times(part.kernel_classes, row.kernel_classes);
    };
    const std::int64_t unseen_ns = std::min(communication_ns(time.kernel_classes), time.device_ns);
    const bool is_seen = time.why == Outside::kUnseenComm || time.why == Outside::kFiltered;
    if (unseen_ns > 0 && !is_seen) {
      const et_schema::KernelClassTimes of_class = {{std::string(kCommunication), unseen_ns}};
      add({Outside::kUnseenComm, launched_by, 0, unseen_ns, of_class});
      et_schema::take_kernel_times(of_class, time.kernel_classes);
      time.device_ns -= unseen_ns;
      program_.losses.add(Loss::kUnknownCommunication);
    }
    if (time.host_ns > 0 || time.device_ns > 0) {
      add(time);
    }
  }

  [[nodiscard]] static std::int64_t communication_ns(const et_schema::KernelClassTimes& times) {
    const auto found =
        std::ranges::find(times, kCommunication, &et_schema::KernelClassTime::kernel_class);
    return found == times.end() ? 0 : found->ns;
  }

  /// Counts operators whose own kernels communicate. The time stays in their instructions.
  void count_unseen() const {
    for (const Instruction& instruction : program_.instructions) {
      const bool is_unseen = instruction.timing && !instruction.comm &&
                             communication_ns(instruction.timing->kernel_classes) > 0;
      program_.losses.add(Loss::kUnknownCommunication, is_unseen ? 1 : 0);
    }
  }

  /// Returns by node whether it is one of `nodes`, or below one.
  [[nodiscard]] std::vector<bool> at_or_below(const std::vector<NodeIndex>& nodes) const {
    std::vector<bool> is_marked(trace_.nodes.size());
    for (const NodeIndex node : nodes) {
      is_marked[node] = true;
    }
    for (NodeIndex node = 1; node < trace_.nodes.size(); ++node) {
      is_marked[node] = is_marked[node] || is_marked[trace_.nodes[node].parent];
    }
    return is_marked;
  }

  [[nodiscard]] Outside why_outside(NodeIndex node) const {
    if (!link_.nodes[node]->is_summed) {
      return Outside::kLabel;
    }
    while (et_schema::classify(trace_.nodes[node]) == et_schema::NodeClass::kLabel) {
      node = trace_.nodes[node].parent;
    }
    if (flow_.is_wrapped[node]) {
      return Outside::kWrapped;
    }
    return selected_.is_open[node] ? Outside::kOpened : Outside::kNoMemory;
  }

  /// Sums the operators' times. A replayed operator counts with its own median, as in a replay; the
  /// medians of the nodes below it add up to another number.
  void add_up(et_schema::RecordedProfile& profile) const {
    const auto add = [&profile](std::int64_t host_ns, std::int64_t device_ns) {
      profile.operators_ns = add_times(profile.operators_ns, host_ns);
      profile.operators_device_ns = add_times(profile.operators_device_ns, device_ns);
    };
    for (const Instruction& instruction : program_.instructions) {
      if (instruction.timing && !instruction.comm) {
        add(instruction.timing->host_ns, instruction.timing->device_ns);
      }
    }
    for (const et_schema::OutsideTime& row : profile.outside) {
      add(row.host_ns, row.device_ns);
    }
  }

  /// Adds up the counters of kernels by the name of the instruction that launched them. Profilers
  /// leave out communication, since its kernels wait for each other.
  void add_counters(const std::vector<std::optional<std::uint32_t>>& holders,
                    const std::vector<bool>& is_filtered,
                    et_schema::RecordedProfile& profile) const {
    std::map<std::string, std::vector<Counters>> launches;
    for (const LaunchedKernel& kernel : link_.kernels) {
      const bool is_known = kernel.node != kNoNode;
      const bool is_left_out = is_known && (is_filtered[kernel.node] ||
                                            (kernel.counters.empty() && link_.nodes[kernel.node] &&
                                             link_.nodes[kernel.node]->communicates));
      const auto holder = is_known ? holders[kernel.node] : std::nullopt;
      if (!is_left_out) {
        launches[holder ? program_.instructions[*holder].name : ""].push_back(kernel.counters);
      }
    }
    for (const auto& [name, counters] : launches) {
      profile.operator_counters[name] = std::ranges::all_of(counters, &Counters::size)
                                            ? et_schema::combined(counters)
                                            : Counters();
    }
    if (std::ranges::none_of(link_.kernels, &Counters::size, &LaunchedKernel::counters)) {
      profile.operator_counters.clear();
    }
  }

  void set_opened() {
    std::vector<bool> runs_too(trace_.nodes.size());
    for (const NodeIndex node : selected_.operators) {
      runs_too[node] = true;
    }
    for (NodeIndex node = 0; node < trace_.nodes.size(); ++node) {
      if (selected_.is_open[node] && !runs_too[node] && link_.nodes[node]) {
        std::int64_t& own_ns = program_.selection.opened[selected_.opened_as[node]].own_ns;
        own_ns = add_times(own_ns, link_.nodes[node]->self_ns);
      }
    }
  }

  const Trace& trace_;
  const Link& link_;
  const Flow& flow_;
  const Selected& selected_;
  const std::vector<NodeIndex>& unknown_;  ///< communication calls that were not recognised
  Program& program_;
};

}  // namespace

void set_timings(const Trace& trace, const Link& link, const Flow& flow, const Selected& selected,
                 const std::vector<NodeIndex>& unknown, Program& program) {
  UNDERSTUDY_ASSERT(link.nodes.size() == trace.nodes.size());
  TimingSetter(trace, link, flow, selected, unknown, program).set();
}

}  // namespace understudy::generator
