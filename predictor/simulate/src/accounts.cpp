#include "accounts.h"

#include <algorithm>

namespace understudy::predictor {
namespace {

SpanId last_span(const std::vector<RankClass>& classes, std::int64_t end_ns) {
  SpanId last;
  std::int64_t last_ns = -1;
  for (std::uint32_t c = 0; c < classes.size(); ++c) {
    const std::vector<Span>& spans = classes[c].spans;
    for (std::uint32_t i = 0; i < spans.size(); ++i) {
      if (spans[i].end_ns <= end_ns && spans[i].end_ns > last_ns) {
        last_ns = spans[i].end_ns;
        last = {c, i};
      }
    }
  }
  return last;
}

bool is_wait(const Span& span) {
  return span.kind == SpanKind::kHostWait || span.kind == SpanKind::kArrived;
}

bool is_on_device(const Span& span) {
  return span.kind == SpanKind::kDevice || span.kind == SpanKind::kMoving;
}

/// Returns what ends last before `now_ns`: `cause`, or work that the rank's device shows.
SpanId last_work(const std::vector<RankClass>& classes, std::uint32_t rank, SpanId cause,
                 std::int64_t now_ns) {
  const std::vector<Span>& spans = classes[rank].spans;
  for (std::uint32_t i = 0; i < spans.size(); ++i) {
    const std::int64_t end_ns = classes[cause.rank_class].spans[cause.index].end_ns;
    if (is_on_device(spans[i]) && spans[i].start_ns < now_ns && spans[i].end_ns > end_ns) {
      cause = {rank, i};
    }
  }
  return cause;
}

}  // namespace

std::vector<PathPiece> critical_path(const std::vector<RankClass>& classes, std::int64_t begin_ns,
                                     std::int64_t end_ns) {
  std::vector<PathPiece> path;
  std::int64_t now_ns = end_ns;
  const auto go_back = [&](std::int64_t to_ns, SpanId id, PathPiece::Part part) {
    to_ns = std::max(to_ns, begin_ns);
    if (to_ns < now_ns) {
      path.push_back({now_ns - to_ns, id, part});
      now_ns = to_ns;
    }
  };
  SpanId id = last_span(classes, end_ns);
  while (!id.is_none() && now_ns > begin_ns) {
    const Span& span = classes[id.rank_class].spans[id.index];
    // A wait with a known cause is not on the path: its cause is.
    if (!is_wait(span) || span.cause.is_none()) {
      go_back(span.start_ns, id, PathPiece::Part::kItself);
      go_back(span.begin_ns, id, PathPiece::Part::kGap);
    }
    SpanId cause = span.cause;
    const bool is_work = is_on_device(span) || span.kind == SpanKind::kArrived;
    const auto idle_ns = [&] {
      return now_ns - classes[cause.rank_class].spans[cause.index].end_ns;
    };
    if (is_work && !cause.is_none() && idle_ns() >= kLateNs) {
      // It waited for what the device shows in between, or for something outside of the profile.
      cause = last_work(classes, id.rank_class, cause, now_ns);
      go_back(idle_ns() >= kLateNs ? now_ns - idle_ns() : now_ns, id, PathPiece::Part::kLate);
    }
    id = cause;
  }
  go_back(begin_ns, {}, PathPiece::Part::kItself);
  return path;
}

void Accounts::pass(const Doing& doing, std::int64_t now_ns) {
  const auto passed_ns = static_cast<double>(now_ns - last_ns_);
  moved_ns_ += doing.moving > 0 ? now_ns - last_ns_ : 0;
  last_ns_ = now_ns;
  if (doing.operators > 0) {
    sums_.compute_ns += passed_ns;
  } else if (doing.communications > 0) {
    sums_.exposed_communication_ns += passed_ns;
  } else if (doing.hosts > 0) {
    sums_.host_bound_ns += passed_ns;
  } else {
    sums_.idle_ns += passed_ns;
  }
}

Breakdown Accounts::mean(double iterations) const {
  return {(sums_.compute_ns - begin_.compute_ns) / iterations,
          (sums_.exposed_communication_ns - begin_.exposed_communication_ns) / iterations,
          (sums_.host_bound_ns - begin_.host_bound_ns) / iterations,
          (sums_.idle_ns - begin_.idle_ns) / iterations};
}

}  // namespace understudy::predictor
