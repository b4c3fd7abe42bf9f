#include "watch.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "et_schema/base/assert.h"

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

static_assert(sizeof(Answer) <= kLargestLetter && sizeof(Question) < sizeof(Answer));

double seconds(Watch::Clock::duration time) {
  return Seconds(time).count();
}

template <typename Content>
[[nodiscard]] Content read(const Letter& letter) {
  Content content;
  UNDERSTUDY_ASSERT(letter.bytes.size() == sizeof(content));
  std::memcpy(&content, letter.bytes.data(), sizeof(content));
  return content;
}

template <typename Content>
void post(Wire& wire, int world_rank, const Content& content) {
  wire.post(world_rank, std::as_bytes(std::span(&content, 1)));
}

}  // namespace

void Watch::serve(Clock::time_point now) {
  while (const std::optional<Letter> letter = wire_.next_letter()) {
    if (letter->bytes.size() == sizeof(Question)) {
      post(wire_, letter->from, answerer_(read<Question>(*letter)));
    } else if (letter->bytes.size() == sizeof(Answer)) {
      take(read<Answer>(*letter), letter->from, now);
    }
  }
}

void Watch::take(const Answer& answer, int from, Clock::time_point now) {
  const auto other = std::ranges::find(waited_, from, &Waited::world_rank);
  if (other == waited_.end() || answer.question != question_) {
    return;  // about an earlier call
  }
  if (other->answer && (answer.has_started() != other->answer->has_started() ||
                        answer.progress != other->answer->progress)) {
    other->since = now;
  }
  other->asked.reset();
  other->answer = answer;
  other->answer->doing.back() = '\0';
}

void Watch::look(const LateCall& late, Clock::time_point now) {
  const double first_look_s = std::min(kFirstLookS, late.time_limit_s / 4);
  if (seconds(now - late.started) < first_look_s || now < next_look_) {
    return;
  }
  const Seconds interval(std::min(kLookIntervalS, late.time_limit_s / kLooksWithinLimit));
  next_look_ = now + std::chrono::duration_cast<Clock::duration>(interval);
  if (late.started != started_) {
    begin(late);
  }
  for (Waited& other : waited_) {
    look_for_death(other, late, now);
    if (!other.asked) {
      other.asked = now;
      post(wire_, other.world_rank, question_);
    }
  }
  if (is_late(late, now)) {
    throw late_call_error(late, all_heard(now));
  }
}

void Watch::begin(const LateCall& late) {
  started_ = late.started;
  question_ = question_of(late);
  waited_.clear();
  for (const int rank : ranks_to_ask(late)) {
    waited_.push_back({.world_rank = rank, .since = started_});
  }
}

void Watch::look_for_death(Waited& other, const LateCall& late, Clock::time_point now) {
  const Processes::State process = processes_.state(other.world_rank);
  if (process != Processes::State::kEnded && !wire_.is_lost(other.world_rank)) {
    return;
  }
  if (!other.dead_since) {
    other.dead_since = now;
  }
  if (seconds(now - *other.dead_since) > kPatienceS) {
    throw lost_rank_error(late, other.world_rank, process);
  }
}

bool Watch::is_late(const LateCall& late, Clock::time_point now) const {
  const auto is_overdue = [&](const Waited& other) { return this->is_overdue(other, late, now); };
  const auto is_missing = [](const Waited& other) {
    return !other.answer || !other.answer->has_started();
  };
  if (waited_.empty()) {
    return seconds(now - started_) > late.time_limit_s;
  }
  if (std::ranges::none_of(waited_, is_missing)) {
    return std::ranges::all_of(waited_, is_overdue);
  }
  return std::ranges::any_of(
      waited_, [&](const Waited& other) { return is_missing(other) && is_overdue(other); });
}

bool Watch::is_overdue(const Waited& other, const LateCall& late, Clock::time_point now) const {
  const double over_s = seconds(now - other.since) - late.time_limit_s;
  if (over_s <= 0) {
    return false;
  }
  if (!other.answer) {
    return !other.asked || seconds(now - *other.asked) > kPatienceS;
  }
  // A rank that waits for another knows the cause better, and reports first, unless it waits for
  // this rank.
  const bool waits = !other.answer->has_started() && other.answer->doing.front() != '\0';
  return !waits || over_s > kPatienceS;
}

std::vector<Heard> Watch::all_heard(Clock::time_point now) const {
  std::vector<Heard> all;
  for (const Waited& other : waited_) {
    const bool answers = !other.asked || seconds(now - *other.asked) < kPatienceS;
    all.push_back({other.world_rank, answers ? other.answer : std::nullopt,
                   processes_.state(other.world_rank) == Processes::State::kStopped});
  }
  return all;
}

}  // namespace understudy::backends
