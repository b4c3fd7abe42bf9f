#include "generator/link/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/file_name.h"
#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "et_schema/model/device_time.h"
#include "et_schema/model/op_class.h"
#include "generator/flow/autograd.h"
#include "generator/flow/model_names.h"
#include "generator/flow/steps.h"
#include "generator/link/clock.h"
#include "generator/link/device.h"
#include "generator/link/host.h"
#include "generator/link/names.h"
#include "graph_times.h"
#include "join.h"
#include "launch_sums.h"
#include "layout.h"
#include "shown_step.h"
#include "statistics.h"
#include "waits.h"

namespace understudy::generator {
namespace {

using et_schema::DeviceTimeline;
using et_schema::NodeClass;
using et_schema::Profile;

/// With less agreement, the profile belongs to another program.
constexpr double kLeastAgreement = 0.75;
constexpr double kLeastJoined = 0.9;

/// The profiler sets "Record function id" only while an execution trace is recorded.
bool has_trace_ids(const Profile& profile) {
  return std::ranges::any_of(profile.events,
                             [](const et_schema::KinetoEvent& event) { return event.rf_id > 0; });
}

class Linker {
 public:
  Linker(const Trace& trace, const Profile& profile, const LinkOptions& options)
      : trace_(trace), profile_(profile), options_(options) {}

