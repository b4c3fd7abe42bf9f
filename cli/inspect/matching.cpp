#include "generator/matching/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/pages/document/from_json.h"
#include "documents.h"
#include "et_schema/base/figures.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using matching::JobComms;
using matching::Matching;
using pages::counts, pages::ids, pages::table_at, pages::texts;

/// Returns each group in use, with its messages and collectives. A group's count is that of the
/// rank with most collectives.
Json groups_json(const JobComms& comms) {
  struct Sums {
    std::uint64_t collectives = 0;
    std::uint64_t sends = 0;
    std::uint64_t receives = 0;
  };
  std::map<et_schema::GroupId, Sums> groups;
  for (const matching::RankComms& rank : comms.ranks()) {
    std::map<et_schema::GroupId, std::uint64_t> collectives;
    for (const matching::CommRecord* call : rank.calls) {
      Sums& sums = groups[call->group];
      if (!et_schema::is_message(call->kind)) {
        ++collectives[call->group];
      } else {
        ++(call->kind == et_schema::CommKind::kSend ? sums.sends : sums.receives);
      }
    }
    for (const auto& [group, count] : collectives) {
      groups[group].collectives = std::max(groups[group].collectives, count);
    }
  }
  Json list = Json::array();
  for (const auto& [group, sums] : groups) {
    const bool is_known = group < comms.groups().size();
    list.push_back({{"group", is_known ? comms.groups()[group].name : fmt::format("{}", group)},
                    {"ranks", is_known ? comms.members(group).ranks.size() : 0},
                    {"collectives", sums.collectives},
                    {"sends", sums.sends},
                    {"receives", sums.receives}});
  }
  return list;
}

Json ranks_json(const JobComms& comms, const Matching& found) {
  Json list = Json::array();
  for (std::size_t rank = 0; rank < comms.ranks().size(); ++rank) {
    list.push_back({{"rank", rank}, {"communications", comms.ranks()[rank].calls.size()}});
    if (found.orders.empty()) {
      continue;
    }
    const et_schema::CommOrder& order = found.orders[rank];
    std::size_t in_own_turn = 0;
    for (std::size_t call = 0; call < order.turns.size(); ++call) {
      in_own_turn += static_cast<std::size_t>(order.turns[call] == call);
    }
    list.back()["in_other_turns"] = order.turns.size() - in_own_turn;
    list.back()["kept_apart"] = std::ranges::count(order.kept_apart, true);
  }
  return list;
}

Json mismatches_json(const Matching& found) {
  Json list = Json::array();
  for (const et_schema::Error& error : found.mismatches) {
    const et_schema::ErrorContext& context = error.context();
    Json last_calls = Json::array();
    const std::size_t end = std::min(context.got.find('\n'), context.got.size());
    for (std::size_t at = end; at < context.got.size();) {
      const std::size_t next = std::min(context.got.find('\n', at + 1), context.got.size());
      last_calls.push_back({{"calls", context.got.substr(at + 1, next - at - 1)}});
      at = next;
    }
    list.push_back({{"summary", error.summary()},
                    {"rank", context.rank ? Json(*context.rank) : Json()},
                    {"node", context.node ? Json(*context.node) : Json()},
                    {"field", context.field},
                    {"expected", context.expected},
                    {"got", context.got.substr(0, end)},
                    {"last_calls", std::move(last_calls)}});
  }
  return list;
}

Json waits_json(const JobComms& comms, const Matching& found) {
  Json list = Json::array();
  for (const matching::StuckRank& stuck : found.stuck) {
    const matching::RankComms& rank = comms.ranks()[stuck.rank];
    const matching::CommRecord& call = *rank.calls[stuck.call];
    list.push_back({{"rank", stuck.rank},
                    {"call", stuck.call + 1},
                    {"kind", et_schema::to_string(call.kind)},
                    {"node", rank.nodes[stuck.call]},
                    {"group", comms.groups()[call.group].name},
                    {"waits_for", stuck.waits_for}});
  }
  return list;
}

}  // namespace

pages::Page matching_page(const et_schema::Bench& bench, const std::string& file) {
  if (bench.partial) {
    throw et_schema::usage_error(
        "the ranks of a partial benchmark do not communicate",
        {.file = file,
         .field = "--match",
         .expected = fmt::format("all {} ranks of the job", bench.partial->world_size),
         .got = fmt::format("{}", bench.partial->ranks.size()),
         .hint = "generate makes a benchmark of the traces of all ranks"});
  }
  const JobComms comms(bench.groups, bench.programs);
  std::size_t calls = 0;
  for (const matching::RankComms& rank : comms.ranks()) {
    calls += rank.calls.size();
  }
  const Matching found = matching::match(comms);
  const bool do_match = found.mismatches.empty();
  const Json document = {{"matches", do_match},
                         {"groups", groups_json(comms)},
                         {"ranks", ranks_json(comms, found)},
                         {"mismatches", mismatches_json(found)},
                         {"waits", waits_json(comms, found)}};
  pages::Page page;
  page.title = "Matching of " + file;
  page.verdict.tone = do_match ? pages::Tone::kGood : pages::Tone::kBad;
  page.verdict.sentence =
      do_match ? fmt::format("MATCHES: the {} communications of {} fit each other.",
                             et_schema::with_commas(calls),
                             et_schema::counted(bench.world_size(), "rank"))
               : fmt::format("DOES NOT MATCH: {} {}; {} of {} ranks would wait for ever.",
                             found.mismatches.size(),
                             found.mismatches.size() == 1 ? "mismatch" : "mismatches",
                             found.stuck.size(), bench.world_size());
  page.sections = {
      {"mismatches",
       "What does not match, the first of each group and of each pair of ranks",
       {table_at(document, "/mismatches", "Mismatches",
                 {ids("rank"), ids("node"), texts("field"), texts("expected"), texts("got")}),
        table_at(document, "/mismatches/*/last_calls", "The last calls before each",
                 {ids("rank"), ids("node"), texts("calls")}),
        table_at(document, "/waits", "Who waits for whom",
                 {ids("rank"), ids("call"), ids("node"), ids("for rank", "waits_for"),
                  texts("in", "kind"), texts("group")})}},
      {"groups",
       "Groups and ranks",
       {table_at(document, "/groups", "Groups",
                 {counts("ranks"), counts("collectives"), counts("sends"), counts("receives"),
                  texts("group")}),
        table_at(document, "/ranks", "Ranks",
                 {ids("rank"), counts("communications"), counts("in other turns", "in_other_turns"),
                  counts("sends kept apart", "kept_apart")})}}};
  return made_by("inspect", std::move(page), document, "matching.json");
}

}  // namespace understudy::cli
