#include "watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"

namespace understudy::backends {

using et_schema::CommKind;
using et_schema::ProcessState;

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

[[nodiscard]] std::string where_is(const Answer& answer) {
  const std::string doing(answer.doing.data());
  return doing.empty() ? "is in no communication" : fmt::format("waits in {}", doing);
}

[[nodiscard]] std::string expected_of(const LateCall& late) {
  if (!et_schema::is_message(late.call.kind)) {
    return "every rank of the group in this call";
  }
  const bool is_send = late.call.kind == CommKind::kSend;
  return fmt::format("{} {} {} this rank in the group", is_send ? "receive" : "send", late.index,
                     is_send ? "from" : "to");
}

[[nodiscard]] et_schema::Error error_of(const LateCall& late, std::string summary, std::string got,
                                        std::string hint) {
  return et_schema::run_failed(std::move(summary),
                               {.rank = late.world_rank,
                                .field = describe(late.call, late.group, late.index),
                                .expected = expected_of(late),
                                .got = std::move(got),
                                .hint = std::move(hint)});
}

[[nodiscard]] Question question_of(const LateCall& late) {
  if (!et_schema::is_message(late.call.kind)) {
    return {late.index, {.group = late.group.id}};
  }
  const bool is_send = late.call.kind == CommKind::kSend;
  return {late.index,
          {late.group.id, is_send ? CommKind::kRecv : CommKind::kSend, late.group.rank}};
}

[[nodiscard]] std::vector<int> ranks_to_ask(const LateCall& late) {
  if (et_schema::is_message(late.call.kind)) {
    return {late.group.ranks[static_cast<std::size_t>(late.call.root_or_peer)]};
  }
  std::vector<int> others = late.group.ranks;
  std::erase(others, late.world_rank);
  return others;
}

[[nodiscard]] et_schema::Error lost_rank_error(const LateCall& late, int world_rank,
                                               ProcessState process) {
  if (process == ProcessState::kEnded) {
    return error_of(
        late, "a rank has died", fmt::format("the process of rank {} has ended", world_rank),
        "what ended it stands in its own output or in the system's log: memory, mostly");
  }
  return error_of(
      late, "a rank is not reached any more",
      fmt::format("the connection to rank {} has ended; its process {}", world_rank,
                  process == ProcessState::kUnknown ? "is on another host" : "is still there"),
      "if the rank has failed, its own output says why; else the network, or a firewall on the "
      "way, has cut the connection");
}

[[nodiscard]] et_schema::Error late_call_error(const LateCall& late, std::string heard) {
  return error_of(
      late, fmt::format("a communication did not complete within {} s", late.time_limit_s),
      std::move(heard),
      "a rank that computes for longer than this needs a higher time limit (--timeout); one that "
      "waits in another call runs another program");
}

}  // namespace

std::string describe(const Call& call, const Group& group, std::uint64_t index) {
  const std::string_view kind = et_schema::to_string(call.kind);
  const std::string place = fmt::format("call {} of group '{}'", index, group.name);
  if (!et_schema::is_message(call.kind)) {
    return fmt::format("{}, {}", kind, place);
  }
  const bool is_send = call.kind == CommKind::kSend;
  const int peer = group.ranks[static_cast<std::size_t>(call.root_or_peer)];
  return fmt::format("{} {} {} rank {} in group '{}'", kind, index, is_send ? "to" : "from", peer,
                     group.name);
}

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

ProcessState Watch::state(int world_rank) const {
  return processes_.empty()
             ? ProcessState::kUnknown
             : et_schema::state_of(processes_.at(static_cast<std::size_t>(world_rank)));
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
  const ProcessState process = state(other.world_rank);
  if (process != ProcessState::kEnded && !wire_.is_lost(other.world_rank)) {
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

std::string Watch::all_heard(Clock::time_point now) const {
  std::string text;
  for (const Waited& other : waited_) {
    if (other.answer && other.answer->has_started()) {
      continue;
    }
    text += text.empty() ? "" : "; ";
    if (other.answer && (!other.asked || seconds(now - *other.asked) < kPatienceS)) {
      text += fmt::format("rank {} has started {} and {}", other.world_rank, other.answer->started,
                          where_is(*other.answer));
    } else {
      const bool is_stopped = state(other.world_rank) == ProcessState::kStopped;
      text += fmt::format("rank {} does not answer{}", other.world_rank,
                          is_stopped ? ": its process is stopped" : "");
    }
  }
  return text.empty() ? "all have started it: the transfer is slow or stuck" : text;
}

}  // namespace understudy::backends
