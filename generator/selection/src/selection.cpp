#include "generator/selection/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <regex>

#include "et_schema/base/error.h"
#include "et_schema/base/regular_expression.h"
#include "generator/flow/autograd.h"
#include "generator/flow/below.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

constexpr const char* kSavedInside = "a tensor made inside of it is used outside";
constexpr const char* kRedispatched = "it holds an operator of the same schema";
constexpr const char* kCasts = "autocast casts inside of it";
constexpr const char* kUntold = "it takes a complex number, which the trace does not hold";
constexpr const char* kChosen = "it chose by what a replay does not know, as who wants gradients";
constexpr const char* kCommunicates = "it communicates, which a replay does itself";
constexpr const char* kWrapped = "it works on wrappers, without memory";

class Selector {
 public:
  Selector(const Trace& trace, const Flow& flow) : trace_(trace), flow_(flow) {
    selected_.is_open.resize(trace.nodes.size());
    selected_.opened_as.resize(trace.nodes.size());
    const std::vector<bool> communicates = find_communicating();
    const std::vector<bool> casts = find_casting();
    for (NodeIndex node = 0; node < trace.nodes.size(); ++node) {
      if (flow.is_wrapped[node]) {
        open(node, kWrapped);
      } else if (communicates[node]) {
        open(node, kCommunicates);
      } else if (flow.is_operator[node] && takes_complex_number(trace.nodes[node])) {
        open(node, kUntold);
      } else if (casts[node]) {
        open(node, kCasts);
      }
    }
  }

  Selected select() {
    do {
      ++selected_.rounds;
      walk();
    } while (open_some());
    return std::move(selected_);
  }

 private:
  /// Returns, by node, whether communication is below it. Such an operator cannot be called as a
  /// whole, since a replay does not have the process groups that it names.
  [[nodiscard]] std::vector<bool> find_communicating() const {
    std::vector<bool> is_above(trace_.nodes.size());
    std::vector<bool> communicates(trace_.nodes.size());
    for (auto node = static_cast<NodeIndex>(trace_.nodes.size()); node-- > 0;) {
      communicates[node] =
          is_above[node] && flow_.is_operator[node] && !flow_.is_communication[node];
      const NodeIndex parent = trace_.nodes[node].parent;
      if (parent != kNoNode && (flow_.is_communication[node] || is_above[node])) {
        is_above[parent] = true;
      }
    }
    return communicates;
  }

  /// Returns, by node, whether it is an operator in which autocast casts another one's arguments:
  /// it calls that operator again with them. A replay has no autocast, so the whole would compute
  /// in other types.
  [[nodiscard]] std::vector<bool> find_casting() const {
    std::vector<bool> is_cast(trace_.nodes.size());
    std::vector<bool> is_above(trace_.nodes.size());
    for (auto node = static_cast<NodeIndex>(trace_.nodes.size()); node-- > 0;) {
      const NodeIndex parent = trace_.nodes[node].parent;
      if (parent != kNoNode) {
        is_cast[parent] = is_cast[parent] || is_cast_call(trace_.nodes[parent], trace_.nodes[node]);
        is_above[parent] = is_above[parent] || is_above[node] || is_cast[node];
      }
      is_above[node] = is_above[node] && flow_.is_operator[node] && !flow_.is_communication[node];
    }
    return is_above;
  }

  /// Returns true if `inner` is the same call with arguments of other types, or with a type that
  /// the caller left out (softmax).
  [[nodiscard]] static bool is_cast_call(const et_schema::Node& outer,
                                         const et_schema::Node& inner) {
    return !outer.op_schema.empty() && outer.op_schema == inner.op_schema &&
           types_of(outer) != types_of(inner);
  }

  [[nodiscard]] static std::vector<int> types_of(const et_schema::Node& node) {
    std::vector<int> types;
    for (const et_schema::Value& value : node.inputs) {
      types.push_back(static_cast<int>(value.kind()));
    }
    et_schema::for_each_tensor(node.inputs, [&types](const et_schema::Tensor& tensor) {
      types.push_back(static_cast<int>(tensor.dtype));
    });
    return types;
  }

  /// Selects the highest operators that are not open. Parents precede their children; an open
  /// operator that computes by itself follows them.
  void walk() {
    selected_.operators.clear();
    selected_.owner.assign(trace_.nodes.size(), kNoNode);
    std::vector<NodeIndex> waiting;
    for (NodeIndex node = 0; node < trace_.nodes.size(); ++node) {
      const NodeIndex parent = trace_.nodes[node].parent;
      if (parent != kNoNode && selected_.owner[parent] != kNoNode && owns_children(parent)) {
        selected_.owner[node] = selected_.owner[parent];
      } else if (flow_.is_operator[node] && !selected_.is_open[node]) {
        selected_.owner[node] = node;
        selected_.operators.push_back(node);
      } else if (flow_.is_operator[node] && computes_by_itself(node)) {
        selected_.owner[node] = node;
        waiting.push_back(node);
      }
      release(waiting, node);
    }
  }

