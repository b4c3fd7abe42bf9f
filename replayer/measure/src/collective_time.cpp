#include "collective_time.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "et_schema/base/statistics.h"
#include "et_schema/model/comm_traits.h"

namespace understudy::replayer {
namespace {

using backends::Buffer;

std::int64_t bytes_of(const std::vector<Buffer>& buffers) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : buffers) {
    bytes += buffer.count * item_size(buffer.dtype);
  }
  return bytes;
}

}  // namespace

std::uint64_t collective_bytes(const backends::Call& call, int group_size) {
  return static_cast<std::uint64_t>(et_schema::size_of_call(call.kind, bytes_of(call.inputs),
                                                            bytes_of(call.outputs), group_size));
}

backends::Ended end_of_comm(const BoundProgram& bound, const Step& step,
                            std::chrono::steady_clock::time_point now) {
  const bool is_start = step.kind == StepKind::kStart;
  if (!is_start && step.kind != StepKind::kJoin) {
    return std::nullopt;
  }
  const BoundComm& comm = bound.comms[step.index];
  if (comm.call.memory != et_schema::DeviceType::kCpu || (is_start && !comm.blocking)) {
    return std::nullopt;
  }
  return comm.blocking ? now : comm.ended.value_or(now);
}

void OverlapHook::built(const Step& step) {
  if (issue_ != nullptr) {
    issue_->built(step);
  }
  built_ = Clock::now();
}

void OverlapHook::called(const Step& step, const torch::jit::Stack& stack) {
  if (issue_ != nullptr) {
    issue_->called(step, stack);
  }
  const bool is_start = step.kind == StepKind::kStart;
  if (!is_start && step.kind != StepKind::kJoin) {
    return;
  }
  if (bound_.comms[step.index].call.memory != et_schema::DeviceType::kCpu) {
    return;
  }
  const Clock::time_point now = Clock::now();
  Times& times = times_[step.index];
  const double host_s = std::chrono::duration<double>(now - built_).count();
  if (is_start) {
    starts_[step.index] = built_;
    times.arrival_s.push_back(std::chrono::duration<double>(built_ - begin_).count());
    times.exposed_s.push_back(host_s);
  } else {
    times.exposed_s.back() += host_s;
  }
  if (const backends::Ended end = end_of_comm(bound_, step, now)) {
    times.in_flight_s.push_back(std::chrono::duration<double>(*end - starts_[step.index]).count());
  }
}

et_schema::CommunicationUse communication_use(const std::vector<OverlapHook::Times>& times) {
  constexpr double kMilli = 1e3;
  double exposed_s = 0;
  double in_flight_s = 0;
  for (const OverlapHook::Times& one : times) {
    exposed_s += et_schema::median(one.exposed_s).value_or(0);
    in_flight_s += et_schema::median(one.in_flight_s).value_or(0);
  }
  if (in_flight_s <= 0) {
    return {};
  }
  return {exposed_s * kMilli, in_flight_s * kMilli, std::max(0.0, 1 - exposed_s / in_flight_s)};
}

void CollectiveTimes::add(const std::string& name, const BoundComm& comm,
                          const std::vector<double>& seconds, const OverlapHook::Times& beside) {
  Entry& entry = entries_[{name, comm.group_name, collective_bytes(comm.call, comm.group_size)}];
  entry.kind = comm.call.kind;
  entry.group_size = comm.group_size;
  ++entry.count;
  entry.seconds.insert(entry.seconds.end(), seconds.begin(), seconds.end());
  for (auto part : {&OverlapHook::Times::exposed_s, &OverlapHook::Times::in_flight_s,
                    &OverlapHook::Times::arrival_s}) {
    (entry.beside.*part)
        .insert((entry.beside.*part).end(), (beside.*part).begin(), (beside.*part).end());
  }
}

std::vector<et_schema::CollectiveTime> CollectiveTimes::rows() const {
  constexpr double kMicro = 1e6;
  constexpr double kGiga = 1e9;
  std::vector<et_schema::CollectiveTime> rows;
  for (const auto& [key, entry] : entries_) {
    et_schema::CollectiveTime row;
    std::tie(row.name, row.group, row.bytes) = key;
    row.count = entry.count;
    row.group_size = entry.group_size;
    for (const double seconds : entry.seconds) {
      row.samples_us.push_back(seconds * kMicro);
    }
    const auto microseconds = [](const std::vector<double>& times_s) {
      const std::optional<double> median_s = et_schema::median(times_s);
      return median_s ? std::optional(*median_s * kMicro) : std::nullopt;
    };
    row.exposed_us = microseconds(entry.beside.exposed_s);
    row.in_flight_us = microseconds(entry.beside.in_flight_s);
    row.arrival_us = microseconds(entry.beside.arrival_s);
    const std::optional<double> median = et_schema::median(entry.seconds);
    row.median_us = microseconds(entry.seconds);
    if (median && *median > 0 && row.bytes > 0) {
      row.algbw_gb_per_s = static_cast<double>(row.bytes) / *median / kGiga;
      row.busbw_gb_per_s = *row.algbw_gb_per_s * bus_factor(entry.kind, entry.group_size);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::vector<double>> times_of_comms(const BoundProgram& bound,
                                                const std::vector<std::vector<double>>& calls_s) {
  std::vector<std::vector<double>> times(bound.comms.size());
  for (std::size_t i = 0; i < bound.steps.size(); ++i) {
    const Step& step = bound.steps[i];
    if (step.kind == StepKind::kStart || step.kind == StepKind::kJoin) {
      std::vector<double>& all = times[step.index];
      all.resize(std::max(all.size(), calls_s[i].size()));
      std::ranges::transform(calls_s[i], all, all.begin(), std::plus<>());
    }
  }
  return times;
}

}  // namespace understudy::replayer
