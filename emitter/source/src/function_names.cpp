#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "et_schema/model/op_class.h"
#include "foreign_text.h"
#include "names.h"

namespace understudy::emitter {
namespace {

using et_schema::Instruction;

/// What a unit is made of.
struct Content {
  std::map<std::string_view, std::size_t> classes;  ///< instructions by class of operators
  std::string word;                                 ///< the operator that it has most of
  [[nodiscard]] std::size_t count(std::string_view op_class) const {
    const auto found = classes.find(op_class);
    return found == classes.end() ? 0 : found->second;
  }
};

std::string_view class_of(const Instruction& instruction) {
  const bool is_loss = instruction.name.find("cross_entropy") != std::string::npos;
  return is_loss ? "loss" : et_schema::op_class(instruction.name);
}

Content content_of(const DataFlow& flow, const Unit& unit) {
  constexpr std::array<std::string_view, 3> kPlain = {"view", "allocation", "copy"};
  Content content;
  std::map<std::string, std::size_t> words;
  for (std::size_t at = unit.begin; at < unit.end; ++at) {
    const Instruction& instruction = flow.program().instructions[at];
    const std::string_view op_class = class_of(instruction);
    ++content.classes[op_class];
    const bool is_plain = std::find(kPlain.begin(), kPlain.end(), op_class) != kPlain.end();
    const std::string word = op_class == "matmul" ? "linear" : operator_word(instruction.name);
    words[word] += is_plain ? 0 : 1;
  }
  content.word = std::max_element(words.begin(), words.end(), [](const auto& a, const auto& b) {
                   return a.second < b.second;
                 })->first;
  return content;
}

/// Forward and backward alike.
std::string part_word(const Content& content, bool is_repeated) {
  const std::size_t products = content.count("matmul") + content.count("convolution");
  if (is_repeated && content.count("attention") + content.count("softmax") > 0 && products > 1) {
    return "layer";
  }
  if (is_repeated && content.count("convolution") > 0) {
    return "conv_block";
  }
  if (content.count("loss") > 0) {
    return products > 0 ? "head" : "loss";
  }
  for (const std::string_view telling : {"attention", "recurrent", "embedding"}) {
    if (content.count(telling) > 0) {
      return std::string(telling);
    }
  }
  if (is_repeated && content.count("normalization") > 0 && products > 1) {
    return "layer";
  }
  return content.count("convolution") > 0 ? "conv"
         : content.count("matmul") > 1    ? "linear"
                                          : content.word;
}

/// A function that is all of its phase is called as that.
bool is_whole_phase(const Outline& outline, const Unit& unit) {
  constexpr std::size_t kBeside = 4;  // instructions that may stand beside it
  const std::string_view phase = phase_name(outline.phases, unit.begin);
  std::size_t rest = 0;
  for (const Unit& other : outline.units) {
    const bool is_beside = phase_name(outline.phases, other.begin) == phase;
    rest += is_beside ? other.end - other.begin : 0;
  }
  return rest - (unit.end - unit.begin) <= kBeside;
}

std::string function_name(const DataFlow& flow, const Outline& outline, const Function& function) {
  const Unit& unit = outline.units[function.units.front()];
  const std::string phase(phase_name(outline.phases, unit.begin));
  const bool is_repeated = function.units.size() > 1;
  if (!is_repeated && is_whole_phase(outline, unit)) {
    return phase + "_pass";
  }
  const Content content = content_of(flow, unit);
  if (phase == "update") {
    return is_repeated ? "update_parameter" : "update_" + content.word;
  }
  std::string word = part_word(content, is_repeated);
  // Two words of a short one tell all of it.
  if (word == content.word && unit.end - unit.begin == 2) {
    const std::string second = operator_word(flow.program().instructions[unit.end - 1].name);
    word += second == word ? "" : "_" + second;
  }
  const bool says_it = word.find("backward") != std::string::npos;
  return word + (phase == "backward" && !says_it ? "_backward" : "");
}

}  // namespace

std::vector<std::string> function_names(const DataFlow& flow, const Outline& outline) {
  NameBook book;
  std::vector<std::string> names;
  for (const Function& function : outline.functions) {
    names.push_back(book.take(identifier(function_name(flow, outline, function))));
  }
  return names;
}

}  // namespace understudy::emitter