  /// Returns true if the node includes its children. A communication does not: asynchronous Gloo
  /// work leaves unrelated calls below it.
  [[nodiscard]] bool owns_children(NodeIndex node) const {
    return !selected_.is_open[node] && !flow_.is_communication[node];
  }

  /// Selects the operators in `waiting` whose last descendant is `node`, inner ones first.
  void release(std::vector<NodeIndex>& waiting, NodeIndex node) {
    for (std::size_t i = waiting.size(); i-- > 0;) {
      if (trace_.nodes[waiting[i]].last_descendant == node) {
        selected_.operators.push_back(waiting[i]);
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  /// Returns true if the node receives a complex number as a Scalar, which the trace does not hold.
  /// (A number that was made a tensor has a slot and a value rule.) Such an operator is opened. If
  /// no operator below computes its results, it still runs by itself, or is dropped with a reason.
  [[nodiscard]] static bool takes_complex_number(const et_schema::Node& node) {
    return std::ranges::any_of(node.inputs, [](const et_schema::Value& value) {
      return value.is(et_schema::ValueKind::kOpaque) && value.text() == "ComplexDouble";
    });
  }

  /// Returns true if no operator below computed any of its results or, if it has no results,
  /// changed any of its inputs.
  [[nodiscard]] bool computes_by_itself(NodeIndex node) const {
    const std::vector<LifetimeId>& made =
        flow_.writes[node].empty() ? flow_.reads[node] : flow_.writes[node];
    return !walk_below(trace_, node, [&](NodeIndex below) {
      // A communication's outputs count as read.
      const std::vector<LifetimeId>& written =
          flow_.is_communication[below] ? flow_.reads[below] : flow_.writes[below];
      const bool computes_it =
          flow_.is_operator[below] && !only_prepares_memory(trace_.nodes[below].name) &&
          std::ranges::any_of(
              written, [&](LifetimeId id) { return std::ranges::find(made, id) != made.end(); });
      return computes_it ? Walk::kStop : Walk::kInto;
    });
  }

  bool open_some() {
    bool opened = false;
    for (NodeIndex node : escaping_operators()) {
      open(node, kSavedInside);
      opened = true;
    }
    for (NodeIndex node : selected_.operators) {
      const bool redispatches = owns_children(node) && holds_its_own_schema(node);
      if (redispatches || (owns_children(node) && chose_plain_attention(node))) {
        open(node, redispatches ? kRedispatched : kChosen);
        opened = true;
      }
    }
    return opened;
  }

  /// Returns the selected operators in which a lifetime began that other operators use and that is
  /// not one of their inputs or outputs.
  [[nodiscard]] std::vector<NodeIndex> escaping_operators() const {
    std::vector<NodeIndex> home(flow_.lifetimes.size(),
                                kNoNode);  // by lifetime: the operator where it began, if hidden
    for (LifetimeId id = 0; id < flow_.lifetimes.size(); ++id) {
      const NodeIndex birth = flow_.lifetimes[id].birth;
      home[id] = birth == kNoNode ? kNoNode : selected_.owner[birth];
    }
    for (NodeIndex node : selected_.operators) {
      for_each_use(node, [&](LifetimeId id) { home[id] = home[id] == node ? kNoNode : home[id]; });
    }
    std::vector<NodeIndex> escaping;
    for (NodeIndex node : selected_.operators) {
      for_each_use(node, [&](LifetimeId id) {
        if (home[id] != kNoNode) {
          escaping.push_back(home[id]);
        }
      });
    }
    std::ranges::sort(escaping);
    escaping.erase(std::unique(escaping.begin(), escaping.end()), escaping.end());
    return escaping;
  }

  template <typename Visitor>
  void for_each_use(NodeIndex node, Visitor&& visit) const {
    for (const std::vector<LifetimeId>* uses : {&flow_.reads[node], &flow_.writes[node]}) {
      for (LifetimeId id : *uses) {
        if (id != kNoLifetime) {
          visit(id);
        }
      }
    }
  }

  [[nodiscard]] bool holds_its_own_schema(NodeIndex node) const {
    return walk_below(trace_, node, [&](NodeIndex below) {
      const bool is_same =
          flow_.is_operator[below] && trace_.nodes[below].op_schema == trace_.nodes[node].op_schema;
      return is_same ? Walk::kStop : Walk::kInto;
    });
  }

  /// Returns true if attention without dropout ran without a fused kernel, because a mask needs a
  /// gradient or the program demanded it. A replay meets neither condition and would use a fused
  /// kernel.
  [[nodiscard]] bool chose_plain_attention(NodeIndex node) const {
    constexpr std::size_t kDropout = 4;
    const et_schema::Node& call = trace_.nodes[node];
    return call.name == "aten::scaled_dot_product_attention" && call.inputs.size() > kDropout &&
           !is_above_zero(call.inputs[kDropout]) &&
           std::ranges::any_of(call.children, [&](NodeIndex below) {
             return trace_.nodes[below].name == "aten::_scaled_dot_product_attention_math";
           });
  }

  [[nodiscard]] static bool is_above_zero(const et_schema::Value& value) {
    return value.is(et_schema::ValueKind::kDouble) && value.as_double() > 0;
  }

  void open(NodeIndex node, const char* reason) {
    selected_.is_open[node] = true;
    const std::string_view name = trace_.nodes[node].name;
    const auto known = std::ranges::find_if(selected_.opened, [&](const et_schema::Opened& opened) {
      return opened.name == name && opened.reason == reason;
    });
    selected_.opened_as[node] = static_cast<std::uint32_t>(known - selected_.opened.begin());
    if (known == selected_.opened.end()) {
      selected_.opened.push_back({std::string(name), 1, reason});
    } else {
      ++known->count;
    }
  }

  const Trace& trace_;
  const Flow& flow_;
  Selected selected_;
};

std::optional<std::regex> compile(const std::optional<std::string>& pattern, const char* flag) {
  if (!pattern) {
    return std::nullopt;
  }
  try {
    return et_schema::regular_expression(*pattern);
  } catch (const std::regex_error& error) {
    throw et_schema::usage_error("not a regular expression",
                                 {.field = flag,
                                  .expected = "an ECMAScript regular expression",
                                  .got = *pattern,
                                  .hint = error.what()});
  }
}

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
                                  .hint = "understudy inspect --tree TRACE shows the names"});
  }
}

