#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/chakra/chakra.h"

namespace understudy::et_schema {

/// What the consumers of Chakra files, mlcommons/chakra's feeder and ASTRA-sim, require of them
/// according to their sources. If a rule is broken, a simulation stalls, aborts or reads a wrong
/// value.
enum class ChakraRule : std::size_t {
  kDuplicateId,          ///< ids are unique: an index holds only the last node of an id
  kMissingParent,        ///< all parents of a node are in the file: else it is never released
  kSelfDependency,       ///< no node depends on itself
  kCycle,                ///< dependencies of both kinds together have no circle
  kNodeType,             ///< the type is one of the schema that simulators issue
  kMissingAttribute,     ///< nodes: is_cpu_op; communication: comm_type, comm_size, comm_dst …
  kAttributeArm,         ///< in the arm that feeders read: they silently read another one as 0
  kAttributeValue,       ///< the value is in its range
  kCommOnCpu,            ///< communication is no CPU operator
  kUnknownGroup,         ///< pg_name is an integer, and a group of the file
  kRankOutsideGroup,     ///< a collective's rank is a member of its group
  kWrongEnd,             ///< a send belongs to the sender, a receive to the receiver
  kUnmatchedCollective,  ///< all members of a group call the same collectives in the same order
  kUnmatchedMessage,     ///< each send has a receive of the same source, destination, tag and size
  kCount
};
inline constexpr std::size_t kChakraRules = static_cast<std::size_t>(ChakraRule::kCount);

struct ChakraRuleInfo {
  std::string_view name;     ///< key in outputs, snake_case
  std::string_view meaning;  ///< one sentence for a user
};
[[nodiscard]] const ChakraRuleInfo& info(ChakraRule rule);

/// One place that breaks a rule.
struct ChakraViolation {
  ChakraRule rule = ChakraRule::kDuplicateId;
  int rank = 0;
  std::optional<std::uint64_t> node;    ///< absent: the file or job as a whole
  std::optional<std::uint64_t> offset;  ///< byte of the node's message
  std::string text;                     ///< expected and got, one sentence
};

/// What a set of files holds.
struct ChakraCounts {
  std::uint64_t nodes = 0;
  std::uint64_t host = 0;    ///< nodes with is_cpu_op
  std::uint64_t device = 0;  ///< nodes without is_cpu_op, except communication
  std::uint64_t data_edges = 0;
  std::uint64_t ctrl_edges = 0;
  std::uint64_t collectives = 0;
  std::uint64_t messages = 0;     ///< sends and receives
  std::uint64_t later_edges = 0;  ///< edges to nodes of a higher id: allowed
  /// Collectives at which ASTRA-sim 2026-03 ends the run: allowed.
  std::uint64_t not_simulated = 0;
};

struct ChakraCheck {
  std::vector<ChakraCounts> ranks;
  std::map<ChakraRule, std::uint64_t> broken;  ///< how often each broken rule is broken
  std::vector<ChakraViolation> violations;     ///< the first ten of each rule
  [[nodiscard]] bool is_accepted() const { return broken.empty(); }
};

/// Checks the files of a job's ranks against the rules. If all members of a group are there, checks
/// their communication against each other. The time is n log n in nodes and edges.
[[nodiscard]] ChakraCheck check_chakra(std::span<const ChakraFile> files);

}  // namespace understudy::et_schema
