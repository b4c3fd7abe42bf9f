#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "check_parts.h"
#include "et_schema/base/quote.h"

namespace understudy::et_schema {
namespace {

using Ranks = std::vector<std::int64_t>;

/// Reads an integer as std::stoi does, which ASTRA-sim calls.
std::optional<std::int64_t> as_integer(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

/// Returns the groups in a METADATA node. ASTRA-sim removes "['" and "']" from the node's values
/// and parses the rest as JSON.
std::map<std::int64_t, Ranks> groups_of(const ChakraFile& file, ChakraFindings& findings) {
  constexpr std::size_t kBrackets = 2;
  std::map<std::int64_t, Ranks> groups;
  for (const ChakraNode& node : file.nodes) {
    const std::string_view text = node.inputs.values;
    if (node.type != ChakraNodeType::kMetadata || text.size() <= 2 * kBrackets) {
      continue;
    }
    const nlohmann::json list =
        nlohmann::json::parse(text.substr(kBrackets, text.size() - 2 * kBrackets), nullptr, false);
    if (!list.is_array()) {
      findings.add(ChakraRule::kUnknownGroup, file, node, "lists process groups that are no JSON");
      continue;
    }
    for (const nlohmann::json& entry : list) {
      const auto name = entry.find("pg_name");
      const auto ranks = entry.find("ranks");
      const bool is_group = entry.is_object() && name != entry.end() && name->is_string() &&
                            ranks != entry.end() && ranks->is_array() &&
                            std::ranges::all_of(*ranks, [](const nlohmann::json& rank) {
                              return rank.is_number_integer();
                            });
      const auto id = is_group ? as_integer(name->get<std::string>()) : std::nullopt;
      if (!id) {
        findings.add(ChakraRule::kUnknownGroup, file, node,
                     "lists a process group whose pg_name is no integer, or that has no ranks");
        continue;
      }
      groups[*id] = ranks->get<Ranks>();
    }
  }
  return groups;
}

struct Call {
  const ChakraFile* file = nullptr;
  const ChakraNode* node = nullptr;
};

bool needs_equal_sizes(std::int64_t collective) {
  return collective == static_cast<std::int64_t>(ChakraCollective::kAllReduce) ||
         collective == static_cast<std::int64_t>(ChakraCollective::kBroadcast);
}

std::string text_of(const ChakraNode& node) {
  const std::int64_t type = node.integer("comm_type").value_or(-1);
  return fmt::format("{} of {} bytes",
                     type >= 0 && type < kChakraCollectives
                         ? to_string(static_cast<ChakraCollective>(type))
                         : std::string_view("no collective"),
                     node.integer("comm_size").value_or(0));
}

class CommCheck {
 public:
  CommCheck(std::span<const ChakraFile> files, ChakraFindings& findings)
      : files_(files), findings_(findings) {
    for (const ChakraFile& file : files) {
      by_rank_[file.rank] = &file;
    }
  }

  void check() {
    for (const ChakraFile& file : files_) {
      collect(file, groups_of(file, findings_));
    }
    for (auto& [group, calls] : collectives_) {
      match_collectives(group, calls);
    }
    match_messages();
  }

 private:
  /// Id and ranks. An empty pg_name, or "0", is the default group of all ranks.
  using GroupKey = std::pair<std::int64_t, Ranks>;

  void collect(const ChakraFile& file, const std::map<std::int64_t, Ranks>& groups) {
    std::vector<const ChakraNode*> in_order;
    for (const ChakraNode& node : file.nodes) {
      if (is_communication(node)) {
        in_order.push_back(&node);
      }
    }
    std::ranges::stable_sort(in_order, {}, [](const ChakraNode* node) { return node->id; });
    for (const ChakraNode* node : in_order) {
      if (node->type != ChakraNodeType::kCollective) {
        add_message(file, *node);
      } else if (node->find("comm_type") != nullptr) {
        add_collective(file, *node, groups);
      }
    }
  }

  void add_collective(const ChakraFile& file, const ChakraNode& node,
                      const std::map<std::int64_t, Ranks>& groups) {
    const std::string_view name = node.text("pg_name");
    GroupKey key{0, all_ranks()};
    if (!name.empty() && name != "0") {
      const std::optional<std::int64_t> id = as_integer(name);
      const auto found = id ? groups.find(*id) : groups.end();
      if (found == groups.end()) {
        findings_.add(ChakraRule::kUnknownGroup, file, node,
                      fmt::format("has pg_name \"{}\", which {}", quote(name),
                                  id ? "no METADATA node lists" : "is no integer"));
        return;
      }
      key = {*id, found->second.empty() ? all_ranks() : found->second};
    }
    if (std::ranges::find(key.second, file.rank) == key.second.end()) {
      findings_.add(
          ChakraRule::kRankOutsideGroup, file, node,
          fmt::format("is of group {}, whose ranks are {}", key.first, fmt::join(key.second, " ")));
      return;
    }
    collectives_[key][file.rank].push_back({&file, &node});
  }

  [[nodiscard]] Ranks all_ranks() const {
    Ranks ranks;
    for (const auto& [rank, file] : by_rank_) {
      ranks.push_back(rank);
    }
    return ranks;
  }

  void match_collectives(const GroupKey& group, std::map<std::int64_t, std::vector<Call>>& calls) {
    const auto& [id, ranks] = group;
    if (!std::ranges::all_of(ranks,
                             [this](std::int64_t rank) { return by_rank_.contains(rank); })) {
      return;
    }
    const std::vector<Call>& first = calls[ranks.front()];
    for (const std::int64_t rank : ranks) {
      const std::vector<Call>& other = calls[rank];
      for (std::size_t i = 0; i < std::min(first.size(), other.size()); ++i) {
        if (!fits(*first[i].node, *other[i].node)) {
          findings_.add(
              ChakraRule::kUnmatchedCollective, *other[i].file, *other[i].node,
              fmt::format("is {}, collective {} of group {}, where rank {} has {} (node {})",
                          text_of(*other[i].node), i, id, ranks.front(), text_of(*first[i].node),
                          first[i].node->id));
        }
      }
      if (first.size() != other.size()) {
        findings_.add(ChakraRule::kUnmatchedCollective, static_cast<int>(rank),
                      fmt::format("{} collectives of group {}, where rank {} has {}", other.size(),
                                  id, ranks.front(), first.size()));
      }
    }
  }

  static bool fits(const ChakraNode& a, const ChakraNode& b) {
    const std::int64_t type = a.integer("comm_type").value_or(-1);
    return type == b.integer("comm_type").value_or(-1) &&
           (!needs_equal_sizes(type) || a.integer("comm_size") == b.integer("comm_size"));
  }

  /// Source, destination and tag.
  using Route = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  struct Ends {
    std::vector<Call> sends;
    std::vector<Call> recvs;
  };

  void add_message(const ChakraFile& file, const ChakraNode& node) {
    const bool is_send = node.type == ChakraNodeType::kSend;
    const std::int64_t source = node.integer("comm_src").value_or(file.rank);
    const std::int64_t destination = node.integer("comm_dst").value_or(file.rank);
    if ((is_send ? source : destination) != file.rank) {
      findings_.add(ChakraRule::kWrongEnd, file, node,
                    fmt::format("goes from rank {} to rank {}, in the file of rank {}", source,
                                destination, file.rank));
      return;
    }
    Ends& ends = messages_[{source, destination, node.integer("comm_tag").value_or(0)}];
    (is_send ? ends.sends : ends.recvs).push_back({&file, &node});
  }

  void match_messages() {
    for (const auto& [route, ends] : messages_) {
      const auto& [source, destination, tag] = route;
      if (!by_rank_.contains(source) || !by_rank_.contains(destination)) {
        continue;
      }
      for (std::size_t i = 0; i < std::max(ends.sends.size(), ends.recvs.size()); ++i) {
        if (i >= ends.sends.size() || i >= ends.recvs.size()) {
          const Call& alone = i < ends.sends.size() ? ends.sends[i] : ends.recvs[i];
          findings_.add(ChakraRule::kUnmatchedMessage, *alone.file, *alone.node,
                        fmt::format("from rank {} to rank {} with tag {} has no other end", source,
                                    destination, tag));
        } else if (ends.sends[i].node->integer("comm_size") !=
                   ends.recvs[i].node->integer("comm_size")) {
          findings_.add(ChakraRule::kUnmatchedMessage, *ends.recvs[i].file, *ends.recvs[i].node,
                        fmt::format("takes {} bytes from rank {} with tag {}, which sends {}",
                                    ends.recvs[i].node->integer("comm_size").value_or(0), source,
                                    tag, ends.sends[i].node->integer("comm_size").value_or(0)));
        }
      }
    }
  }

  std::span<const ChakraFile> files_;
  ChakraFindings& findings_;
  std::map<std::int64_t, const ChakraFile*> by_rank_;
  std::map<GroupKey, std::map<std::int64_t, std::vector<Call>>> collectives_;
  std::map<Route, Ends> messages_;
};

}  // namespace

void check_comms(std::span<const ChakraFile> files, ChakraFindings& findings) {
  CommCheck(files, findings).check();
}

}  // namespace understudy::et_schema
