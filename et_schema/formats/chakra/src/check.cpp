#include "et_schema/formats/chakra/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "check_parts.h"
#include "et_schema/base/assert.h"
#include "et_schema/base/quote.h"

namespace understudy::et_schema {
namespace {

// In the order of enum ChakraRule.
constexpr std::array<ChakraRuleInfo, kChakraRules> kRules = {{
    {"duplicate_id", "Two nodes of one id; a feeder's index holds the last one alone."},
    {"missing_parent", "A dependency on a node that is not in the file; it is never released."},
    {"self_dependency", "A node that depends on itself; it is never released."},
    {"cycle", "Dependencies that lead in a circle; none of its nodes is ever released."},
    {"node_type", "A type that no simulator issues."},
    {"missing_attribute", "An attribute that consumers read without a default."},
    {"attribute_arm", "A value in another arm than feeders read it from; it reads as 0."},
    {"attribute_value", "A value that is out of its range."},
    {"comm_on_cpu", "Communication marked as a CPU operator; ASTRA-sim ends the run."},
    {"unknown_group",
     "A pg_name that is no integer, or names a group that the file does not list."},
    {"rank_outside_group", "A collective of a group that its rank is no member of."},
    {"wrong_end", "A send of another rank than its file's, or a receive to another one."},
    {"unmatched_collective",
     "Members of a group that do not call the same collectives in the same order."},
    {"unmatched_message", "A send without its receive, or a receive without its send."},
}};

constexpr bool every_rule_is_described() {
  return std::ranges::all_of(kRules, [](const ChakraRuleInfo& rule) {
    return !rule.name.empty() && !rule.meaning.empty();
  });
}
static_assert(every_rule_is_described(), "a ChakraRule has no line in the table");

/// An attribute that feeders read, and the arm that they read.
struct KnownAttribute {
  std::string_view name;
  ChakraArm arm;
};
constexpr std::array kKnown = {KnownAttribute{"is_cpu_op", ChakraArm::kBool},
                               KnownAttribute{"num_ops", ChakraArm::kInt64},
                               KnownAttribute{"tensor_size", ChakraArm::kUint64},
                               KnownAttribute{"comm_type", ChakraArm::kInt64},
                               KnownAttribute{"comm_size", ChakraArm::kInt64},
                               KnownAttribute{"comm_src", ChakraArm::kInt32},
                               KnownAttribute{"comm_dst", ChakraArm::kInt32},
                               KnownAttribute{"comm_tag", ChakraArm::kInt32},
                               KnownAttribute{"comm_priority", ChakraArm::kInt32},
                               KnownAttribute{"pg_name", ChakraArm::kString},
                               KnownAttribute{"involved_dim", ChakraArm::kBoolList}};

/// Returns the attributes that this kind of communication must have.
std::span<const std::string_view> required_of(ChakraNodeType type) {
  static constexpr std::array<std::string_view, 2> kCollective = {"comm_type", "comm_size"};
  static constexpr std::array<std::string_view, 3> kSend = {"comm_dst", "comm_size", "comm_tag"};
  static constexpr std::array<std::string_view, 3> kRecv = {"comm_src", "comm_size", "comm_tag"};
  switch (type) {
    case ChakraNodeType::kCollective:
      return kCollective;
    case ChakraNodeType::kSend:
      return kSend;
    case ChakraNodeType::kRecv:
      return kRecv;
    default:
      return {};
  }
}

bool is_simulated(std::int64_t collective) {
  switch (static_cast<ChakraCollective>(collective)) {
    case ChakraCollective::kAllReduce:
    case ChakraCollective::kAllGather:
    case ChakraCollective::kReduceScatter:
    case ChakraCollective::kAllToAll:
    case ChakraCollective::kBroadcast:
      return true;
    default:
      return false;
  }
}

class AttributeCheck {
 public:
  AttributeCheck(const ChakraFile& file, ChakraCounts& counts, ChakraFindings& findings)
      : file_(file), counts_(counts), findings_(findings) {}

