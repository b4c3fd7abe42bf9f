#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"
#include "generator/link/link.h"
#include "generator/options/options.h"

namespace understudy::generator {

/// The operators to replay, and the operators that were opened to find them.
struct Selected {
  std::vector<et_schema::NodeIndex> operators;  ///< in order of issue
  std::vector<et_schema::NodeIndex>
      owner;  ///< by node: the selected operator in which it runs, kNoNode outside of all operators
  std::vector<bool> is_open;  ///< by node: its children are replayed instead of forming its body
  std::vector<et_schema::Opened> opened;       ///< by name and reason, in order of first occurrence
  std::vector<std::uint32_t> opened_as;        ///< by node: index in `opened` if the node is open
  std::uint64_t rounds = 0;                    ///< number of rounds until nothing more was opened
  std::vector<et_schema::NodeIndex> filtered;  ///< nodes that filters exclude, including labels
};

/// A label that did work which no operator below it shows: a C++ or Python autograd function, or a
/// compiled graph.
struct WorkingLabel {
  et_schema::NodeIndex label = et_schema::kNoNode;
  et_schema::NodeIndex after =
      et_schema::kNoNode;  ///< the last operator below the label; the label itself if there is none
  et_schema::NodeIndex forward =
      et_schema::kNoNode;  ///< the operator whose backward the label is; kNoNode if unknown
  std::vector<const et_schema::Tensor*> allocated;  ///< tensors that operators below it allocated
};

/// Selects operators as high as the data flow allows (docs/design.md, "Selection", 1 to 3): on
/// every path, the highest operator that accesses memory. An operator is opened if other operators
/// use a storage that was made inside but is not among its inputs or outputs, or if its subtree
/// holds an operator with the same schema. It is also opened if a replay cannot call it as a whole:
/// communication below it, wrappers, complex numbers, attention that avoided fused kernels. This
/// repeats until nothing is opened. An opened operator is also replayed itself, after its children,
/// if no operator below it computed its result (mul_ clones its input for the backward pass, and
/// then multiplies in place).
[[nodiscard]] Selected select_operators(const et_schema::Trace& trace, const Flow& flow);

/// Applies --only, --exclude and --subgraph to a selection, including its labels that
/// did work. Adds excluded nodes to `selected.filtered`. Throws Error (usage): an invalid regular
/// expression, a subgraph that no node's name contains.
void apply_filters(const et_schema::Trace& trace, const CommCalls& calls,
                   const GenerateOptions& options, Selected& selected,
                   std::vector<WorkingLabel>& labels);

/// Returns the filters as a report names them, one per entry: "--only compute".
[[nodiscard]] std::vector<std::string> describe_filters(const GenerateOptions& options);

struct LabelsFound {
  std::vector<WorkingLabel> working;
  std::uint64_t handed_on = 0;  ///< functions whose backward only passes its gradient on
};

/// Finds labels that did work which no operator shows (docs/design.md, "Selection", 6 and 7):
/// labels of the backward pass that receive a gradient and have only allocations below them, and
/// compiled graphs whose kernels have no nodes. PyTorch's own autograd nodes (names that end in a
/// number, AccumulateGrad) are no such labels: without operators they only pass a gradient on. If
/// `link` is null, times cannot show which functions only pass a gradient on, and all count as
/// work.
[[nodiscard]] LabelsFound find_labels(const et_schema::Trace& trace, const Flow& flow, IdRange step,
                                      const Selected& selected, const Link* link);

}  // namespace understudy::generator
