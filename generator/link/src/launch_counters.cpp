#include "generator/link/launch_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"
#include "et_schema/facts/counter_formulas.h"
#include "generator/link/device_time.h"
#include "launch_sums.h"

namespace understudy::generator {
using et_schema::CountedKernel;
using et_schema::Counters;

std::string kernel_base_name(std::string_view name) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  std::size_t end = name.find_first_of("<(");
  while (end != std::string_view::npos && name.substr(end).starts_with(kUnnamed)) {
    name.remove_prefix(end + kUnnamed.size());
    end = name.find_first_of("<(");
  }
  name = name.substr(0, end);
  return std::string(name.substr(name.find_last_of(": ") + 1));
}

void add_counters(std::span<const CountedKernel> kernels, const std::string& file, Link& link) {
  std::map<std::string, std::vector<LaunchedKernel*>> launched;
  for (LaunchedKernel& kernel : link.kernels) {
    launched[kernel.name].push_back(&kernel);
  }
  std::map<std::string, std::vector<Counters>> counted;
  for (const CountedKernel& kernel : kernels) {
    counted[kernel_base_name(kernel.kernel)].push_back(et_schema::known_counters(kernel.metrics));
  }
  std::map<std::size_t, std::size_t> votes;  // number of steps → kernels that fit it
  for (const auto& [name, of_name] : counted) {
    const std::size_t in_step = launched[name].size();
    votes[in_step > 0 && of_name.size() % in_step == 0 ? of_name.size() / in_step : 0] +=
        of_name.size();
  }
  votes.erase(0);
  if (votes.empty()) {
    const auto& [name, of_name] = *counted.begin();
    throw et_schema::bad_input(
        "counters of other kernels than the linked step's",
        {.file = file,
         .field = "--counters",
         .expected = fmt::format("launches of {} as the step has, {}, or a multiple",
                                 et_schema::quote(name), launched[name].size()),
         .got = fmt::format("{}, and no other kernel fits", of_name.size()),
         .hint = "count whole steps of the program that was profiled; understudy inspect "
                 "--device-time shows "
                 "counters by kernel"});
  }
  const std::size_t steps =
      std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; })->first;
  for (const auto& [name, of_name] : counted) {
    const std::vector<LaunchedKernel*>& launches = launched[name];
    if (of_name.size() != steps * launches.size()) {
      link.losses.add(et_schema::Loss::kUnjoinedCounters, of_name.size());
      continue;
    }
    for (std::size_t i = 0; i < launches.size(); ++i) {
      std::vector<Counters> of_launch;
      for (std::size_t k = i; k < of_name.size(); k += launches.size()) {
        of_launch.push_back(of_name[k]);
      }
      launches[i]->counters.merge(
          et_schema::of_one_run(et_schema::combined(of_launch), static_cast<double>(steps)));
    }
  }
}

std::vector<LaunchedKernel> ranged_kernels(const et_schema::Profile& profile,
                                           const LaunchInputs& in) {
  const std::vector<et_schema::NodeIndex> node_of = nodes_of_events(in.join, in.nodes, in.host);
  const std::vector<StepSpan> spans = launch_spans(in.join, in.host);
  const std::vector<et_schema::LostLaunch> launches = ranged_launches(profile, in.device);
  std::vector<LaunchedKernel> kernels;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const std::int64_t time_ns = in.host.relative(launches[i].launch_ns);
    if (std::ranges::any_of(spans, [=](const StepSpan& span) { return span.contains(time_ns); })) {
      const HostIndex owner =
          joined_around(in.host.event_of(launches[i].launcher), node_of, in.host);
      const CountedKernel& range = profile.ranges[i];
      kernels.push_back({owner == kNoEvent ? et_schema::kNoNode : node_of[owner],
                         kernel_base_name(range.kernel),
                         et_schema::of_one_run(et_schema::known_counters(range.metrics),
                                               static_cast<double>(spans.size()))});
    }
  }
  return kernels;
}

}  // namespace understudy::generator