  void check(const ChakraNode& node) {
    check_type(node);
    check_arms(node);
    if (node.find("is_cpu_op") == nullptr) {
      findings_.add(ChakraRule::kMissingAttribute, file_, node, "has no is_cpu_op");
    }
    const bool is_cpu = node.integer("is_cpu_op").value_or(0) != 0;
    if (is_communication(node)) {
      if (is_cpu) {
        findings_.add(ChakraRule::kCommOnCpu, file_, node,
                      fmt::format("is a {} with is_cpu_op true", to_string(node.type)));
      }
      check_communication(node);
    }
    counts_.host += is_cpu ? 1U : 0U;
    counts_.device += !is_cpu && !is_communication(node) ? 1U : 0U;
  }

 private:
  void check_type(const ChakraNode& node) {
    if (node.type == ChakraNodeType::kInvalid || static_cast<int>(node.type) >= kChakraNodeTypes) {
      findings_.add(ChakraRule::kNodeType, file_, node,
                    fmt::format("has type {}", static_cast<int>(node.type)));
    }
  }

  void check_arms(const ChakraNode& node) {
    for (const KnownAttribute& known : kKnown) {
      const ChakraAttribute* attribute = node.find(known.name);
      if (attribute != nullptr && attribute->arm != known.arm) {
        findings_.add(ChakraRule::kAttributeArm, file_, node,
                      fmt::format("has {} as {}, feeders read {}", known.name,
                                  to_string(attribute->arm), to_string(known.arm)));
      }
    }
  }

  void check_communication(const ChakraNode& node) {
    const bool is_collective = node.type == ChakraNodeType::kCollective;
    ++(is_collective ? counts_.collectives : counts_.messages);
    for (const std::string_view name : required_of(node.type)) {
      if (node.find(name) == nullptr) {
        findings_.add(ChakraRule::kMissingAttribute, file_, node,
                      fmt::format("is a {} without {}", to_string(node.type), name));
      }
    }
    refuse_outside(node, "comm_size", std::int64_t{1} << 62U);
    if (is_collective) {
      refuse_outside(node, "comm_type", kChakraCollectives - 1);
      counts_.not_simulated += is_simulated(node.integer("comm_type").value_or(0)) ? 0U : 1U;
    }
  }

  void refuse_outside(const ChakraNode& node, std::string_view name, std::int64_t most) {
    const std::optional<std::int64_t> value = node.integer(name);
    if (value && (*value < 0 || *value > most)) {
      findings_.add(ChakraRule::kAttributeValue, file_, node,
                    fmt::format("has {} {}, expected 0 to {}", name, *value, most));
    }
  }

  const ChakraFile& file_;
  ChakraCounts& counts_;
  ChakraFindings& findings_;
};

}  // namespace

const ChakraRuleInfo& info(ChakraRule rule) {
  const auto index = static_cast<std::size_t>(rule);
  UNDERSTUDY_ASSERT(index < kChakraRules);
  return kRules[index];
}

bool is_communication(const ChakraNode& node) {
  return node.type == ChakraNodeType::kSend || node.type == ChakraNodeType::kRecv ||
         node.type == ChakraNodeType::kCollective;
}

void ChakraFindings::add(ChakraRule rule, const ChakraFile& file, const ChakraNode& node,
                         std::string text) {
  add({rule, file.rank, node.id, node.offset, quote(node.name) + " " + std::move(text)});
}

void ChakraFindings::add(ChakraRule rule, int rank, std::string text) {
  add({rule, rank, {}, {}, std::move(text)});
}

void ChakraFindings::add(ChakraViolation violation) {
  constexpr std::uint64_t kMostListed = 10;
  if (++check_.broken[violation.rule] <= kMostListed) {
    check_.violations.push_back(std::move(violation));
  }
}

ChakraCheck check_chakra(std::span<const ChakraFile> files) {
  ChakraCheck check;
  ChakraFindings findings(check);
  for (const ChakraFile& file : files) {
    ChakraCounts& counts = check.ranks.emplace_back();
    counts.nodes = file.nodes.size();
    AttributeCheck attributes(file, counts, findings);
    for (const ChakraNode& node : file.nodes) {
      attributes.check(node);
    }
    check_edges(file, counts, findings);
  }
  check_comms(files, findings);
  std::ranges::stable_sort(check.violations, {}, &ChakraViolation::rule);
  return check;
}

}  // namespace understudy::et_schema
