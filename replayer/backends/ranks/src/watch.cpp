#include "watch.h"

#include <algorithm>

namespace understudy::backends {
namespace {

using Seconds = std::chrono::duration<double>;

/// Time until the first question about a call, and between questions; shorter if the time limit is
/// short.
constexpr double kFirstLookS = 1;
constexpr double kLookIntervalS = 0.25;
constexpr double kLooksWithinLimit = 8;
/// Longest time for an answer; also for the launcher to end the job of a dead rank.
constexpr double kPatienceS = 2;

double seconds(Watch::Clock::duration time) {
  return Seconds(time).count();
}

}  // namespace

void Watch::look(const LateCall& late, Clock::time_point started, Clock::time_point now) {
  const double first_look_s = std::min(kFirstLookS, late.time_limit_s / 4);
  if (seconds(now - started) < first_look_s || now < next_look_) {
    return;
  }
  const Seconds interval(std::min(kLookIntervalS, late.time_limit_s / kLooksWithinLimit));
  next_look_ = now + std::chrono::duration_cast<Clock::duration>(interval);
  if (started != started_) {
    begin(late, started);
  }
  for (Waited& other : waited_) {
    look_for_death(other, late, now);
    hear(other, late, now);
    board_.ask(question_of(late), other.world_rank, now);
  }
  if (is_late(late, now)) {
    throw late_call_error(late, all_heard(now));
  }
}

void Watch::begin(const LateCall& late, Clock::time_point started) {
  started_ = started;
  waited_.clear();
  for (const int rank : ranks_to_ask(late)) {
    waited_.push_back({.world_rank = rank, .since = started});
  }
}

void Watch::look_for_death(Waited& other, const LateCall& late, Clock::time_point now) {
  const Processes::State process = processes_.state(other.world_rank);
  if (process != Processes::State::kEnded && !board_.is_lost(other.world_rank)) {
    return;
  }
  if (!other.dead_since) {
    other.dead_since = now;
  }
  if (seconds(now - *other.dead_since) > kPatienceS) {
    throw lost_rank_error(late, other.world_rank, process);
  }
}

void Watch::hear(Waited& other, const LateCall& late, Clock::time_point now) {
  const Heard& heard = board_.heard(other.world_rank);
  if (!heard.answered || heard.question != question_of(late)) {
    return;
  }
  const bool has_started = heard.answer.started >= late.index;
  const bool got_on = has_started != other.has_started || heard.answer.progress != other.progress;
  if (other.was_heard && got_on) {
    other.since = now;
  }
  other.was_heard = true;
  other.has_started = has_started;
  other.progress = heard.answer.progress;
}

bool Watch::is_late(const LateCall& late, Clock::time_point now) const {
  const auto is_overdue = [&](const Waited& other) { return this->is_overdue(other, late, now); };
  const auto is_missing = [](const Waited& other) { return !other.has_started; };
  if (waited_.empty()) {
    return seconds(now - started_) > late.time_limit_s;
  }
  if (std::none_of(waited_.begin(), waited_.end(), is_missing)) {
    return std::all_of(waited_.begin(), waited_.end(), is_overdue);
  }
  return std::any_of(waited_.begin(), waited_.end(),
                     [&](const Waited& other) { return is_missing(other) && is_overdue(other); });
}

bool Watch::is_overdue(const Waited& other, const LateCall& late, Clock::time_point now) const {
  const double over_s = seconds(now - other.since) - late.time_limit_s;
  if (over_s <= 0) {
    return false;
  }
  const Heard& heard = board_.heard(other.world_rank);
  if (!other.was_heard) {
    return !heard.under_way || seconds(now - heard.asked) > kPatienceS;
  }
  // A rank that waits for another knows the cause better, and reports first, unless it waits for
  // this rank.
  const bool waits = !other.has_started && heard.answer.doing.front() != '\0';
  return !waits || over_s > kPatienceS;
}

std::vector<Heard> Watch::all_heard(Clock::time_point now) const {
  std::vector<Heard> all;
  for (const Waited& other : waited_) {
    Heard heard = board_.heard(other.world_rank);
    heard.answered =
        other.was_heard && (!heard.under_way || seconds(now - heard.asked) < kPatienceS);
    heard.is_stopped = processes_.state(other.world_rank) == Processes::State::kStopped;
    all.push_back(heard);
  }
  return all;
}

}  // namespace understudy::backends
