#include <algorithm>
#include <map>
#include <vector>

#include "et_schema/base/file_name.h"
#include "generator/flow/model_names.h"
#include "generator/flow/steps.h"
#include "generator/link/host.h"
#include "launch_sums.h"

namespace understudy::generator {
namespace {

using et_schema::NodeClass;

class OwnLinker {
 public:
  OwnLinker(const Trace& trace, IdRange step) : trace_(trace), step_(step) {}

  Link link() {
    link_.nodes.resize(trace_.nodes.size());
    add_up();
    place_starts();
    describe();
    return std::move(link_);
  }

 private:
  /// Adds up times from the last node to the first. Children follow their parents, so all nodes
  /// below a node are known by then.
  void add_up() {
    std::vector<std::int64_t> below_ns(trace_.nodes.size());
    for (auto i = static_cast<NodeIndex>(trace_.nodes.size()); i-- > 1;) {
      if (const std::optional<et_schema::OwnTimes>& own = trace_.own_times[i];
          own && is_inside(i)) {
        NodeTimes& times = link_.nodes[i].emplace();
        times.self_ns = own->self_ns;
        times.host_ns = below_ns[i] = add_times(below_ns[i], own->self_ns);
        times.device_ns = own->device_ns;
        times.launches = own->launches;
        times.stream = own->stream;
        times.page_faults = own->page_faults;
        if (own->stream) {
          std::int64_t& busy_ns = streams_ns_[*own->stream];
          busy_ns = add_times(busy_ns, own->device_ns);
        }
      }
      std::int64_t& above_ns = below_ns[trace_.nodes[i].parent];
      above_ns = add_times(above_ns, below_ns[i]);
    }
    add_up_launches(trace_, link_.nodes);
  }

  [[nodiscard]] bool is_inside(NodeIndex node) const {
    return step_.contains(trace_.nodes[node].id);
  }

  /// Places the starts. Recorded ones count from the step's first. Otherwise each node starts where
  /// the previous one ended, and a child where its parent started.
  void place_starts() {
    std::optional<std::int64_t> first;
    std::int64_t next = 0;
    for (NodeIndex i = 0; i < trace_.nodes.size(); ++i) {
      if (link_.nodes[i] && trace_.own_times[i]->start_ns) {
        first = std::min(first.value_or(*trace_.own_times[i]->start_ns),
                         *trace_.own_times[i]->start_ns);
      }
    }
    // In a file that records the length of its step, starts count from the step's start.
    const std::int64_t origin = trace_.own_step_ns ? 0 : first.value_or(0);
    for (NodeIndex i = 0; i < trace_.nodes.size(); ++i) {
      if (!link_.nodes[i]) {
        continue;
      }
      const std::optional<std::int64_t>& start = trace_.own_times[i]->start_ns;
      link_.nodes[i]->start_ns = start ? std::max<std::int64_t>(*start - origin, 0) : next;
      next = add_times(link_.nodes[i]->start_ns, link_.nodes[i]->self_ns);
      const std::int64_t end = add_times(link_.nodes[i]->start_ns, link_.nodes[i]->host_ns);
      link_.profile.step_ns = std::max(link_.profile.step_ns, end);
    }
    link_.profile.step_ns = trace_.own_step_ns.value_or(link_.profile.step_ns);
    // Files of other tools do not record when device work ended: the busiest stream's time is a
    // lower bound of the step's length.
    link_.profile.length_ns = std::max(link_.profile.step_ns, trace_.own_length_ns);
    for (const auto& [stream, busy_ns] : streams_ns_) {
      link_.profile.length_ns = std::max(link_.profile.length_ns, busy_ns);
    }
  }

  void describe() {
    et_schema::RecordedProfile& profile = link_.profile;
    profile.file = et_schema::file_name(trace_.file);
    profile.bytes = trace_.content_bytes;
    profile.content_hash = trace_.content_hash;
    profile.join = et_schema::JoinKind::kOwn;
    profile.observer_source = "none taken out: the trace holds its times itself";
    std::vector<bool> communicates(trace_.nodes.size());
    for (NodeIndex i = 1; i < trace_.nodes.size(); ++i) {
      const NodeClass kind = et_schema::classify(trace_.nodes[i]);
      communicates[i] = communicates[trace_.nodes[i].parent] || kind == NodeClass::kC10d ||
                        kind == NodeClass::kCommunication;
      profile.nodes += is_inside(i) ? 1U : 0U;
      if (!link_.nodes[i]) {
        continue;
      }
      ++profile.nodes_joined;
      profile.device_events += trace_.own_times[i]->launches;
      link_.nodes[i]->communicates = communicates[i];
      link_.nodes[i]->is_summed = kind != NodeClass::kLabel && !communicates[i];
    }
    profile.events = profile.nodes_with_rf_id = profile.nodes_joined;
    profile.device_events_linked = profile.device_events;
  }

  const Trace& trace_;
  IdRange step_;
  std::map<std::int64_t, std::int64_t> streams_ns_;  ///< device time by stream
  Link link_;
};

}  // namespace

std::optional<Link> link_own_times(const Trace& trace, const std::optional<std::string>& step) {
  if (trace.own_times.empty()) {
    return std::nullopt;
  }
  return OwnLinker(trace, choose_step(trace, step).ids).link();
}

}  // namespace understudy::generator