  Link link() {
    result_.has_times = !profile_.not_run;
    const IdRange step = choose_step(trace_, options_.step).ids;
    result_.profile.nodes = static_cast<std::uint64_t>(std::ranges::count_if(
        trace_.nodes, [step](const Node& node) { return step.contains(node.id); }));
    nodes_ = join_nodes(trace_, step, names_);
    host_ = host_events(profile_, names_);
    join_ = join();
    const DeviceTimeline device = et_schema::device_timeline(profile_, spans());
    const HostEvents as_profiled = host_;
    const std::vector<EventWait> event_waits = find_event_waits(host_, join_);
    if (options_.graph_run != nullptr) {
      graph_ = graph_times(profile_, host_, device, join_, *options_.graph_run);
    }
    const EventCost cost =
        find_event_cost(host_, has_trace_ids(profile_), options_.observer_ns_per_event);
    if (result_.has_times && (!options_.is_as_profiled || options_.observer_ns_per_event)) {
      take_out(cost, launches(device), host_);
    }
    sum_children();
    find_kinds();
    const std::unordered_map<HostIndex, HostIndex> issued = find_batches();
    const LaunchInputs inputs{host_, nodes_, join_, device, graph_, is_in_operator_, issued};
    LaunchSums sums = sum_launches(inputs);
    launched_ = std::move(sums.launched);
    result_.profile.outside = std::move(sums.outside);
    result_.nodes.resize(trace_.nodes.size());
    const Layout layout = take_medians(event_waits);
    show_step({trace_, nodes_, join_, as_profiled, device, sums.owners, layout});
    if (!profile_.ranges.empty()) {
      result_.kernels = ranged_kernels(profile_, inputs);
    }
    note_kinds();
    add_up_launches(trace_, result_.nodes);
    describe(device, cost);
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_linked(const et_schema::DeviceEvent& event) const {
    return host_.event_of(event.launcher) != kNoEvent;
  }

  /// Returns the joined steps of a profile without marks.
  [[nodiscard]] et_schema::Stretches spans() const {
    et_schema::Stretches spans;
    for (const JoinedStep& step : join_.steps) {
      spans.push_back({host_.first_ns + step.begin_ns(host_), host_.first_ns + step.end_ns(host_)});
    }
    return spans;
  }

  [[nodiscard]] LaunchCost launches(const DeviceTimeline& device) const {
    LaunchCost cost{{}, options_.observer_ns_per_launch};
    if (cost.each_ns <= 0) {
      return cost;
    }
    for (const et_schema::DeviceEvent& event : device.events) {
      if (is_linked(event) && event.call != event.launcher) {
        cost.times_ns.push_back(host_.relative(event.launch_ns));
      }
    }
    std::ranges::sort(cost.times_ns);
    cost.times_ns.erase(std::unique(cost.times_ns.begin(), cost.times_ns.end()),
                        cost.times_ns.end());
    return cost;
  }

  /// Returns true if a tensor of the step was on an accelerator.
  [[nodiscard]] bool is_on_device() const {
    bool found = false;
    const auto look = [&found](const et_schema::Tensor& tensor) {
      found = found || is_accelerator(tensor.device);
    };
    for (const NodeIndex node : nodes_.nodes) {
      et_schema::for_each_tensor(trace_.nodes[node].inputs, look);
      et_schema::for_each_tensor(trace_.nodes[node].outputs, look);
    }
    return found;
  }

  Join join() {
    Join by_id = join_by_id(trace_, nodes_, host_, names_.size());
    const bool by_id_is_enough = is_enough(by_id);
    if (by_id_is_enough && by_id.joined == nodes_.nodes.size()) {
      return by_id;
    }
    Join by_order = join_by_order(trace_, nodes_, host_, names_.size());
    if (is_enough(by_order) && (!by_id_is_enough || by_order.joined > by_id.joined)) {
      return by_order;
    }
    if (!by_id_is_enough) {
      refuse(by_order);
    }
    return by_id;
  }

  [[nodiscard]] bool is_enough(const Join& join) const {
    const bool has_nodes =
        static_cast<double>(join.joined) >= kLeastJoined * static_cast<double>(nodes_.nodes.size());
    // A profile that is joined by id may show more than the trace, such as other steps of the same
    // run.
    const bool agrees =
        join.kind == et_schema::JoinKind::kRecordFunctionId || join.agreement >= kLeastAgreement;
    return !join.steps.empty() && !nodes_.nodes.empty() && has_nodes && agrees;
  }

  [[noreturn]] void refuse(const Join& join) const {
    et_schema::ErrorContext context;
    context.file = profile_.file;
    context.rank = trace_.rank;
    const std::vector<HostIndex>& event_of = join.steps.front().event_of;
    const auto missing = std::ranges::find(event_of, kNoEvent);
    if (missing != event_of.end()) {
      const Node& node =
          trace_.nodes[nodes_.nodes[static_cast<std::size_t>(missing - event_of.begin())]];
      context.node = node.id;
      context.expected = fmt::format("{}, in the place where the trace has it", node.name);
    } else {
      context.expected = "the operators of the trace's step and no others";
    }
    const std::size_t found = count_joined(event_of);
    context.got =
        fmt::format("{} of {} nodes and {} of {} events{} with equal names in equal order", found,
                    nodes_.nodes.size(), found, join.steps.front().events,
                    join.steps.size() > 1 ? " of its first step" : "");
    context.hint =
        "give the profile of the program that the trace is of, or --profile none to go without "
        "times";
    throw et_schema::bad_input("a profile of another program", std::move(context));
  }

  // ---- times, by event

  [[nodiscard]] std::int64_t host_ns(HostIndex event) const {
    return host_.events[event].end_ns - host_.events[event].start_ns;
  }

  void sum_children() {
    children_ns_.assign(host_.events.size(), 0);
    for (HostIndex i = 0; i < host_.events.size(); ++i) {
      if (host_.events[i].parent != kNoEvent) {
        std::int64_t& sum = children_ns_[host_.events[i].parent];
        sum = add_times(sum, host_ns(i));
      }
    }
  }

  // ---- times, by node

  void find_kinds() {
    communicates_.assign(trace_.nodes.size(), false);
    is_in_operator_.assign(trace_.nodes.size(), false);
    for (NodeIndex i = 1; i < trace_.nodes.size(); ++i) {
      const NodeIndex parent = trace_.nodes[i].parent;
      const NodeClass kind = et_schema::classify(trace_.nodes[i]);
      communicates_[i] =
          communicates_[parent] || kind == NodeClass::kC10d || kind == NodeClass::kCommunication;
      is_in_operator_[i] = is_in_operator_[parent] || kind != NodeClass::kLabel;
    }
  }

  /// Returns LaunchInputs::issued. A label below the issuing call is around its launches.
  [[nodiscard]] std::unordered_map<HostIndex, HostIndex> find_batches() const {
    std::unordered_map<HostIndex, HostIndex> issued;
    for (const auto& [issuer, call] : et_schema::read_communication(trace_).issued) {
      const std::span<const NodeIndex> below = trace_.nodes[issuer].children;
      std::vector<NodeIndex> launchers(below.begin(), below.end());
      launchers.push_back(issuer);
      for (const JoinedStep& step : join_.steps) {
        const HostIndex of_call = event_in(step, call);
        for (const NodeIndex launcher : launchers) {
          if (of_call != kNoEvent && event_in(step, launcher) != kNoEvent) {
            issued.emplace(event_in(step, launcher), of_call);
          }
        }
      }
    }
    return issued;
  }
  [[nodiscard]] HostIndex event_in(const JoinedStep& step, NodeIndex node) const {
    const auto place = std::ranges::lower_bound(nodes_.nodes, node);
    return place != nodes_.nodes.end() && *place == node
               ? step.event_of[static_cast<std::size_t>(place - nodes_.nodes.begin())]
               : kNoEvent;
  }

  /// A communication's kernel waits for the other ranks, except in steps in which this rank was
  /// last. If ranks are last in turn, each median would include waiting. So the shortest time
  /// counts.
  [[nodiscard]] std::int64_t device_ns(NodeIndex node, std::vector<std::int64_t>& samples) const {
    return communicates_[node] && !samples.empty() ? *std::ranges::min_element(samples)
                                                   : median(samples);
  }

  Layout take_medians(const std::vector<EventWait>& event_waits) {
    Samples samples;
    for (std::size_t i = 0; i < nodes_.nodes.size(); ++i) {
      samples.clear();
      samples.takes_cut_off = is_cut_off_everywhere(i);
      for (const JoinedStep& step : join_.steps) {
        if (step.event_of[i] != kNoEvent) {
          add_sample(step.event_of[i], samples);
        }
      }
      if (!samples.host.empty()) {
        result_.nodes[nodes_.nodes[i]] = {
            0, median(samples.host), median(samples.self),
            device_ns(nodes_.nodes[i], samples.device),
            static_cast<std::uint64_t>(median(samples.launches)), samples.stream,
            // Most steps have all of these faults or none. The median would hide them; the mean
            // does not.
            samples.page_faults.empty() ? std::nullopt : std::optional(mean(samples.page_faults)),
            std::move(samples.kernel_classes), samples.reads_pinned};
      }
    }
    Layout layout = lay_out(join_, host_);
    for (const auto& [position, start_ns] : layout.starts) {
      result_.nodes[nodes_.nodes[position]]->start_ns = start_ns;
    }
    result_.profile.step_ns = layout.step_ns;
    result_.profile.stream_waits = lay_out_event_waits(event_waits, layout, join_.steps.size());
    return layout;
  }

  void show_step(const ShownStepInputs& inputs) {
    ShownStep shown = shown_step(inputs);
    result_.profile.length_ns = shown.length_ns;
    result_.profile.host_runs_ahead = shown.host_runs_ahead;
    result_.profile.device_waits = std::move(shown.waits);
    result_.work = std::move(shown.work);
    result_.kernels = std::move(shown.kernels);
  }

  struct Samples {
    std::vector<std::int64_t> host, self, device, launches, page_faults;
    std::optional<std::int64_t> stream;
    et_schema::KernelClassTimes kernel_classes;  ///< of all samples
    bool reads_pinned = false;
    bool takes_cut_off = false;
    void clear() {
      for (auto* list : {&host, &self, &device, &launches, &page_faults}) {
        list->clear();
      }
      stream.reset();
      kernel_classes.clear();
      reads_pinned = false;
    }
  };

  /// Returns true if no step has all device work of the operator, so that partial times must be
  /// used.
  [[nodiscard]] bool is_cut_off_everywhere(std::size_t position) const {
    return std::ranges::none_of(join_.steps, [&](const JoinedStep& step) {
      const HostIndex event = step.event_of[position];
      return event != kNoEvent && !launched_[event].is_cut_off;
    });
  }

  void add_sample(HostIndex event, Samples& samples) {
    if (const std::int64_t faults = host_.source(event).page_faults; faults >= 0) {
      samples.page_faults.push_back(faults);
    }
    samples.host.push_back(std::max<std::int64_t>(host_ns(event), 0));
    samples.self.push_back(std::max<std::int64_t>(host_ns(event) - children_ns_[event], 0));
    const bool is_cut_off = launched_[event].is_cut_off;
    result_.losses.add(Loss::kCutOffSamples, is_cut_off ? 1 : 0);
    if (!is_cut_off || samples.takes_cut_off) {
      samples.device.push_back(launched_[event].device_ns);
      et_schema::add_kernel_times(launched_[event].kernel_classes, samples.kernel_classes);
      samples.launches.push_back(static_cast<std::int64_t>(launched_[event].count));
      if (!samples.stream) {
        samples.stream = launched_[event].stream;
      }
      samples.reads_pinned |= launched_[event].reads_pinned;
    }
  }

  void note_kinds() {
    for (NodeIndex i = 1; i < trace_.nodes.size(); ++i) {
      if (result_.nodes[i]) {
        result_.nodes[i]->communicates = communicates_[i];
        result_.nodes[i]->is_summed = is_in_operator_[i] && !communicates_[i] &&
                                      trace_.nodes[i].name != kSubclassLabel &&
                                      trace_.nodes[i].name != kModeLabel;
      }
    }
  }

  void describe(const DeviceTimeline& device, const EventCost& cost) {
    et_schema::RecordedProfile& profile = result_.profile;
    profile.file = et_schema::file_name(profile_.file);
    profile.bytes = profile_.content_bytes;
    profile.content_hash = profile_.content_hash;
    // A trace made from this profile has its times.
    profile.join = trace_.file == profile_.file ? et_schema::JoinKind::kOwn : join_.kind;
    profile.steps = join_.steps.size();
    profile.device = recorded_device(profile_, device);
    profile.unprofiled_step_ns = options_.unprofiled_step_ns;
    profile.unprofiled_interval = options_.unprofiled_interval;
    profile.minor_faults = options_.minor_faults;
    profile.profiled_minor_faults = options_.profiled_minor_faults;
    profile.observer_ns_per_event = std::round(10 * cost.total_ns()) / 10;
    profile.observer_source = cost.source;
    profile.nodes_with_rf_id = nodes_.nodes.size();
    profile.device_events = device.total();
    profile.device_events_linked = static_cast<std::uint64_t>(std::ranges::count_if(
        device.events, [this](const et_schema::DeviceEvent& event) { return is_linked(event); }));
    profile.lost = unlinked_events(device, host_);
    const et_schema::DeviceDoubts doubts = doubts_of(profile_, device);
    if (std::string text = doubt_text(doubts); !text.empty()) {
      profile.lost.push_back({"", std::move(text), doubts.knows_times() ? 0 : doubts.lost, 0});
    }
    // Kernel names show how kernels were chosen, if no capture recorded it.
    if (std::ranges::any_of(device.events, [&](const et_schema::DeviceEvent& event) {
          return is_linked(event) && event.kernel_class == "matmul" &&
                 et_schema::multiplies_tf32(profile_.events[event.source].name);
        })) {
      profile.kernel_settings["float32_matmul_precision"] = "high";
    }
    std::uint64_t pairs = 0;
    for (const JoinedStep& step : join_.steps) {
      profile.events += step.events;
      pairs += count_joined(step.event_of);
    }
    for (const NodeIndex node : nodes_.nodes) {
      profile.nodes_joined += result_.nodes[node] ? 1U : 0U;
    }
    result_.losses.add(Loss::kUnjoinedNodes,
                       (nodes_.nodes.size() - profile.nodes_joined) + (profile.events - pairs));
    result_.losses.add(Loss::kDissimilarSteps, join_.other_ways);
    result_.losses.add(Loss::kUnlinkedDeviceEvents,
                       profile.device_events - profile.device_events_linked);
    result_.losses.add(Loss::kLinkedByExternalId, device.by_external_id);
    result_.losses.add(Loss::kDamagedTimes, device.clipped);
    result_.losses.add(Loss::kUnknownDeviceEvents, profile_.losses[Loss::kUnknownDeviceEvents]);
    profile.graph_run = profile_.graph_run;
    if (graph_) {
      profile.graph_run = et_schema::file_name(options_.graph_run->file);
      result_.losses.add(Loss::kGraphDifferences, graph_->eager_only + graph_->graph_only);
    }
    result_.losses.add(Loss::kNoDeviceEvents, device.total() == 0 && is_on_device() ? 1 : 0);
  }

  const Trace& trace_;
  const Profile& profile_;
  const LinkOptions& options_;
  NameTable names_;
  JoinNodes nodes_;
  HostEvents host_;
  Join join_;
  std::vector<std::int64_t> children_ns_;  ///< by event: Σ duration of its direct children
  std::vector<Launched> launched_;         ///< by event
  std::vector<bool> communicates_;         ///< by node: it is a communication or below one
  std::vector<bool> is_in_operator_;       ///< by node: it is an operator or below one
  std::optional<GraphTimes> graph_;
  Link result_;
};

}  // namespace

std::int64_t own_device_ns(const Trace& trace, const Link& link, NodeIndex node) {
  std::int64_t own = link.nodes[node] ? link.nodes[node]->device_ns : 0;
  for (const NodeIndex child : trace.nodes[node].children) {
    own -= link.nodes[child] ? link.nodes[child]->device_ns : 0;
  }
  return std::max<std::int64_t>(own, 0);
}

et_schema::KernelClassTimes own_kernel_classes(const Trace& trace, const Link& link,
                                               NodeIndex node) {
  et_schema::KernelClassTimes own;
  if (link.nodes[node]) {
    own = link.nodes[node]->kernel_classes;
    for (const NodeIndex child : trace.nodes[node].children) {
      if (link.nodes[child]) {
        et_schema::take_kernel_times(link.nodes[child]->kernel_classes, own);
      }
    }
  }
  return own;
}

Link link(const Trace& trace, const Profile& profile, const LinkOptions& options) {
  return Linker(trace, profile, options).link();
}

}  // namespace understudy::generator
