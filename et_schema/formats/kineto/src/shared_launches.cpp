#include <algorithm>
#include <utility>

#include "device_steps.h"
#include "et_schema/model/op_class.h"

namespace understudy::et_schema {
namespace {

/// More events of one launch are those of a kernel that launches others.
constexpr std::size_t kMostShared = 16;

class Sharer {
 public:
  Sharer(const Profile& profile, const std::vector<NestedEvent>& operators,
         std::vector<SharedLaunch> launches)
      : profile_(profile), operators_(operators), launches_(std::move(launches)) {}

  std::unordered_map<EventIndex, EventIndex> share_out() {
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      const std::size_t count = launches_[i].events.size();
      if (count > 1 && count <= kMostShared) {
        share_out(i);
      }
    }
    return std::move(moved_);
  }

 private:
  [[nodiscard]] const KinetoEvent& at(EventIndex event) const { return profile_.events[event]; }

  [[nodiscard]] bool is_open(std::size_t launch, std::size_t beside) const {
    return launch < launches_.size() && launches_[launch].events.empty() &&
           are_on_one_thread(at(launches_[launch].call), at(launches_[beside].call));
  }

  /// Of the ways to give a launch's events to it and its open neighbours in order, takes the one
  /// whose kernels are most often of their operators' classes; of equal ones, the first behind it.
  void share_out(std::size_t owner) {
    events_ = std::exchange(launches_[owner].events, {});
    std::ranges::stable_sort(events_, {}, [this](EventIndex event) { return at(event).ts_ns; });
    std::size_t end = owner + 1;
    while (is_open(end, owner)) {
      ++end;
    }
    std::pair<std::size_t, std::size_t> best(owner, 1);
    int most = alike(owner, 1) - 1;  // any other way is better if it is as likely
    for (std::size_t first = owner; owner - first < events_.size(); --first) {
      const std::size_t count = std::min(events_.size(), end - first);
      if (const int found = count > 1 ? alike(first, count) : -1; found > most) {
        best = {first, count};
        most = found;
      }
      if (first == 0 || !is_open(first - 1, owner)) {
        break;
      }
    }
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const std::size_t launch = best.first + std::min(i, best.second - 1);
      launches_[launch].events.push_back(events_[i]);
      if (launch != owner) {
        moved_[events_[i]] = launches_[launch].call;
      }
    }
  }

  /// Returns how many events are of their operators' classes; -1 if one began before its launch, or
  /// is a copy where it launched a kernel, or the other way round.
  [[nodiscard]] int alike(std::size_t first, std::size_t count) const {
    int alike = 0;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const KinetoEvent& launch = at(launches_[first + std::min(i, count - 1)].call);
      const KinetoEvent& event = at(events_[i]);
      const std::string_view kind = kernel_class(event.name);
      const bool is_of_call = launch.name.find("emcpy") == std::string_view::npos
                                  ? event.category != KinetoCategory::kGpuMemcpy
                                  : kind == "copy";
      if (launch.ts_ns > event.ts_ns || !is_of_call) {
        return -1;
      }
      const auto op = innermost_around(operators_, launch);
      alike += op && op_class(operators_[*op].event->name) == kind;
    }
    return alike;
  }

  const Profile& profile_;
  const std::vector<NestedEvent>& operators_;
  std::vector<SharedLaunch> launches_;
  std::vector<EventIndex> events_;  ///< of the current launch, by start
  std::unordered_map<EventIndex, EventIndex> moved_;
};

}  // namespace

std::unordered_map<EventIndex, EventIndex> shared_out(const Profile& profile,
                                                      const std::vector<NestedEvent>& operators,
                                                      std::vector<SharedLaunch> launches) {
  return Sharer(profile, operators, std::move(launches)).share_out();
}

}  // namespace understudy::et_schema
