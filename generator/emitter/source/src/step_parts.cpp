#include "step_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "foreign_text.h"
#include "source_text.h"

namespace understudy::emitter {
namespace {

using et_schema::SlotId;
using et_schema::StorageId;

class FunctionWriter {
 public:
  FunctionWriter(const DataFlow& flow, const Outline& outline, std::size_t index,
                 const std::string& name, const std::vector<std::string>& words, CallWriter& calls,
                 Language language)
      : flow_(flow),
        outline_(outline),
        function_(outline.functions[index]),
        words_(words),
        calls_(calls),
        language_(language),
        first_(outline.units[function_.units.front()]) {
    text_.name = name;
  }

  FunctionText write() {
    name_parameters();
    for (std::size_t at = first_.begin; at < first_.end; ++at) {
      write_instruction(at);
    }
    write_results();
    lines_ = looped(lines_, is_python());
    describe();
    return std::move(text_);
  }

 private:
  [[nodiscard]] bool is_python() const { return language_ == Language::kPython; }
  [[nodiscard]] const et_schema::Program& program() const { return flow_.program(); }

  /// Returns the instruction, counted from the unit's first, after which a tensor's memory is
  /// freed: the latest of all units. Empty if it is freed after the unit, or too small to matter.
  template <typename SlotOf>
  [[nodiscard]] std::optional<std::size_t> death_in(SlotOf slot_of) const {
    std::optional<std::size_t> latest;
    for (std::size_t i = 0; i < function_.units.size(); ++i) {
      const Unit& unit = outline_.units[function_.units[i]];
      const StorageId storage = program().slots[slot_of(i)].storage;
      const std::optional<std::size_t> death = flow_.death_of(storage);
      if (death && *death >= unit.begin && *death < unit.end &&
          is_worth_freeing(program().storages[storage])) {
        latest = std::max(latest.value_or(0), *death - unit.begin);
      }
    }
    return latest;
  }

  void name_parameters() {
    std::vector<std::size_t> last_read(function_.parameters.size());
    for (std::size_t i = 0; i < function_.reads.size(); ++i) {
      for (const auto& parameter : function_.reads[i]) {
        if (parameter) {
          last_read[*parameter] = i;
        }
      }
    }
    const bool is_forward = phase_name(outline_.phases, first_.begin) == "forward";
    bool has_x = false;
    for (std::size_t i = 0; i < function_.parameters.size(); ++i) {
      const std::vector<SlotId>& slots = function_.parameters[i];
      const bool is_made = !program().slots[slots.front()].external;
      const bool is_x = is_forward && is_made && !has_x;
      has_x = has_x || is_x;
      parameter_names_.push_back(names_.take(is_x ? "x" : words_[slots.front()]));
      const auto death = death_in([&](std::size_t unit) { return slots[unit]; });
      text_.by_value.push_back(death.has_value());
      if (death) {
        releases_[std::max(*death, last_read[i])].push_back(parameter_names_.back());
      }
    }
  }

  void write_instruction(std::size_t at) {
    const std::size_t place = at - first_.begin;
    std::size_t next = 0;
    std::size_t made = 0;
    const bool is_needed =
        std::any_of(function_.results.begin(), function_.results.end(),
                    [&](const Function::Result& result) { return result.instruction == place; });
    const Scope scope{language_,
                      names_,
                      [&] {
                        const auto& parameter = function_.reads[place][next];
                        const SlotId slot = flow_.reads(at)[next++];
                        return parameter ? parameter_names_[*parameter] : variables_.at(slot);
                      },
                      [&](SlotId slot, const std::string& name) {
                        variables_[slot] = name;
                        note_made({place, made++}, name);
                      },
                      lines_,
                      vectors_,
                      is_needed};
    write_statement(flow_, at, words_, calls_, scope);
    const auto released = releases_.find(place);
    if (released != releases_.end() && at + 1 < first_.end) {
      lines_.push_back(release_text(released->second, language_, vectors_));
    }
  }

  /// Records a variable: returned if it is a result, otherwise released when its memory is freed.
  void note_made(Function::Result made, const std::string& name) {
    const auto& results = function_.results;
    if (std::find(results.begin(), results.end(), made) != results.end()) {
      result_variables_.push_back(name);
      return;
    }
    const auto death = death_in([&](std::size_t unit) {
      const std::size_t begin = outline_.units[function_.units[unit]].begin;
      return new_tensors(flow_, begin + made.instruction)[made.tensor];
    });
    if (death && *death >= made.instruction) {
      releases_[*death].push_back(name);
    }
  }

