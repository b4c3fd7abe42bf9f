#include "late_call.h"

#include <fmt/format.h>

#include <utility>

namespace understudy::backends {

using et_schema::CommKind;

namespace {

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

[[nodiscard]] std::string got_of(const std::vector<Heard>& heard) {
  std::string text;
  for (const Heard& other : heard) {
    if (other.answer && other.answer->has_started()) {
      continue;
    }
    text += text.empty() ? "" : "; ";
    if (!other.answer) {
      text += fmt::format("rank {} does not answer{}", other.world_rank,
                          other.is_stopped ? ": its process is stopped" : "");
    } else {
      text += fmt::format("rank {} has started {} and {}", other.world_rank, other.answer->started,
                          where_is(*other.answer));
    }
  }
  return text.empty() ? "all have started it: the transfer is slow or stuck" : text;
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

Question question_of(const LateCall& late) {
  if (!et_schema::is_message(late.call.kind)) {
    return {late.index, {.group = late.group.id}};
  }
  const bool is_send = late.call.kind == CommKind::kSend;
  return {late.index,
          {late.group.id, is_send ? CommKind::kRecv : CommKind::kSend, late.group.rank}};
}

std::vector<int> ranks_to_ask(const LateCall& late) {
  if (et_schema::is_message(late.call.kind)) {
    return {late.group.ranks[static_cast<std::size_t>(late.call.root_or_peer)]};
  }
  std::vector<int> others = late.group.ranks;
  std::erase(others, late.world_rank);
  return others;
}

et_schema::Error lost_rank_error(const LateCall& late, int world_rank, Processes::State process) {
  if (process == Processes::State::kEnded) {
    return error_of(
        late, "a rank has died", fmt::format("the process of rank {} has ended", world_rank),
        "what ended it stands in its own output or in the system's log: memory, mostly");
  }
  return error_of(
      late, "a rank is not reached any more",
      fmt::format("the connection to rank {} has ended; its process {}", world_rank,
                  process == Processes::State::kUnknown ? "is on another host" : "is still there"),
      "if the rank has failed, its own output says why; else the network, or a firewall on the "
      "way, has cut the connection");
}

et_schema::Error late_call_error(const LateCall& late, const std::vector<Heard>& heard) {
  return error_of(
      late, fmt::format("a communication did not complete within {} s", late.time_limit_s),
      got_of(heard),
      "a rank that computes for longer than this needs a higher time limit (--timeout); one that "
      "waits in another call runs another program");
}

}  // namespace understudy::backends
