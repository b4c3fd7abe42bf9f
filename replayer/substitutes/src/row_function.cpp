#include "row_function.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/lexer.h>
#include <torch/csrc/jit/frontend/parser.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/operator_trust.h"
#include "replayer/dispatch/extent.h"
#include "replayer/dispatch/schema_map.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Stack;
using torch::jit::Value;
namespace prim = c10::prim;

[[noreturn]] void refuse(const et_schema::MapRow& row, const std::string& expected,
                         const std::string& got) {
  throw et_schema::bad_input("the operator map cannot be used",
                             {.file = row.file,
                              .field = fmt::format("rows[{}].does", row.number),
                              .expected = expected,
                              .got = got,
                              .hint = "docs/formats.md, \"Operator map\", says what a row holds"});
}

/// Returns the first line of a message: LibTorch's compiler shows the source below it.
std::string message_of(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  std::string_view text = of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  std::string message(text.substr(0, text.find('\n')));
  std::string_view line;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (one.find("<--- HERE") != std::string_view::npos) {
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      return fmt::format("{} in '{}'", message, line);
    }
    line = one;
  }
  return message;
}

void refuse_beyond(const et_schema::MapRow& row, const torch::jit::Block& block) {
  for (const Node* node : block.nodes()) {
    const torch::jit::Operator* const op = node->maybeOperator();
    const std::string schema = op != nullptr ? c10::toString(op->schema()) : "";
    const et_schema::OperatorTrust trust = et_schema::trust_of(schema);
    if (node->kind() == prim::Print ||
        (op != nullptr && trust.reach == et_schema::OperatorReach::kBeyond)) {
      refuse(row, "operators that only compute",
             fmt::format("{}: {}", node->kind().toQualString(),
                         node->kind() == prim::Print ? "it prints" : trust.why));
    }
    for (const torch::jit::Block* inner : node->blocks()) {
      refuse_beyond(row, *inner);
    }
  }
}

/// Refuses default values of parameters, also in nested functions: LibTorch's compiler would run
/// them while compiling.
void refuse_defaults(const et_schema::MapRow& row, const torch::jit::TreeRef& tree) {
  if (tree->kind() == torch::jit::TK_PARAM && torch::jit::Param(tree).defaultValue().present()) {
    refuse(row, "parameters without default values, which would run before they are judged",
           fmt::format("'{}'", tree->range().text().str()));
  }
  for (const torch::jit::TreeRef& part : tree->trees()) {
    refuse_defaults(row, part);
  }
}

void refuse_defaults(const et_schema::MapRow& row, const std::string& source) {
  torch::jit::Parser parser(std::make_shared<torch::jit::Source>(source));
  while (parser.lexer().cur().kind != torch::jit::TK_EOF) {
    refuse_defaults(row, parser.parseFunction(/*is_method=*/false));
  }
}

/// Returns the substitute of an ATen operator on the device; null if the device has a kernel.
std::function<void(Stack&)> aten_call(const c10::FunctionSchema& schema, c10::Device device) {
  const auto handle = c10::Dispatcher::singleton().findSchema(schema.operator_name());
  if (!handle || device.is_meta() || has_kernel(*handle, device.type())) {
    return nullptr;
  }
  std::optional<Substitute> substitute =
      find_substitute(c10::toString(schema.operator_name()), argument_names(schema), device.type());
  TORCH_CHECK(substitute, schema.name(), " has no kernel for this device");
  return std::move(substitute->call);
}

