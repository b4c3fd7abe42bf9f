#include "generator/link/disturbance.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

using et_schema::RecordedProfile;

/// The most that a page fault costs: of memory that a virtual machine gave back to its host.
constexpr double kMostFaultNs = 10'000;
constexpr double kPageBytes = 4096;
/// No operator loses more of its time.
constexpr double kLeastShare = 0.1;

/// An outermost operator, and the pages of the heap that it allocated in the traced step.
struct Allocator {
  std::int64_t begin_ns = 0;  ///< in the profiled step
  std::int64_t end_ns = 0;
  double pages = 0;
};

std::vector<Allocator> allocators_of(const Trace& trace, const Link& link) {
  const std::vector<ObservedBlock>& blocks = link.memory.blocks;
  std::vector<Allocator> found;
  for (NodeIndex i = 1; i < link.memory.nodes.size(); ++i) {
    const auto is_operator = [&](NodeIndex node) {
      return link.nodes[node] && link.nodes[node]->is_summed;
    };
    if (!link.memory.nodes[i] || !is_operator(i) || is_operator(trace.nodes[i].parent)) {
      continue;
    }
    const std::int64_t start_ns = link.nodes[i]->start_ns;
    Allocator operator_{start_ns, start_ns + link.nodes[i]->host_ns, 0};
    auto block = std::ranges::lower_bound(blocks, link.memory.nodes[i]->begin_ns, {},
                                          &ObservedBlock::allocated_ns);
    for (; block != blocks.end() && block->allocated_ns < link.memory.nodes[i]->end_ns; ++block) {
      if (block->on_cpu && block->bytes >= et_schema::kLeastHeapBlockBytes) {
        operator_.pages += static_cast<double>(block->bytes) / kPageBytes;
      }
    }
    if (operator_.pages > 0 && operator_.end_ns > operator_.begin_ns) {
      found.push_back(operator_);
    }
  }
  return found;
}

/// Takes moments of the profiled step to those of the unprofiled one. Moments keep their order.
class StepMap {
 public:
  StepMap(const std::vector<Allocator>& allocators, double ns_per_page,
          const RecordedProfile& profile) {
    std::vector<std::pair<std::int64_t, double>> changes;  // of the slope
    for (const Allocator& operator_ : allocators) {
      const double change = operator_.pages * ns_per_page /
                            static_cast<double>(operator_.end_ns - operator_.begin_ns);
      changes.emplace_back(operator_.begin_ns, change);
      changes.emplace_back(operator_.end_ns, -change);
    }
    changes.emplace_back(profile.step_ns, 0);
    std::ranges::sort(changes);
    double slope = 1;
    for (const auto& [at_ns, change] : changes) {
      const Moment last = moments_.back();
      moments_.push_back({at_ns, last.ns + std::max(slope, kLeastShare) *
                                               static_cast<double>(at_ns - last.profiled_ns)});
      slope += change;
    }
    factor_ = static_cast<double>(*profile.unprofiled_step_ns) / at(profile.step_ns);
  }

  [[nodiscard]] std::int64_t operator()(std::int64_t profiled_ns) const {
    return std::llround(factor_ * at(std::max<std::int64_t>(profiled_ns, 0)));
  }

 private:
  struct Moment {
    std::int64_t profiled_ns = 0;
    double ns = 0;
  };

  /// Returns the moment without the faults' difference.
  [[nodiscard]] double at(std::int64_t profiled_ns) const {
    const auto after = std::ranges::upper_bound(moments_, profiled_ns, {}, &Moment::profiled_ns);
    const Moment& before = *std::prev(after);
    const auto passed = static_cast<double>(profiled_ns - before.profiled_ns);
    const double slope = after == moments_.end()
                             ? 1
                             : (after->ns - before.ns) /
                                   static_cast<double>(after->profiled_ns - before.profiled_ns);
    return before.ns + slope * passed;
  }

  std::vector<Moment> moments_ = std::vector<Moment>(1);
  double factor_ = 1;
};

/// Returns what the profiled step's other number of page faults changes for each page that the
/// operators allocated. What a fault cost follows from the two steps' times.
double ns_per_page(const RecordedProfile& profile, const std::vector<Allocator>& allocators) {
  double pages = 0;
  for (const Allocator& operator_ : allocators) {
    pages += operator_.pages;
  }
  if (!profile.minor_faults || !profile.profiled_minor_faults ||
      profile.minor_faults == profile.profiled_minor_faults || pages == 0) {
    return 0;
  }
  const auto more = static_cast<double>(*profile.minor_faults - *profile.profiled_minor_faults);
  const auto longer = static_cast<double>(*profile.unprofiled_step_ns - profile.step_ns);
  return std::clamp(longer / more, 0.0, kMostFaultNs) * std::clamp(more / pages, -1.0, 1.0);
}

}  // namespace

void take_out_disturbance(const Trace& trace, Link& link) {
  RecordedProfile& profile = link.profile;
  if (profile.unprofiled_step_ns.value_or(0) <= 0 || profile.step_ns <= 0 ||
      profile.device_events > 0) {
    return;
  }
  const std::vector<Allocator> allocators = allocators_of(trace, link);
  const StepMap map(allocators, ns_per_page(profile, allocators), profile);
  for (std::optional<NodeTimes>& times : link.nodes) {
    if (times) {
      const std::int64_t end_ns = map(times->start_ns + times->host_ns);
      times->start_ns = map(times->start_ns);
      const auto host_ns = static_cast<double>(std::max<std::int64_t>(times->host_ns, 1));
      times->host_ns = end_ns - times->start_ns;
      times->self_ns = std::llround(static_cast<double>(times->self_ns) *
                                    (static_cast<double>(times->host_ns) / host_ns));
    }
  }
  profile.profiled_step_ns = profile.step_ns;
  profile.step_ns = *profile.unprofiled_step_ns;
}

}  // namespace understudy::generator