  void write_results() {
    if (result_variables_.size() == 1) {
      lines_.push_back(
          fmt::format("return {}{}", result_variables_.front(), is_python() ? "" : ";"));
    } else if (result_variables_.size() > 1) {
      NameBook members;
      for (const std::string& variable : result_variables_) {
        text_.result_names.push_back(members.take(identifier(variable)));
      }
      lines_.push_back(is_python()
                           ? fmt::format("return {}({})", type_name(text_.name),
                                         fmt::join(result_variables_, ", "))
                           : fmt::format("return {{{}}};", fmt::join(result_variables_, ", ")));
    }
  }

  [[nodiscard]] std::string summary() const {
    std::vector<std::string> words;
    std::size_t operators = 0;
    for (std::size_t at = first_.begin; at < first_.end; ++at) {
      const std::string word = operator_word(program().instructions[at].name);
      ++operators;
      if (words.size() < 6 && std::find(words.begin(), words.end(), word) == words.end()) {
        words.push_back(word);
      }
    }
    const std::size_t calls = function_.units.size();
    return fmt::format("{} operators ({}{}), called {}.", operators, fmt::join(words, ", "),
                       operators > words.size() ? ", …" : "",
                       calls == 1 ? "once" : fmt::format("{} times", calls));
  }

  void describe() {
    if (is_python()) {
      describe_python();
      return;
    }
    std::vector<std::string> parameters;
    for (std::size_t i = 0; i < parameter_names_.size(); ++i) {
      parameters.push_back((text_.by_value[i] ? "Tensor " : "const Tensor& ") +
                           parameter_names_[i]);
    }
    std::string type = result_variables_.empty() ? "void" : "Tensor";
    if (!text_.result_names.empty()) {
      type = type_name(text_.name);
      text_.declaration = fmt::format("struct {} {{\n", type);
      for (const std::string& member : text_.result_names) {
        text_.declaration += fmt::format("  Tensor {};\n", member);
      }
      text_.declaration += "};\n\n";
    }
    text_.definition =
        wrapped("/// " + summary()) +
        wrapped(fmt::format("{} {}({}) {{", type, text_.name, fmt::join(parameters, ", "))) +
        block(lines_, 2) + "}\n\n";
  }

  void describe_python() {
    if (!text_.result_names.empty()) {
      std::vector<std::string> members;
      for (const std::string& member : text_.result_names) {
        members.push_back("\"" + member + "\"");
      }
      text_.declaration = wrapped(fmt::format("{0} = bench.results(\"{0}\", [{1}])",
                                              type_name(text_.name), fmt::join(members, ", "))) +
                          "\n\n";
    }
    text_.definition =
        wrapped(fmt::format("def {}({}):", text_.name, fmt::join(parameter_names_, ", "))) +
        wrapped("    \"\"\"" + summary() + "\"\"\"") + block(lines_, 4) + "\n\n";
  }

  const DataFlow& flow_;
  const Outline& outline_;
  const Function& function_;
  const std::vector<std::string>& words_;
  CallWriter& calls_;
  Language language_;
  const Unit& first_;
  FunctionText text_;
  NameBook names_;
  std::vector<std::string> lines_;
  Vectors vectors_;
  std::vector<std::string> parameter_names_;
  std::vector<std::string> result_variables_;
  std::map<SlotId, std::string> variables_;
  std::map<std::size_t, std::vector<std::string>> releases_;  ///< by place in the unit
};

std::string cpp_source(const StepParts& step) {
  std::string text = "namespace {\n\nusing at::Tensor;\n\n";
  text += step.named.empty()
              ? ""
              : "/// The operators, by the schemas that were recorded.\nnamespace op {\n\n";
  for (const auto& [object, named] : step.named) {
    text += fmt::format("bench::Operator {}(\n    {}{});\n", object, text_literal(named.schema),
                        named.row.empty() ? ""
                                          : fmt::format(",\n    bench::row({{{}}},\n{})",
                                                        fmt::join(named.row_arguments, ", "),
                                                        lines_literal(named.row, 15)));
  }
  text += step.named.empty() ? "" : "\n}  // namespace op\n\n";
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
  std::string text;
  if (!step.named.empty()) {
    text = "class Named:\n    \"\"\"Called by name.\"\"\"\n\n";
    for (const auto& [object, named] : step.named) {
      text += fmt::format("    {} = bench.Operator(\n        {}, {}, [{}],\n{})\n", object,
                          text_literal(named.schema), named.positional,
                          fmt::join(named.row_arguments, ", "), lines_literal(named.row, 8));
    }
    text += "\n\n";
  }
  text += "class Tensors:\n    \"\"\"What is there before the step.\"\"\"\n\n";
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

FunctionText write_function(const DataFlow& flow, const Outline& outline, std::size_t function,
                            const std::string& name, const std::vector<std::string>& words,
                            CallWriter& calls, Language language) {
  return FunctionWriter(flow, outline, function, name, words, calls, language).write();
}

std::string step_source(const StepParts& step, Language language) {
  return language == Language::kPython ? python_source(step) : cpp_source(step);
}

}  // namespace understudy::emitter
