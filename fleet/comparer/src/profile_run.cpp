#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/formats/kineto/nested_events.h"
#include "et_schema/model/op_class.h"
#include "fleet/comparer/run.h"

namespace understudy::comparer {
namespace {

using et_schema::DeviceTimeline;
using et_schema::KinetoEvent;
using et_schema::Profile;
using et_schema::Stretch;
using et_schema::Stretches;

constexpr double kNsPerMs = 1e6;

/// Returns true for operators. Kineto's category cpu_op also contains autograd's wrappers
/// ("autograd::engine::evaluate_function: MulBackward0", "MulBackward0",
/// "torch::autograd::AccumulateGrad") and plain names ("detach").
bool is_operator(const KinetoEvent& event) {
  return event.category == et_schema::KinetoCategory::kCpuOp &&
         event.name.find("::") != std::string_view::npos &&
         event.name.find("autograd::") == std::string_view::npos;
}

std::string class_of(std::string_view name) {
  return name.starts_with("c10d::") ? "communication" : std::string(et_schema::op_class(name));
}

struct Call : et_schema::NestedEvent {
  std::vector<std::size_t> children = {};
  bool holds_known = false;    ///< this operator or one below it has a known name
  std::int64_t device_ns = 0;  ///< Σ duration of device work launched by it and all below it
};

/// Returns the operator calls of all threads as trees, callers before callees. A device event
/// belongs to the innermost operator around its launch.
std::vector<Call> call_trees(const Profile& profile, const DeviceTimeline& device,
                             const std::set<std::string>& known) {
  const std::vector<et_schema::NestedEvent> nested = nested_events(profile, is_operator);
  std::vector<Call> calls;
  for (const et_schema::NestedEvent& event : nested) {
    calls.push_back({event});
    if (event.parent) {
      calls[*event.parent].children.push_back(calls.size() - 1);
    }
  }
  for (const et_schema::DeviceEvent& event : device.events) {
    if (event.call != et_schema::kUnknownEvent) {
      if (const auto around = innermost_around(nested, profile.events[event.call])) {
        calls[*around].device_ns += event.ns();
      }
    }
  }
  for (std::size_t i = calls.size(); i-- > 0;) {
    Call& call = calls[i];
    call.holds_known = call.holds_known || known.contains(std::string(call.event->name));
    if (call.parent) {
      Call& caller = calls[*call.parent];
      caller.device_ns += call.device_ns;
      caller.holds_known = caller.holds_known || call.holds_known;
    }
  }
  return calls;
}

class ProfileRows {
 public:
  ProfileRows(const Profile& profile, const DeviceTimeline& device,
              const std::set<std::string>& known, bool by_device)
      : profile_(profile),
        known_(known),
        by_device_(by_device),
        calls_(call_trees(profile, device, known)) {
    for (const et_schema::EventIndex step : device.usable_steps()) {
      steps_.push_back(device.steps[step].mark);
      lengths_ns_.push_back(device.steps[step].length_ns);
    }
    covered_.resize(steps_.size());
  }

  std::vector<Series> rows() {
    for (const Call& call : calls_) {
      const std::optional<std::size_t> step = call.parent ? std::nullopt : step_of(*call.event);
      if (step) {
        covered_[*step].push_back(stretch_of(*call.event));
        add(call, *step);
      }
    }
    Series iteration{RowKind::kIteration, "", "", 0, {}};
    Series gap{RowKind::kGap, "", "", 0, {}};
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Stretch& step = steps_[i];
      const std::int64_t covered = covered_ns(merged_stretches(std::move(covered_[i])), step);
      iteration.samples_ms.push_back(static_cast<double>(lengths_ns_[i]) / kNsPerMs);
      gap.samples_ms.push_back(static_cast<double>(step.ns() - covered) / kNsPerMs);
    }
    std::vector<Series> rows = {std::move(iteration)};
    if (!by_device_) {
      rows.push_back(std::move(gap));
    }
    const auto drop_zeros = [](std::map<std::string, Series>& table) {
      std::erase_if(table, [](const auto& row) {
        return std::ranges::all_of(row.second.samples_ms, [](double ms) { return ms == 0; });
      });
    };
    drop_zeros(on_device_);
    if (by_device_) {
      drop_zeros(classes_);
    }
    for (auto* table : {&classes_, &operators_, &on_device_}) {
      for (auto& [name, row] : *table) {
        row.count /= steps_.size();
        rows.push_back(std::move(row));
      }
    }
    return rows;
  }