void mark_tree(const Trace& trace, NodeIndex root, std::vector<bool>& inside) {
  inside[root] = true;
  walk_below(trace, root, [&inside](NodeIndex node) {
    inside[node] = true;
    return Walk::kInto;
  });
}

/// Marks labels whose cause is marked in `inside`. A backward pass can have its own backward pass
/// (create_graph), so this repeats until nothing changes.
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

/// Returns by node whether its own name, or that of a node above it, contains one of `texts`. With
/// `with_backward`, includes the labels of the backward pass that belong to these nodes by sequence
/// number, and those that add their gradients to parameters. Throws Error (usage) for a text that
/// no node's name contains.
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

}  // namespace

Selected select_operators(const Trace& trace, const Flow& flow) {
  return Selector(trace, flow).select();
}

void apply_filters(const Trace& trace, const CommCalls& calls, const GenerateOptions& options,
                   Selected& selected, std::vector<WorkingLabel>& labels) {
  const std::optional<std::regex> exclude = compile(options.exclude, "--exclude");
  const std::vector<bool> inside = find_subgraph(trace, options.subgraphs, options.with_backward);
  const auto is_wanted = [&](NodeIndex node) {
    const auto call = calls.find(node);
    const bool is_comm = call != calls.end();
    const std::string name(is_comm ? std::string_view(call->second.name) : trace.nodes[node].name);
    return (options.only == Only::kAll || is_comm == (options.only == Only::kComms)) &&
           (options.subgraphs.empty() || inside[node]) &&
           (!exclude || !std::regex_search(name, *exclude));
  };
  std::vector<bool> is_left(trace.nodes.size());
  const auto is_left_out = [&](NodeIndex node) {
    const bool leaves = !is_wanted(node);
    if (leaves) {
      selected.filtered.push_back(node);
    }
    return leaves;
  };
  std::erase_if(selected.operators, is_left_out);
  std::erase_if(labels, [&](const WorkingLabel& label) { return is_left_out(label.label); });
  for (NodeIndex node : selected.operators) {
    is_left[node] = true;
  }
  for (NodeIndex& owner : selected.owner) {
    owner = owner != kNoNode && is_left[owner] ? owner : kNoNode;
  }
}

std::vector<std::string> describe_filters(const GenerateOptions& options) {
  std::vector<std::string> filters;
  if (options.only != Only::kAll) {
    filters.emplace_back(options.only == Only::kCompute ? "--only compute" : "--only comms");
  }
  for (const std::string& subgraph : options.subgraphs) {
    filters.push_back(fmt::format("--subgraph {}", subgraph));
  }
  if (!options.subgraphs.empty() && !options.with_backward) {
    filters.emplace_back("--no-backward");
  }
  if (options.exclude) {
    filters.push_back(fmt::format("--exclude {}", *options.exclude));
  }
  return filters;
}

}  // namespace understudy::generator
