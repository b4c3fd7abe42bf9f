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

/// Requirements of the programs that read Chakra files, mlcommons/chakra's feeder and ASTRA-sim,
/// according to their source code. If a rule is broken, a simulation stalls, aborts or reads a
/// wrong value.
enum class ChakraRule : std::size_t {
  kDuplicateId,       ///< ids are unique; feeders index only the last node of an id
  kMissingParent,     ///< all parents of a node are in the file; otherwise the node is never issued
  kSelfDependency,    ///< no node depends on itself
  kCycle,             ///< dependencies of both kinds together have no cycle
  kNodeType,          ///< simulators can issue nodes of this type
  kMissingAttribute,  ///< required: is_cpu_op; for communication comm_type, comm_size, comm_dst …
  kAttributeArm,      ///< the value is in the arm that feeders read; they silently read others as 0
  kAttributeValue,    ///< the value is in its range
  kCommOnCpu,         ///< communication is not a CPU operator
  kUnknownGroup,      ///< pg_name is an integer and names a group of the file
  kRankOutsideGroup,  ///< a collective's rank is a member of its group
  kWrongEnd,          ///< a send belongs to the sender, a receive to the receiver
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
  std::optional<std::uint64_t> node;    ///< unset: the whole file or job
  std::optional<std::uint64_t> offset;  ///< byte of the node's message
  std::string text;                     ///< expected and got, one sentence
};

/// Counts of nodes and edges in a file.
struct ChakraCounts {
  std::uint64_t nodes = 0;
  std::uint64_t host = 0;    ///< nodes with is_cpu_op
  std::uint64_t device = 0;  ///< nodes without is_cpu_op, except communication
  std::uint64_t data_edges = 0;
  std::uint64_t ctrl_edges = 0;
  std::uint64_t collectives = 0;
  std::uint64_t messages = 0;     ///< sends and receives
  std::uint64_t later_edges = 0;  ///< edges to nodes of a higher id: allowed
  /// Collectives that abort ASTRA-sim 2026-03: allowed.
  std::uint64_t not_simulated = 0;
};

struct ChakraCheck {
  std::vector<ChakraCounts> ranks;
  std::map<ChakraRule, std::uint64_t> broken;  ///< number of violations of each broken rule
  std::vector<ChakraViolation> violations;     ///< the first ten of each rule
  [[nodiscard]] bool is_accepted() const { return broken.empty(); }
};

/// Checks the files of a job's ranks against the rules. If all members of a group are present,
/// matches their communication. Takes O(n log n) time in nodes and edges.
[[nodiscard]] ChakraCheck check_chakra(std::span<const ChakraFile> files);

}  // namespace understudy::et_schema
