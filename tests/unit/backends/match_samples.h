#pragma once

#include <string>
#include <utility>
#include <vector>

#include "et_schema/support/error.h"
#include "matching/matching.h"

namespace understudy::matching {

inline const std::vector<et_schema::ProcessGroup>& sample_groups() {
  static const std::vector<et_schema::ProcessGroup> groups = {
      {.name = "world", .description = "", .backend = "nccl", .ranks = {}, .size = 4},
      {.name = "low", .description = "", .backend = "nccl", .ranks = {0, 1}, .size = 2},
      {.name = "high", .description = "", .backend = "nccl", .ranks = {2, 3}, .size = 2},
      {.name = "crossed", .description = "", .backend = "nccl", .ranks = {1, 0}, .size = 2}};
  return groups;
}

inline CommRecord record(et_schema::CommKind kind, et_schema::GroupId group,
                         std::vector<std::int64_t> inputs, std::vector<std::int64_t> outputs,
                         std::int64_t root_or_peer = 0) {
  CommRecord call;
  call.kind = kind;
  call.group = group;
  call.root_or_peer = root_or_peer;
  call.dtype = et_schema::DType::kFloat32;
  call.inputs = std::move(inputs);
  call.outputs = std::move(outputs);
  return call;
}

/// Ranks 0 … n-1 with these calls; node ids are 100·rank + position.
inline std::vector<RankComms> ranks_of(std::vector<std::vector<CommRecord>> calls) {
  std::vector<RankComms> ranks;
  for (std::size_t r = 0; r < calls.size(); ++r) {
    RankComms comms;
    comms.rank = static_cast<int>(r);
    comms.calls = std::move(calls[r]);
    for (std::size_t i = 0; i < comms.calls.size(); ++i) {
      comms.calls[i].node = 100 * r + i;
    }
    ranks.push_back(std::move(comms));
  }
  return ranks;
}

/// The whole text of what match_programs throws; empty if it throws nothing.
inline std::string mismatch(const std::vector<RankComms>& ranks) {
  try {
    (void)match_programs(ranks, sample_groups());
  } catch (const et_schema::Error& error) {
    return et_schema::to_text(error);
  }
  return "";
}

/// The text of a mismatch's error.
inline std::string mismatch_text(const std::string& summary, int rank, std::uint64_t node,
                                 const std::string& field, const std::string& expected,
                                 const std::string& got, const std::string& hint) {
  return et_schema::to_text(et_schema::bad_input(summary, {.file = "",
                                                           .rank = rank,
                                                           .node = node,
                                                           .field = field,
                                                           .expected = expected,
                                                           .got = got,
                                                           .hint = hint}));
}

}  // namespace understudy::matching
