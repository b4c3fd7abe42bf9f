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

/// What `inspect --ops` puts into one row.
enum class GroupBy : std::uint8_t {
  kName,
  kClass,   ///< et_schema::op_class()
  kModule,  ///< labels of the program around an operator, or around the one whose backward it is
  kPhase,   ///< forward, backward, optimizer, data
  kShape    ///< name, and types and shapes of the tensors that it takes
};

/// "name", "class", …
[[nodiscard]] std::string_view to_string(GroupBy by);

/// Operators of one group; or device time that no operator launched, by its label or its reason.
struct OpRow {
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t timed = 0;     ///< of these, calls with a recorded time
  std::int64_t self_ns = 0;    ///< on the host, in no operator or label below
  std::int64_t device_ns = 0;  ///< of what they launched themselves
};

/// One rank's operators, or all ranks'.
struct RankOps {
  GroupBy by = GroupBy::kName;
  std::vector<OpRow> rows = {};  ///< by falling time (the device's where there is any), calls
  std::optional<std::int64_t> step_ns = {};  ///< absent: no profile gives times
  OpRow total = {};                          ///< over the rows; no name
};

/// The operators of a trace that inspect counts, nested ones too; `link` may be null.
[[nodiscard]] RankOps group_operators(const et_schema::Trace& trace, const generator::Link* link,
                                      GroupBy by);

/// The instructions of a benchmark's program: what replays, each with all below it. `by` is
/// neither kModule nor kPhase, of which a benchmark holds nothing.
[[nodiscard]] RankOps group_operators(const et_schema::Program& program, GroupBy by);

/// Calls and times of all ranks. At least one.
[[nodiscard]] RankOps sum_of(const std::vector<RankOps>& ranks);

/// Into each of the document's `ranks` its operators, and, of several, into `all_ranks` the sums.
void add_all_ops(nlohmann::ordered_json& document, const std::vector<RankOps>& ranks);

/// The sums, and what of the steps was in no operator.
[[nodiscard]] pages::Section ops_section(const nlohmann::ordered_json& document,
                                         const std::vector<RankOps>& ranks);

/// "float32[64,1024]".
[[nodiscard]] std::string tensor_text(const et_schema::Tensor& tensor);

}  // namespace understudy::cli
