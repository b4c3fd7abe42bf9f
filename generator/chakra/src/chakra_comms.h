#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/chakra/chakra.h"
#include "et_schema/model/program.h"

namespace understudy::generator {

/// Returns the arguments of record_param_comms as PyTorch 2.4 and later record them: tensors,
/// sequence number, group (named by its number), root or peer, name, splits, size of the group.
[[nodiscard]] std::vector<et_schema::Argument> recorded_arguments(
    const et_schema::Instruction& instruction, const et_schema::Bench& bench);
[[nodiscard]] std::vector<et_schema::Argument> recorded_results(
    const et_schema::Instruction& instruction);

/// The facts about one communication that simulators need.
struct ChakraComm {
  et_schema::ChakraNodeType type = et_schema::ChakraNodeType::kCollective;
  et_schema::ChakraCollective collective = et_schema::ChakraCollective::kBarrier;
  /// Bytes of this rank's inputs; for a receive or scatter, bytes that the rank receives.
  std::int64_t bytes = 0;
  std::int32_t source = 0;
  std::int32_t destination = 0;
  std::int32_t tag = 0;
};

/// The communications of one rank, in order. Counts messages so that both ends use the same tag.
class ChakraCommTable {
 public:
  ChakraCommTable(const et_schema::Bench& bench, int rank) : bench_(bench), rank_(rank) {}
  [[nodiscard]] ChakraComm next(const et_schema::Instruction& instruction,
                                const et_schema::Program& program);

 private:
  const et_schema::Bench& bench_;
  int rank_;
  /// Number of messages so far, by source, destination and group.
  std::map<std::tuple<std::int64_t, std::int64_t, et_schema::GroupId>, std::int32_t> sent_;
};

/// Returns the global ranks of a group.
[[nodiscard]] std::vector<std::int64_t> ranks_of(const et_schema::Bench& bench,
                                                 et_schema::GroupId group);
/// [{"pg_name":"0",…}]: the text of PyTorch's process_group:init node.
[[nodiscard]] std::string process_groups_json(const et_schema::Bench& bench);
/// {"1":[0,1]}: ASTRA-sim's configuration of groups. Group 0 is its default.
[[nodiscard]] std::string comm_groups_json(const et_schema::Bench& bench);

}  // namespace understudy::generator
