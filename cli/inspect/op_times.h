#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/pages/document/page.h"
#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/link/link.h"

namespace understudy::cli {

/// How `inspect --by` groups operators into rows.
enum class GroupBy : std::uint8_t {
  kName,
  kClass,   ///< et_schema::op_class()
  kModule,  ///< labels around an operator, or around the operator whose backward it is
  kPhase,   ///< forward, backward, optimizer, data
  kShape    ///< name, and types and shapes of the input tensors
};

/// "name", "class", …
[[nodiscard]] std::string_view to_string(GroupBy by);

/// Operators of one group, or device time that no operator launched, by its label or reason.
struct OpRow {
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t timed = 0;     ///< of these, calls with a recorded time
  std::int64_t self_ns = 0;    ///< host time outside of nested operators and labels
  std::int64_t device_ns = 0;  ///< device time of their own launches
};

/// Operators of one rank, or of all ranks.
struct RankOps {
  GroupBy by = GroupBy::kName;
  std::vector<OpRow> rows = {};  ///< by decreasing time (on the device if any), then calls
  std::optional<std::int64_t> step_ns = {};  ///< unset if no profile provides times
  OpRow total = {};                          ///< sum over the rows; no name
};

/// Groups the operators of a trace, nested ones included. `link` may be null.
[[nodiscard]] RankOps group_operators(const et_schema::Trace& trace, const generator::Link* link,
                                      GroupBy by);

/// Groups the replayed instructions of a program, each with everything below it. `by` must not be
/// kModule or kPhase, which a benchmark does not record.
[[nodiscard]] RankOps group_operators(const et_schema::Program& program, GroupBy by);

/// Returns the sums over all ranks. There must be at least one.
[[nodiscard]] RankOps sum_of(const std::vector<RankOps>& ranks);

/// Adds one sum to an object of a document.
void add_ops(nlohmann::ordered_json& object, const RankOps& ops);
/// Adds each rank's operators to the document's `ranks` and, if there are several ranks, the sums
/// to `all_ranks`.
void add_all_ops(nlohmann::ordered_json& document, const std::vector<RankOps>& ranks);

/// Shows such rows, which are at `at`.
[[nodiscard]] pages::Table ops_table(const nlohmann::ordered_json& document, const std::string& at,
                                     const RankOps& all);
/// Shows the sums, and the time of the steps outside of operators.
[[nodiscard]] pages::Section ops_section(const nlohmann::ordered_json& document,
                                         const std::vector<RankOps>& ranks);

/// Returns an instruction's row in GroupBy::kClass.
[[nodiscard]] std::string class_of(const et_schema::Instruction& instruction);

[[nodiscard]] std::uint64_t tensor_bytes(const et_schema::Tensor& tensor);
/// "float32[64,1024]".
[[nodiscard]] std::string tensor_text(const et_schema::Tensor& tensor);

}  // namespace understudy::cli
