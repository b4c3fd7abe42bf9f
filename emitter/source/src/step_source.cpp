#include <fmt/format.h>

#include "foreign_text.h"
#include "source_text.h"
#include "step_parts.h"

namespace understudy::emitter {
namespace {

std::string cpp_source(const StepParts& step) {
  std::string text = "namespace {\n\nusing at::Tensor;\n\n";
  text += step.boxed.empty() ? "" : "/// Called by name.\nnamespace op {\n\n";
  for (const auto& [object, schema] : step.boxed) {
    text += fmt::format("bench::Operator {}(\n    {});\n", object, text_literal(schema));
  }
  text += step.boxed.empty() ? "" : "\n}  // namespace op\n\n";
  for (const auto& [name, rule] : step.tensors.long_rules) {
    text += fmt::format("bench::Rule {}();  // at the end\n", name);
  }
  text += step.tensors.long_rules.empty() ? "" : "\n";
  text += "/// What is there before the step.\nstruct Tensors {\n";
  for (const std::string& declaration : step.tensors.declarations) {
    text += "  " + declaration + "\n";
  }
  text += "};\n\n";
  text += step.functions.empty() ? "" : "/// What the step is made of.\nnamespace parts {\n\n";
  for (const FunctionText& function : step.functions) {
    text += function.declaration + function.definition;
  }
  text += step.functions.empty() ? "" : "}  // namespace parts\n\n";
  text += "class Step : public bench::Step {\n public:\n";
  text += "  /// Each has a number, which with the seed tells what it holds.\n";
  text +=
      "  void make(bench::Maker& make) override {\n" + block(step.tensors.making, 4) + "  }\n\n";
  text += "  void run() override {\n" + block(step.lines, 4) + "  }\n\n";
  text += " private:\n  Tensors t;\n};\n\n";
  for (const auto& [name, rule] : step.tensors.long_rules) {
    text += fmt::format("bench::Rule {}() {{\n{}}}\n\n", name, wrapped("  return " + rule + ";"));
  }
  return text + "}  // namespace\n\n";
}

std::string python_source(const StepParts& step) {
  std::string text = "class Tensors:\n    \"\"\"What is there before the step.\"\"\"\n\n";
  text += "    def __init__(self):\n";
  for (const std::string& declaration : step.tensors.declarations) {
    text += "        " + declaration + "\n";
  }
  text += step.tensors.declarations.empty() ? "        pass\n\n\n" : "\n\n";
  for (const FunctionText& function : step.functions) {
    text += function.declaration + function.definition;
  }
  text += "class Step:\n    def __init__(self):\n        self.t = Tensors()\n\n";
  text += "    def make(self, make):\n        t = self.t\n" + block(step.tensors.making, 8) + "\n";
  text += "    def run(self):\n        t = self.t\n" + block(step.lines, 8);
  for (const auto& [name, rule] : step.tensors.long_rules) {
    text += fmt::format("\n\ndef {}():\n{}", name, wrapped("    return " + rule));
  }
  return text;
}

}  // namespace

std::string step_source(const StepParts& step, Dialect dialect) {
  return dialect == Dialect::kPython ? python_source(step) : cpp_source(step);
}

}  // namespace understudy::emitter