/// Returns the call of a node that LibTorch's interpreter runs without an operator; null for other
/// nodes.
std::function<void(Stack&)> built_in_call(const Node& node) {
  if (node.kind() == prim::ListConstruct) {
    return [element =
                node.output()->type()->expectRef<c10::ListType>().getElementType()](Stack& stack) {
      c10::impl::GenericList list(element);
      for (c10::IValue& item : stack) {
        list.push_back(std::move(item));
      }
      stack = {std::move(list)};
    };
  }
  if (node.kind() == prim::TupleConstruct) {
    return [](Stack& stack) { stack = {c10::ivalue::Tuple::create(std::move(stack))}; };
  }
  if (node.kind() == prim::TupleUnpack) {
    return [](Stack& stack) { stack = Stack(stack.front().toTupleRef().elements().vec()); };
  }
  if (node.kind() == prim::ListUnpack) {
    return [](Stack& stack) { stack = Stack(stack.front().toListRef().vec()); };
  }
  if (node.kind() == prim::Uninitialized) {
    return [](Stack& stack) { stack.emplace_back(); };
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<Graph> compile_row(const et_schema::MapRow& row) {
  static std::map<std::string, std::shared_ptr<torch::jit::CompilationUnit>> compiled;
  const std::string source = row.source();
  auto [unit, is_new] = compiled.try_emplace(source);
  if (is_new) {
    unit->second = std::make_shared<torch::jit::CompilationUnit>();
    try {
      refuse_defaults(row, source);
      unit->second->define(std::nullopt, source, torch::jit::nativeResolver(), nullptr);
    } catch (const et_schema::Error&) {
      compiled.erase(unit);
      throw;
    } catch (const std::exception& error) {
      compiled.erase(unit);
      refuse(row, "lines of TorchScript that LibTorch compiles", message_of(error));
    }
  }
  std::shared_ptr<Graph> graph =
      torch::jit::toGraphFunction(unit->second->get_function("row")).graph()->copy();
  torch::jit::Inline(*graph);
  refuse_beyond(row, *graph->block());
  return graph;
}

/// Numbers the values of a graph and resolves the calls of its nodes.
class RowFunction::Maker {
 public:
  explicit Maker(c10::Device device) : device_(device) {}

  Block block(const torch::jit::Block& from) {
    Block made;
    made.inputs = numbers(from.inputs());
    std::unordered_map<const Node*, std::size_t> places;
    for (const Node* node : from.nodes()) {
      places.emplace(node, made.actions.size());
      made.actions.push_back(action(*node));
    }
    made.outputs = numbers(from.outputs());
    for (const Node* node : from.nodes()) {
      note_last_reads(node->outputs(), from, places, made);
    }
    note_last_reads(from.inputs(), from, places, made);
    return made;
  }
  [[nodiscard]] std::size_t count() const { return numbers_.size(); }

 private:
  Register number(const Value* value) {
    return numbers_.try_emplace(value, static_cast<Register>(numbers_.size())).first->second;
  }
  std::vector<Register> numbers(at::ArrayRef<const Value*> values) {
    std::vector<Register> made;
    for (const Value* value : values) {
      made.push_back(number(value));
    }
    return made;
  }

  Action action(const Node& node) {
    Action made;
    made.inputs = numbers(node.inputs());
    made.outputs = numbers(node.outputs());
    if (node.kind() == prim::Constant) {
      made.kind = Action::Kind::kConstant;
      made.constant = torch::jit::toIValue(node.output()).value_or(c10::IValue());
    } else if (node.kind() == prim::If || node.kind() == prim::Loop) {
      made.kind = node.kind() == prim::If ? Action::Kind::kIf : Action::Kind::kLoop;
      for (const torch::jit::Block* inner : node.blocks()) {
        made.blocks.push_back(block(*inner));
      }
    } else {
      const c10::FunctionSchema* const schema = node.maybeSchema();
      made.op = node.kind().toQualString();
      made.takes_layout = schema != nullptr && takes_layout(*schema);
      made.call = schema != nullptr && node.kind().is_aten() ? aten_call(*schema, device_)
                                                             : built_in_call(node);
      if (!made.call) {
        made.call = node.getOperation();
      }
    }
    return made;
  }

  /// Records the last reader of each value. A read in a nested block counts as a read by the node
  /// that contains the block.
  void note_last_reads(at::ArrayRef<const Value*> values, const torch::jit::Block& from,
                       const std::unordered_map<const Node*, std::size_t>& places, Block& made) {
    for (const Value* value : values) {
      std::size_t last = 0;
      bool is_returned = false;
      for (const torch::jit::Use& use : value->uses()) {
        const Node* reader = use.user;
        while (reader->owningBlock() != &from) {
          reader = reader->owningBlock()->owningNode();
        }
        const auto place = places.find(reader);
        is_returned |= place == places.end();
        last = is_returned ? last : std::max(last, place->second);
      }
      if (!is_returned && !value->uses().empty()) {
        made.actions[last].last_read.push_back(number(value));
      }
    }
  }

  c10::Device device_;
  std::unordered_map<const Value*, Register> numbers_;
};

RowFunction::RowFunction(const Graph& graph, c10::Device device) {
  Maker maker(device);
  main_ = maker.block(*graph.block());
  registers_ = maker.count();
}

std::vector<c10::IValue> RowFunction::operator()(std::vector<c10::IValue> parameters) const {
  std::vector<c10::IValue> values(registers_);
  TORCH_CHECK(parameters.size() == main_.inputs.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    values[main_.inputs[i]] = std::move(parameters[i]);
  }
  run(main_, values);
  const c10::IValue result = values[main_.outputs.front()];
  if (result.isNone()) {
    return {};
  }
  return result.isTuple() ? result.toTupleRef().elements().vec() : std::vector{result};
}

void RowFunction::run(const Block& block, std::vector<c10::IValue>& values) const {
  for (const Action& action : block.actions) {
    run(action, values);
    for (const Register value : action.last_read) {
      values[value] = {};
    }
  }
}

void RowFunction::run(const Action& action, std::vector<c10::IValue>& values) const {
  switch (action.kind) {
    case Action::Kind::kConstant:
      values[action.outputs.front()] = action.constant;
      return;
    case Action::Kind::kIf: {
      const Block& taken = action.blocks[values[action.inputs.front()].toBool() ? 0 : 1];
      run(taken, values);
      for (std::size_t i = 0; i < action.outputs.size(); ++i) {
        values[action.outputs[i]] = values[taken.outputs[i]];
      }
      return;
    }
    case Action::Kind::kLoop:
      loop(action, values);
      return;
    case Action::Kind::kCall:
      break;
  }
  Stack stack;
  for (const Register input : action.inputs) {
    stack.push_back(values[input]);
  }
  const auto check = [&] {
    TORCH_CHECK(!has_nested(stack), action.op, ": nested tensors are not replayed");
    if (action.takes_layout || has_described(stack)) {
      refuse_outside(stack, action.op, std::nullopt);
    }
  };
  check();
  action.call(stack);
  check();
  TORCH_CHECK(stack.size() == action.outputs.size());
  for (std::size_t i = 0; i < stack.size(); ++i) {
    values[action.outputs[i]] = std::move(stack[i]);
  }
}

/// The inputs are the maximum number of rounds, the condition, and the loop's variables. The body
/// receives the round's number and the variables; it returns the condition and the variables.
void RowFunction::loop(const Action& action, std::vector<c10::IValue>& values) const {
  const Block& body = action.blocks.front();
  const std::int64_t most = values[action.inputs[0]].toInt();
  bool goes_on = values[action.inputs[1]].toBool();
  std::vector<c10::IValue> handed_on;
  for (std::size_t i = 2; i < action.inputs.size(); ++i) {
    handed_on.push_back(values[action.inputs[i]]);
  }
  for (std::int64_t round = 0; round < most && goes_on; ++round) {
    values[body.inputs[0]] = round;
    for (std::size_t i = 0; i < handed_on.size(); ++i) {
      values[body.inputs[i + 1]] = std::move(handed_on[i]);
    }
    run(body, values);
    goes_on = values[body.outputs[0]].toBool();
    for (std::size_t i = 0; i < handed_on.size(); ++i) {
      handed_on[i] = values[body.outputs[i + 1]];
    }
  }
  for (std::size_t i = 0; i < handed_on.size(); ++i) {
    values[action.outputs[i]] = std::move(handed_on[i]);
  }
}

}  // namespace understudy::replayer
