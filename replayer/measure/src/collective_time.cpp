#include "collective_time.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "et_schema/model/comm_traits.h"
#include "et_schema/support/statistics.h"

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

void CollectiveTimes::add(const std::string& name, const BoundComm& comm,
                          const std::vector<double>& seconds) {
  Entry& entry = entries_[{name, comm.group_name, collective_bytes(comm.call, comm.group_size)}];
  entry.kind = comm.call.kind;
  entry.group_size = comm.group_size;
  ++entry.count;
  entry.seconds.insert(entry.seconds.end(), seconds.begin(), seconds.end());
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
    const std::optional<double> median = et_schema::median(entry.seconds);
    if (median) {
      row.median_us = *median * kMicro;
    }
    if (median && *median > 0 && row.bytes > 0) {
      row.algbw_gb_per_s = static_cast<double>(row.bytes) / *median / kGiga;
      row.busbw_gb_per_s = *row.algbw_gb_per_s * value_of(traits(entry.kind).bus, entry.group_size);
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
