#include "predictor/collectives/traffic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>

#include "et_schema/base/assert.h"
#include "et_schema/model/comm_traits.h"

namespace understudy::predictor {
namespace {

using Pattern = et_schema::CommPattern;

constexpr std::size_t kPatterns = static_cast<std::size_t>(Pattern::kNothing) + 1;

Pattern pattern_of(CommKind kind) {
  return et_schema::traits(kind).pattern;
}

/// For each pattern, all patterns by decreasing similarity of steps and links.
constexpr std::array<std::array<Pattern, kPatterns>, kPatterns> kLikest = {{
    {Pattern::kRing, Pattern::kTwoRings, Pattern::kTree, Pattern::kExchange, Pattern::kMessage,
     Pattern::kNothing},
    {Pattern::kTwoRings, Pattern::kRing, Pattern::kTree, Pattern::kExchange, Pattern::kMessage,
     Pattern::kNothing},
    {Pattern::kTree, Pattern::kRing, Pattern::kTwoRings, Pattern::kExchange, Pattern::kMessage,
     Pattern::kNothing},
    {Pattern::kExchange, Pattern::kRing, Pattern::kTwoRings, Pattern::kTree, Pattern::kMessage,
     Pattern::kNothing},
    {Pattern::kMessage, Pattern::kTree, Pattern::kExchange, Pattern::kRing, Pattern::kTwoRings,
     Pattern::kNothing},
    {Pattern::kNothing, Pattern::kTwoRings, Pattern::kRing, Pattern::kTree, Pattern::kExchange,
     Pattern::kMessage},
}};

double phases_of(CommKind kind) {
  return pattern_of(kind) == Pattern::kTwoRings || kind == CommKind::kBarrier ? 2 : 1;
}

bool has_bytes(CommKind kind) {
  return pattern_of(kind) != Pattern::kNothing;
}

/// Returns the bytes that rank `of` sends to others, or receives from them.
double exchanged(const std::vector<std::int64_t>& sent_bytes, int ranks, int of, bool is_sent) {
  double sum = 0;
  for (int other = 0; other < ranks; ++other) {
    const int from = is_sent ? of : other;
    const int to = is_sent ? other : of;
    sum += other == of
               ? 0.0
               : static_cast<double>(sent_bytes[static_cast<std::size_t>(from * ranks + to)]);
  }
  return sum;
}

}  // namespace

Traffic traffic_of(CommKind kind, double bytes, int ranks) {
  const auto n = static_cast<double>(ranks);
  const et_schema::CommTraits& traits = et_schema::traits(kind);
  const double depth = pattern_of(kind) == Pattern::kExchange ? n - 1 : std::log2(n);
  const double steps = et_schema::is_message(kind) ? 1 : phases_of(kind) * depth;
  const double size = has_bytes(kind) ? bytes : 0;
  return {.steps = steps,
          .link_bytes = size * et_schema::bus_factor(kind, ranks),
          .reduced_bytes = traits.reduces ? size * (n - 1) / n : 0};
}

double node_steps(CommKind kind, int nodes) {
  return traffic_of(kind, 0, nodes).steps;
}

NodeLevel node_level(CommKind kind, double bytes, int ranks, int nodes) {
  const int own = (ranks + nodes - 1) / nodes;
  const double share = static_cast<double>(own) / ranks;
  if (pattern_of(kind) == Pattern::kExchange) {
    return {own, bytes * share};
  }
  const double link_bytes = traffic_of(kind, bytes, ranks).link_bytes;
  return {own, own > 1 && link_bytes > 0 ? link_bytes / traffic_of(kind, 1, own).link_bytes : 0};
}

double node_bytes(CommKind kind, double bytes, int ranks, int nodes) {
  if (nodes < 2 || !has_bytes(kind)) {
    return 0;
  }
  if (pattern_of(kind) != Pattern::kExchange) {
    return traffic_of(kind, bytes, ranks).link_bytes;
  }
  // Gather and scatter have one root: only its node is busy, with one rank's data.
  const bool has_root = et_schema::traits(kind).has_root;
  const double per_node = static_cast<double>(ranks) / nodes;
  return bytes * (1 - 1.0 / nodes) * (has_root ? 1 : per_node);
}

double equal_parts_bytes(const std::vector<std::int64_t>& sent_bytes, int ranks) {
  UNDERSTUDY_ASSERT(sent_bytes.size() ==
                    static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks));
  double most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    most = std::max({most, exchanged(sent_bytes, ranks, rank, true),
                     exchanged(sent_bytes, ranks, rank, false)});
  }
  return ranks > 1 ? most * ranks / (ranks - 1) : 0;
}

std::vector<CommKind> similar_kinds(CommKind kind) {
  std::vector<CommKind> kinds;
  const auto distance = [kind](CommKind other) {
    return std::abs(static_cast<int>(other) - static_cast<int>(kind));
  };
  for (const Pattern pattern : kLikest[static_cast<std::size_t>(pattern_of(kind))]) {
    const auto first = static_cast<std::ptrdiff_t>(kinds.size());
    for (std::size_t i = et_schema::kCommKinds; i-- > 0;) {
      const auto other = static_cast<CommKind>(i);
      if (other != kind && pattern_of(other) == pattern && has_bytes(other)) {
        kinds.push_back(other);
      }
    }
    // Variants of one collective are neighbours in CommKind.
    std::stable_sort(kinds.begin() + first, kinds.end(),
                     [&](CommKind a, CommKind b) { return distance(a) < distance(b); });
  }
  return kinds;
}

double similar_bytes(CommKind kind, double bytes, int ranks, CommKind other) {
  if (!has_bytes(kind) || ranks < 2) {
    return 0;
  }
  const double per_phase = traffic_of(kind, bytes, ranks).link_bytes / phases_of(kind);
  return per_phase / (traffic_of(other, 1, ranks).link_bytes / phases_of(other));
}

}  // namespace understudy::predictor
