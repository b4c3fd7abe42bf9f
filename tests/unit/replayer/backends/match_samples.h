#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "et_schema/base/error.h"
#include "generator/matching/matching.h"

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
inline JobComms ranks_of(const std::vector<std::vector<CommRecord>>& calls) {
  JobComms comms(sample_groups(), calls.size());
  for (std::size_t r = 0; r < calls.size(); ++r) {
    for (std::size_t i = 0; i < calls[r].size(); ++i) {
      comms.add(r, calls[r][i], 100 * r + i);
    }
  }
  return comms;
}

/// The text of the first mismatch, without the last calls of both ranks; empty if there is none.
inline std::string mismatch(const JobComms& ranks) {
  const Matching found = match(ranks);
  EXPECT_EQ(found.mismatches.empty(), !found.orders.empty());
  if (found.mismatches.empty()) {
    return "";
  }
  const et_schema::Error& first = found.mismatches.front();
  et_schema::ErrorContext context = first.context();
  context.got = context.got.substr(0, context.got.find('\n'));
  return et_schema::to_text(et_schema::bad_input(first.summary(), std::move(context)));
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
