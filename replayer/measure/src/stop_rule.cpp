#include "stop_rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <span>
#include <sstream>

#include "et_schema/base/enum_names.h"
#include "et_schema/model/measurement.h"

namespace understudy::replayer {
namespace {

constexpr double kGrowth = 1.25;

std::vector<double> parse_numbers(const std::string& text) {
  std::istringstream stream(text);
  std::vector<double> numbers;
  for (double number = 0; stream >> number;) {
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

bool StopRule::is_last(const std::vector<double>& samples_ms, double spent_s) {
  end_ = end_of(samples_ms, spent_s);
  return is_interrupted() || end_ != End::kNone;
}

StopRule::End StopRule::end_of(const std::vector<double>& samples_ms, double spent_s) {
  if (limits_.iterations && samples_ms.size() >= static_cast<std::size_t>(*limits_.iterations)) {
    return End::kIterations;
  }
  if (any_rank(limits_.seconds && spent_s >= *limits_.seconds)) {
    return End::kSeconds;
  }
  return !is_interrupted() && is_narrow(samples_ms) ? End::kInterval : End::kNone;
}

bool StopRule::any_rank(bool mine) {
  if (job_.world_size() == 1) {
    signal_ = std::max(signal_, monitor_.signal());
    return mine;
  }
  bool any = false;
  for (const std::string& theirs :
       job_.all_gather_text(fmt::format("{:d} {}", mine, monitor_.signal()))) {
    const std::vector<double> numbers = parse_numbers(theirs);
    any = any || numbers.at(0) != 0;
    signal_ = std::max(signal_, static_cast<int>(numbers.at(1)));
  }
  return any;
}

void StopRule::interrupt() {
  signal_ = std::max(signal_, monitor_.signal());
}

/// Uses the slowest rank's samples, so that all ranks get the same interval.
bool StopRule::is_narrow(const std::vector<double>& samples_ms) {
  if (!limits_.until_percent || samples_ms.size() < next_check_) {
    return false;
  }
  const std::span<const double> added = std::span(samples_ms).subspan(of_job_.size());
  std::vector<double> slowest(added.begin(), added.end());
  if (job_.world_size() > 1) {
    for (const std::string& theirs :
         job_.all_gather_text(fmt::format("{}", fmt::join(added, " ")))) {
      std::ranges::transform(slowest, parse_numbers(theirs), slowest.begin(),
                             [](double a, double b) { return std::max(a, b); });
    }
  }
  of_job_.insert(of_job_.end(), slowest.begin(), slowest.end());
  next_check_ = static_cast<std::size_t>(std::ceil(kGrowth * static_cast<double>(next_check_)));
  const auto interval = et_schema::median_interval(of_job_);
  return interval && interval->half_percent() <= *limits_.until_percent;
}

std::string StopRule::ended_by() const {
  if (is_interrupted()) {
    return signal_ == SIGINT ? "SIGINT" : "SIGTERM";
  }
  return std::string(
      et_schema::EnumNames<End::kInterval>("", "iterations", "seconds", "interval")[end_]);
}

}  // namespace understudy::replayer