  /// Returns the classes of all kernels of the steps, and sets the share that no operator launched.
  std::vector<Series> kernel_classes(const DeviceTimeline& device, double& outside_share) {
    const std::vector<et_schema::EventIndex> usable = device.usable_steps();
    std::map<std::string, Series> classes;
    double all_ms = 0;
    double outside_ms = 0;
    for (const et_schema::DeviceEvent& event : device.events) {
      const auto step = std::ranges::lower_bound(usable, event.step);
      if (step == usable.end() || *step != event.step) {
        continue;
      }
      const std::string name(event.kernel_class);
      const double ms = static_cast<double>(event.ns()) / kNsPerMs;
      add({RowKind::kClass, name, "", 1, {}}, classes[name],
          static_cast<std::size_t>(step - usable.begin()), ms);
      all_ms += ms;
      outside_ms += event.by == et_schema::LaunchedBy::kOperator ? 0 : ms;
    }
    outside_share = all_ms > 0 ? outside_ms / all_ms : 0;
    std::vector<Series> rows;
    for (auto& [name, row] : classes) {
      row.count /= steps_.size();
      rows.push_back(std::move(row));
    }
    return rows;
  }

  [[nodiscard]] bool is_empty() const { return operators_.empty(); }

 private:
  [[nodiscard]] std::optional<std::size_t> step_of(const KinetoEvent& event) const {
    const auto after = std::ranges::upper_bound(steps_, event.ts_ns, {}, &Stretch::start_ns);
    if (after == steps_.begin() || event.ts_ns >= std::prev(after)->end_ns) {
      return std::nullopt;
    }
    return static_cast<std::size_t>(std::prev(after) - steps_.begin());
  }

  void add(const Call& call, std::size_t step) {
    std::int64_t own_ns = call.event->dur_ns;
    std::int64_t device_ns = call.device_ns;
    const std::string name(call.event->name);
    if (call.holds_known && !known_.contains(name)) {
      for (const std::size_t child : call.children) {
        own_ns -= calls_[child].event->dur_ns;
        device_ns -= calls_[child].device_ns;
        add(calls_[child], step);
      }
    }
    const double ms = static_cast<double>(std::max<std::int64_t>(own_ns, 0)) / kNsPerMs;
    add({RowKind::kOperator, name, class_of(name), 1, {}}, operators_[name], step, ms);
    const double device_ms = static_cast<double>(device_ns) / kNsPerMs;
    add({RowKind::kOnDevice, name, class_of(name), 1, {}}, on_device_[name], step, device_ms);
    add({RowKind::kClass, class_of(name), "", 1, {}}, classes_[class_of(name)], step,
        by_device_ ? device_ms : ms);
  }

  void add(const Series& row, Series& sum, std::size_t step, double ms) {
    if (sum.samples_ms.empty()) {
      sum = row;
      sum.count = 0;
      sum.samples_ms.assign(steps_.size(), 0.0);
    }
    ++sum.count;
    sum.samples_ms[step] += ms;
  }

  const Profile& profile_;
  const std::set<std::string>& known_;
  bool by_device_;
  Stretches steps_;  ///< the steps' marks
  std::vector<std::int64_t> lengths_ns_;
  std::vector<Call> calls_;
  std::vector<Stretches> covered_;  ///< by step: time covered by operators
  std::map<std::string, Series> classes_;
  std::map<std::string, Series> operators_;
  std::map<std::string, Series> on_device_;
};

}  // namespace

Run run_of(const Profile& profile, const DeviceTimeline& device, const std::set<std::string>& known,
           bool by_device) {
  ProfileRows table(profile, device, known, by_device);
  Run run;
  run.file = profile.file;
  run.is_profile = true;
  run.by_device = by_device;
  run.is_cut_off = profile.losses[et_schema::Loss::kTruncatedFiles] > 0;
  run.has_sizes = std::ranges::any_of(
      profile.events, [](const KinetoEvent& event) { return !event.arguments.empty(); });
  run.doubts = doubts_of(profile, device);
  run.pace = "original";
  if (profile.distributed) {
    run.world_size = static_cast<int>(profile.distributed->world_size);
  }
  run.rows = table.rows();
  if (by_device) {
    run.kernel_classes = table.kernel_classes(device, run.outside_share);
  }
  if (table.is_empty()) {
    throw et_schema::bad_input("a profile without operators",
                               {.file = profile.file,
                                .field = "traceEvents",
                                .expected = "events of the category cpu_op within a step",
                                .got = fmt::format("none among {} events", profile.events.size()),
                                .hint = "profile with ProfilerActivity.CPU"});
  }
  return run;
}

bool class_by_kernels(Run& a, Run& b) {
  constexpr double kMuch = 0.02;
  if (std::max(a.outside_share, b.outside_share) <= kMuch) {
    return false;
  }
  for (Run* const run : {&a, &b}) {
    std::erase_if(run->rows, [](const Series& row) { return row.kind == RowKind::kClass; });
    run->rows.insert(run->rows.end(), run->kernel_classes.begin(), run->kernel_classes.end());
  }
  return true;
}

}  // namespace understudy::comparer
