#include "subgraph.h"

#include <string_view>

#include "et_schema/support/error.h"
#include "generator/flow/autograd.h"
#include "generator/flow/below.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

void mark_named(const Trace& trace, const std::string& text, std::vector<bool>& inside) {
  bool found = false;
  for (NodeIndex node = 0; node < trace.nodes.size(); ++node) {
    const NodeIndex parent = trace.nodes[node].parent;
    const bool named = trace.nodes[node].name.find(text) != std::string_view::npos;
    found = found || named;
    inside[node] = inside[node] || named || (parent != kNoNode && inside[parent]);
  }
  if (!found) {
    throw et_schema::usage_error("no node has such a name",
                                 {.file = trace.file,
                                  .rank = trace.rank,
                                  .field = "--subgraph",
                                  .expected = "a part of a node's name",
                                  .got = text,
                                  .hint = "inspect --tree TRACE shows the names"});
  }
}

void mark_tree(const Trace& trace, NodeIndex root, std::vector<bool>& inside) {
  inside[root] = true;
  walk_below(trace, root, [&inside](NodeIndex node) {
    inside[node] = true;
    return Walk::kInto;
  });
}

/// Takes labels whose `cause` is inside. A backward pass can have its own backward pass
/// (create_graph), so this repeats until nothing is new.
void mark_caused(const Trace& trace, const std::vector<NodeIndex>& causes,
                 std::vector<bool>& inside) {
  bool is_new = true;
  while (is_new) {
    is_new = false;
    for (NodeIndex node = 0; node < trace.nodes.size(); ++node) {
      if (causes[node] != kNoNode && inside[causes[node]] && !inside[node]) {
        mark_tree(trace, evaluation_of(trace, node), inside);
        is_new = true;
      }
    }
  }
}

}  // namespace

std::vector<bool> find_subgraph(const Trace& trace, const std::vector<std::string>& texts,
                                bool with_backward) {
  std::vector<bool> inside(trace.nodes.size());
  for (const std::string& text : texts) {
    mark_named(trace, text, inside);
  }
  if (with_backward && !texts.empty()) {
    mark_caused(trace, find_forwards(trace), inside);
    mark_caused(trace, find_gradient_producers(trace), inside);
  }
  return inside;
}

}  // namespace understudy::generator
