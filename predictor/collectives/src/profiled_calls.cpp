#include "predictor/collectives/profiled_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "et_schema/base/file_name.h"
#include "et_schema/base/quote.h"
#include "et_schema/model/comm_traits.h"
#include "predictor/calls/known_cards.h"
#include "readers.h"

namespace understudy::predictor {

using et_schema::KinetoComm;

void ProfiledCalls::add(const et_schema::Profile& profile) {
  const et_schema::DeviceTimeline device = et_schema::device_timeline(profile);
  for (const KinetoComm& comm : profile.comms) {
    const auto event =
        std::ranges::lower_bound(device.events, comm.event, {}, &et_schema::DeviceEvent::source);
    if (event != device.events.end() && event->source == comm.event) {
      add(profile, comm, *event);
    }
  }
}

void ProfiledCalls::add(const et_schema::Profile& profile, const KinetoComm& comm,
                        const et_schema::DeviceEvent& event) {
  if (!profile.distributed) {
    ++left_out_["communication of a profile that does not name its rank"];
    return;
  }
  const auto kind = et_schema::kind_of_recorded_name(comm.name);
  const auto dtype = dtype_of_tool_name(comm.dtype);
  if (!kind || !dtype || comm.ranks_in_group < 0) {
    ++left_out_[fmt::format("kernels of communication that is not known: {} of {}",
                            et_schema::quote(comm.name),
                            comm.dtype.empty() ? "no element type" : et_schema::quote(comm.dtype))];
    return;
  }
  if (et_schema::is_message(*kind)) {
    ++left_out_["sends and receives of profiles"];
    return;
  }
  Call call{{*kind, 0, static_cast<int>(comm.ranks_in_group), 1, true, *dtype},
            event.start_ns,
            static_cast<double>(event.ns())};
  const auto bytes = row_bytes(call, comm.in_elements, comm.out_elements);
  if (!bytes || *bytes == 0 || comm.ranks_in_group < 2) {
    ++left_out_["communication of one rank or without data"];
    return;
  }
  Group& group = groups_[fmt::format("{} {} {}", comm.group, comm.ranks, comm.ranks_in_group)];
  group.file = et_schema::file_name(profile.file);
  group.device = recorded_card_name(profile.device(profile.events[comm.event].pid));
  call.bytes = *bytes;
  group.calls[profile.distributed->rank].push_back(call);
}

void ProfiledCalls::pair(const Group& group, int ranks_per_node, RepetitionsNs& times_ns,
                         ReadCollectives& read) {
  std::vector<std::vector<Call>> ranks;
  std::set<std::int64_t> nodes;
  std::size_t most = 0;
  for (const auto& [rank, calls] : group.calls) {
    std::ranges::sort(ranks.emplace_back(calls), {}, &Call::start_ns);
    nodes.insert(rank / ranks_per_node);
    most = std::max(most, calls.size());
  }
  const std::vector<Call>& first = ranks.front();
  if (ranks.size() != static_cast<std::size_t>(first.front().ranks)) {
    read.left_out["communication of ranks of which some have no profile here"] += most;
    return;
  }
  const bool are_alike = std::ranges::all_of(ranks, [&](const std::vector<Call>& calls) {
    return std::ranges::equal(calls, first, [](const Call& a, const Call& b) {
      return a.kind == b.kind && a.dtype == b.dtype;
    });
  });
  if (!are_alike) {
    read.left_out["communication of ranks whose profiles show different calls"] += most;
    return;
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    CollectiveCall call = first[i];
    call.nodes = static_cast<int>(nodes.size());
    double shortest_ns = std::numeric_limits<double>::infinity();
    for (const std::vector<Call>& calls : ranks) {
      call.bytes = std::max(call.bytes, calls[i].bytes);
      shortest_ns = std::min(shortest_ns, calls[i].duration_ns);
    }
    if (shortest_ns > 0) {
      times_ns[call].push_back(shortest_ns);
    } else {
      ++read.left_out["communication that took no time"];
    }
  }
}

ReadCollectives ProfiledCalls::rows(int ranks_per_node) const {
  ReadCollectives read{{}, left_out_};
  std::map<std::pair<std::string, std::string>, RepetitionsNs> by_file;
  for (const auto& [name, group] : groups_) {
    pair(group, ranks_per_node, by_file[{group.file, group.device}], read);
  }
  for (const auto& [of, times_ns] : by_file) {
    for (CollectiveRow& row : rows_of(times_ns, of.first)) {
      row.device = of.second;
      read.rows.push_back(std::move(row));
    }
  }
  return read;
}

}  // namespace understudy::predictor
