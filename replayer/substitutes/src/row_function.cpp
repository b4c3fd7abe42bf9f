#include "row_function.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/lexer.h>
#include <torch/csrc/jit/frontend/parser.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/operator_trust.h"
#include "replayer/dispatch/extent.h"
#include "replayer/dispatch/schema_map.h"
#include "replayer/memory/memory.h"
#include "stand_ins.h"

namespace understudy::replayer {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Stack;
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

/// A few dozen functions, each of which calls the one before it twice, would fill all memory once
/// they are inlined.
constexpr std::size_t kMostNodes = 20'000;
/// LibTorch's compiler computes with texts that nobody has judged: 'x'.rjust(10 ** 11).
constexpr std::uint64_t kMostOfCompiler = std::uint64_t{256} << 20U;

/// Returns the nodes of a block once all functions are inlined, or more than kMostNodes.
std::size_t inlined_nodes(torch::jit::Block& block,
                          std::map<const torch::jit::GraphFunction*, std::size_t>& known) {
  std::size_t count = 0;
  for (Node* const node : block.nodes()) {
    ++count;
    for (torch::jit::Block* inner : node->blocks()) {
      count += inlined_nodes(*inner, known);
    }
    if (torch::jit::GraphFunction* const called = torch::jit::tryToGraphFunction(node)) {
      const auto [found, is_new] = known.try_emplace(called);
      if (is_new) {
        found->second = inlined_nodes(*called->graph()->block(), known);
      }
      count += found->second;
    }
    count = std::min(count, kMostNodes + 1);
  }
  return count;
}

/// The failure of an operator in a row. LibTorch's interpreter throws another error for it.
thread_local std::exception_ptr failure;

/// Returns an operator's call on the device: a substitute's if the device has no kernel.
torch::jit::Operation call_of(const Node& node, c10::Device device) {
  const c10::FunctionSchema& schema = node.schema();
  const auto handle = c10::Dispatcher::singleton().findSchema(schema.operator_name());
  if (!handle || has_kernel(*handle, device.type())) {
    return node.getOperation();
  }
  std::optional<Substitute> substitute = find_stand_in(c10::toString(schema), device, {});
  TORCH_CHECK(substitute, schema.name(), " has no kernel for this device");
  return std::move(substitute->call);
}

/// Replaces an operator by one that checks its arguments and results.
void guard(Node& node, c10::Device device) {
  const c10::FunctionSchema& schema = node.schema();
  const auto guarded = c10::Symbol::fromQualString(
      fmt::format("understudy_{}::{}_{}", c10::DeviceTypeName(device.type(), /*lower_case=*/true),
                  node.kind().toUnqualString(), schema.overload_name()));
  if (torch::jit::getAllOperatorsFor(guarded).empty()) {
    const auto run = [op = std::string(node.kind().toQualString()), call = call_of(node, device),
                      takes = takes_layout(schema),
                      unsafe = argument_check(node.kind().toQualString(), argument_names(schema)),
                      count = schema.arguments().size()](Stack& stack) mutable {
      Stack own = torch::jit::pop(stack, count);
      const auto check = [&] {
        TORCH_CHECK(!has_nested(own), op, ": nested tensors are not replayed");
        if (takes || has_described(own)) {
          refuse_outside(own, op, std::nullopt);
        }
      };
      try {
        check();
        const std::optional<std::string> problem = unsafe ? unsafe(own) : std::nullopt;
        TORCH_CHECK(!problem, op, ": ", problem.value_or(""));
        call(own);
        check();
      } catch (...) {
        failure = std::current_exception();
        throw;
      }
      std::ranges::move(own, std::back_inserter(stack));
    };
    torch::jit::registerOperator({guarded.toQualString(), "", schema.arguments(), schema.returns(),
                                  run, c10::AliasAnalysisKind::FROM_SCHEMA});
  }
  node.replaceAllUsesWith(node.replaceWithNewSymbol(guarded));
}

void guard(torch::jit::Block& block, c10::Device device) {
  for (auto node = block.nodes().begin(); node != block.nodes().end();) {
    for (torch::jit::Block* inner : node->blocks()) {
      guard(*inner, device);
    }
    if (node->kind().is_aten() && !node->schema().is_vararg()) {
      guard(**node, device);
      node.destroyCurrent();
    } else {
      ++node;
    }
  }
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
      const OwnMemoryLimit limit(kMostOfCompiler);
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
  std::map<const torch::jit::GraphFunction*, std::size_t> known;
  if (inlined_nodes(*graph->block(), known) > kMostNodes) {
    refuse(row,
           fmt::format("at most {} operations, those of called functions included", kMostNodes),
           "more");
  }
  torch::jit::Inline(*graph);
  if (!row.file.empty()) {  // built-in rows put texts together, for what they refuse
    refuse_beyond(row, *graph->block());
  }
  return graph;
}

RowFunction::RowFunction(const std::shared_ptr<Graph>& graph, c10::Device device)
    : code_([&] {
        guard(*graph->block(), device);
        return torch::jit::Code(graph, "row");
      }()) {}

std::vector<c10::IValue> RowFunction::operator()(Stack values) const {
  failure = nullptr;
  try {
    torch::jit::InterpreterState(code_).run(values);
  } catch (const torch::jit::JITException& error) {  // raised by the function itself
    TORCH_CHECK(false, error.getOriginalMsg().value_or(error.what()));
  } catch (const std::exception&) {
    if (failure) {
      std::rethrow_exception(std::exchange(failure, nullptr));
    }
    throw;
  }
  const c10::IValue result = values.back();
  if (result.isNone()) {
    return {};
  }
  return result.isTuple() ? result.toTupleRef().elements().vec() : std::vector{result};
}

}  // namespace understudy::replayer
