#include "fleet/analysis/series_changes.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "et_schema/base/statistics.h"

namespace understudy::fleet {
namespace {

/// Returns the median of results [begin, end).
double median_ms(const std::vector<SeriesNight>& results, std::size_t begin, std::size_t end) {
  std::vector<double> figures;
  for (std::size_t i = begin; i < end; ++i) {
    figures.push_back(results[i].median_ms);
  }
  return et_schema::median(std::move(figures)).value_or(0);
}

std::vector<std::string> environment_in(const std::string& text) {
  constexpr std::string_view kWith = "; with it changed ";
  const std::size_t at = text.find(kWith);
  return at == std::string::npos ? std::vector<std::string>()
                                 : std::vector{text.substr(at + kWith.size())};
}

/// Collects the changes of a series from the events of its nights.
class Changes {
 public:
  Changes(const std::vector<SeriesEvent>& events, const std::vector<SeriesNight>& results)
      : results_(results) {
    for (const SeriesEvent& event : events) {
      event.kind == "change point" ? add_point(event) : add_night(event);
    }
  }

  std::vector<SeriesChange> marks() {
    for (const SeriesChange& night : nights_) {
      const auto point = std::ranges::find_if(
          points_, [&](const SeriesChange& mark) { return are_one(mark, night); });
      if (point == points_.end()) {
        points_.push_back(night);
      } else {
        point->text = night.text;  // names the classes and operators that changed
        point->is_recovery = night.is_recovery;
      }
    }
    std::ranges::stable_sort(points_, {}, &SeriesChange::index);
    return points_;
  }

 private:
  void add_point(const SeriesEvent& event) {
    const auto first =
        std::ranges::find(results_, std::to_string(event.night), &SeriesNight::night);
    if (first == results_.end()) {
      return;  // older than what is shown
    }
    points_.push_back({.index = static_cast<std::size_t>(first - results_.begin()),
                       .before_ms = event.before_ms,
                       .after_ms = event.after_ms,
                       .environment = environment_in(event.text)});
  }

  /// Adds a night that was slower or faster than earlier nights.
  void add_night(const SeriesEvent& event) {
    constexpr std::size_t kBefore = 5;  // earlier nights that a night is compared with
    const auto first =
        std::ranges::find(results_, std::to_string(event.night), &SeriesNight::night);
    const bool is_change =
        event.kind == "slower" || event.kind == "faster" || event.kind == "recovered";
    if (!is_change || first == results_.end() || first == results_.begin()) {
      return;
    }
    const auto index = static_cast<std::size_t>(first - results_.begin());
    nights_.push_back({.index = index,
                       .before_ms = median_ms(results_, level_begin(index, kBefore), index),
                       .after_ms = first->median_ms,
                       .text = event.text,
                       .environment = environment_in(event.text),
                       .is_recovery = event.kind == "recovered"});
  }

  /// Returns the start of the level before `index`: the last change before it, but at most `most`
  /// nights back.
  [[nodiscard]] std::size_t level_begin(std::size_t index, std::size_t most) const {
    std::size_t begin = index - std::min(index, most);
    for (const std::vector<SeriesChange>* marks : {&points_, &nights_}) {
      for (const SeriesChange& mark : *marks) {
        begin = mark.index < index ? std::max(begin, mark.index) : begin;
      }
    }
    return begin;
  }

  /// Otava may place a change a night or two beside the first night that showed it.
  static bool are_one(const SeriesChange& a, const SeriesChange& b) {
    constexpr std::size_t kNear = 2;
    return (a.after_ms > a.before_ms) == (b.after_ms > b.before_ms) &&
           std::max(a.index, b.index) - std::min(a.index, b.index) <= kNear;
  }

  const std::vector<SeriesNight>& results_;
  std::vector<SeriesChange> points_;
  std::vector<SeriesChange> nights_;
};

}  // namespace

std::vector<SeriesChange> series_changes(const std::vector<SeriesEvent>& events,
                                         const std::vector<SeriesNight>& results) {
  return Changes(events, results).marks();
}

SinceChange since_change(const SeriesChange& change, double newest_ms) {
  const auto distance = [newest_ms](double ms) { return std::abs(std::log(newest_ms / ms)); };
  const bool was_slower = change.after_ms > change.before_ms;
  if (distance(change.before_ms) < distance(change.after_ms)) {
    return was_slower           ? SinceChange::kBackFromSlower
           : change.is_recovery ? SinceChange::kBackFromRecovery
                                : SinceChange::kBackFromFaster;
  }
  if (change.is_recovery) {
    return SinceChange::kRecovered;
  }
  return was_slower ? SinceChange::kSlower : SinceChange::kFaster;
}

}  // namespace understudy::fleet
