#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "et_schema/model/report.h"
#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// nccl-tests' size of a call in bytes: see docs/metrics.md.
[[nodiscard]] std::uint64_t collective_bytes(const backends::Call& call, int group_size);

/// Times of collectives, gathered to one row for each name, group and size.
class CollectiveTimes {
 public:
  /// One call of an iteration; `seconds` has one entry an iteration.
  void add(const std::string& name, const BoundComm& comm, const std::vector<double>& seconds);
  [[nodiscard]] std::vector<et_schema::CollectiveTime> rows() const;

 private:
  struct Entry {
    et_schema::CommKind kind = et_schema::CommKind::kBarrier;
    int group_size = 1;
    std::uint64_t count = 0;
    std::vector<double> seconds;
  };
  std::map<std::tuple<std::string, std::string, std::uint64_t>, Entry> entries_;
};

/// By communication: what starting it took and what waiting for it took, in each pass.
[[nodiscard]] std::vector<std::vector<double>> times_of_comms(
    const BoundProgram& bound, const std::vector<std::vector<double>>& calls_s);

}  // namespace understudy::replayer
