#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"
#include "generator/options/options.h"

namespace understudy::generator {

/// The operators to replay, and what was opened on the way.
struct Selected {
  std::vector<et_schema::NodeIndex> operators;  ///< in order of issue
  std::vector<et_schema::NodeIndex>
      owner;                  ///< by node: the whole operator it runs in, kNoNode outside of all
  std::vector<bool> is_open;  ///< by node: its children are replayed, and are no body of it
  std::vector<et_schema::Opened> opened;  ///< by name and reason, in order of first occurrence
  std::vector<std::uint32_t> opened_as;   ///< by node: position in `opened`, of those that are open
  std::uint64_t rounds = 0;               ///< to the fixpoint
  std::vector<et_schema::NodeIndex> filtered;  ///< left out by filters, labels among them
};

/// A label that did work of its own: a C++ or Python autograd function whose kernels no operator
/// shows.
struct WorkingLabel {
  et_schema::NodeIndex label = et_schema::kNoNode;
  et_schema::NodeIndex after =
      et_schema::kNoNode;  ///< the last operator below the label; the label itself for none
  et_schema::NodeIndex forward =
      et_schema::kNoNode;  ///< the operator whose backward it is; kNoNode if unknown
  std::vector<const et_schema::Tensor*> allocated;  ///< what operators below it allocated
};

/// Selects as high as the data flow allows (docs/design.md, "Selection", 1 to 3): the highest
/// operator on memory on every path, opened where a storage lifetime that began inside of it is
/// used outside without being among its inputs or outputs, or where its subtree holds an operator
/// of its own name; repeated to the fixpoint. An opened operator whose result no operator below it
/// computed (mul_ clones its input for the backward pass, and then multiplies by itself) is
/// replayed too, after its children.
[[nodiscard]] Selected select_operators(const et_schema::Trace& trace, const Flow& flow);

/// Narrows a selection, labels that did work among it, by --only, --include, --exclude and
/// --subgraph. What is left out goes to `selected.filtered`. Throws Error (usage): a regular
/// expression that does not parse, a subgraph that no node's name holds.
void apply_filters(const et_schema::Trace& trace, const CommCalls& calls,
                   const GenerateOptions& options, Selected& selected,
                   std::vector<WorkingLabel>& labels);

/// The filters as a report names them, one a line: "--only compute".
[[nodiscard]] std::vector<std::string> describe_filters(const GenerateOptions& options);

}  // namespace understudy::generator
