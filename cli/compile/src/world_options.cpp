#include "cli/compile/world_options.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/pages/document/from_json.h"

namespace understudy::cli {

void add_world_options(CommandLine& line, generator::WorldSize& size) {
  constexpr int kMostRanks = 100'000;
  line.add_number("--world-size N", size.ranks, 1, kMostRanks,
                  "The job on N ranks, each with the recorded batch: groups that divide the batch "
                  "grow or shrink, tensor- and pipeline-parallel ones keep their size");
  line.add_list(
      "--group NAME=KIND",
      [&size](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
          generator::add_group_kind(text, size.kinds);
        }
        return std::string();
      },
      "What the ranks of a process group divide, where that is guessed wrong: data, sharded "
      "(parameters too: FSDP, ZeRO), expert, tensor or pipeline");
}

void check_world_options(const generator::WorldSize& size) {
  refuse_if(!size.kinds.empty() && !is_given(size),
            "a group's kind decides what another number of ranks changes", "--group",
            "--world-size beside it", "no --world-size");
}

nlohmann::ordered_json scaled_json(const et_schema::ScaledJob& scaled) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const et_schema::ScaledGroup& group : scaled.groups) {
    groups.push_back(
        {{"name", group.name},
         {"description", group.description},
         {"kind", group.kind},
         {"why", group.why},
         {"rule", group.rule},
         {"ranks", {group.ranks_before, group.ranks_after}},
         {"calls", group.calls},
         {"sent_bytes", {group.sent_bytes_before, group.sent_bytes_after}},
         {"received_bytes", {group.received_bytes_before, group.received_bytes_after}}});
  }
  return {{"world_size", {scaled.world_size, scaled.ranks.size()}},
          {"ranks", scaled.ranks},
          {"groups", std::move(groups)}};
}

pages::Section scaled_section(const nlohmann::ordered_json& document,
                              const et_schema::ScaledJob& scaled) {
  using pages::counts, pages::texts;
  pages::Section section{
      "scaled",
      fmt::format("{} ranks became {}", scaled.world_size, scaled.ranks.size()),
      {pages::table_at(document, "/scaled/groups",
                       "Process groups; bytes of the first rank that has them",
                       {texts("group", "name"), texts("kind"), texts("because", "why"),
                        counts("ranks", "ranks/0"), counts("now", "ranks/1"), counts("calls"),
                        counts("bytes sent", "sent_bytes/0"), counts("now", "sent_bytes/1"),
                        counts("received", "received_bytes/0"), counts("now", "received_bytes/1"),
                        texts("rule")})}};
  if (scaled.groups.empty()) {
    section.blocks = {
        pages::Notes{{"No rank communicates: they run side by side. What data-parallel ranks would "
                      "sum is not in the traces."}}};
  }
  return section;
}

}  // namespace understudy::cli
