#include "public_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

#include "et_schema/base/words.h"
#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"

namespace understudy::generator {
namespace {

using et_schema::has_word;

constexpr std::string_view kTexts =
    "none mean sum tanh constant reflect replicate circular nearest nearest-exact linear bilinear "
    "bicubic trilinear area trunc floor ij xy L U left right amax amin max min prod reduced "
    "complete r fro nuc backward forward ortho valid same zeros border lower higher midpoint N V "
    "gesvd gesvdj gesvda relu sigmoid swish hardswish hardsigmoid leaky_relu hardtanh gelu add sub "
    "mul";

constexpr std::string_view kBackends =
    "nccl gloo mpi ucc cuda:nccl cpu:gloo cpu:gloo,cuda:nccl undefined";

constexpr std::string_view kTags = "Generator Stream Storage Object Layout Scalar None";

constexpr std::string_view kSentences =
    "Device Python Steps The a above ahead all_to_allv.in_splits an and are argument as assumed at "
    "autocast before began begins behind by bytes calls capture captured casts category cheapest "
    "chose clock clocks coalesced communicates complex contradict copies correlation counts data "
    "device device's did does each end event events exact expert explains for from gradient "
    "gradients graphs had has have held hold holds host host's idle in inside is it its itself "
    "kernel kernels know known label launch launched launches lost made measured memory moved ms "
    "no none not nowhere number of offset on one open operator or other out outside own parallel "
    "pipeline profile range recorded replay reuse rows same saved schema sharded share show some "
    "stream such taken takes tensor that the they time times to trace up used wait waited waits "
    "wants was what where which who without work works wrappers as_strided attention collective "
    "communication compiled convolution copy elementwise embedding fft index linalg loss matmul "
    "normalization optimizer pooling random recurrent reduction softmax sort allocation view "
    "--batch --exclude --group --no-backward --only --subgraph --world-size";

constexpr std::string_view kTypes =
    "Any Await Device Dict Dimname Future Generator Layout List None NoneType Object QScheme "
    "Scalar ScalarType Storage Stream SymBool SymFloat SymInt Tensor MemoryFormat bool complex "
    "float int number str";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

/// Returns true if `before` ends with a type and a blank: the next word is then a name.
bool is_name(std::string_view before) {
  constexpr std::string_view kBeforeTypes = "(,>";
  const std::size_t last = before.find_last_not_of(' ');
  return before.ends_with(' ') && last != std::string_view::npos &&
         kBeforeTypes.find(before[last]) == std::string_view::npos;
}

/// Returns the types of "(Tensor(a!) result, Table[2] rows)": "(Tensor(a!), Object[])".
std::string public_types(std::string_view text) {
  constexpr std::string_view kSigns = " ()[],?!*->|";
  std::string types;
  while (!text.empty()) {
    const auto* const end = std::find_if_not(text.begin(), text.end(), is_word);
    const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    if (word.empty()) {
      types += kSigns.find(text.front()) == std::string_view::npos ? "" : text.substr(0, 1);
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(word.size());
    if (is_name(types)) {
      types.pop_back();
    } else if (word.front() < '0' || word.front() > '9') {
      const bool stays = word.size() == 1 || has_word(kTypes, word);
      types += stays ? word : "Object";
    }
  }
  return types;
}

}  // namespace

bool is_public_label(std::string_view name) {
  constexpr std::string_view kBefore = "torch::autograd::CppNode<SplitLookupFunction_";
  constexpr std::string_view kAfter = "_Op>";
  if (!name.starts_with(kBefore) || !name.ends_with(kAfter)) {
    return name == "CompiledFunction" || name == "CompiledFunctionBackward";
  }
  name.remove_prefix(kBefore.size());
  name.remove_suffix(kAfter.size());
  return name == "Dense" || et_schema::is_public_operator(fmt::format(
                                "fbgemm::split_embedding_codegen_lookup_{}_function", name));
}

bool is_public_text(std::string_view text) {
  return text.empty() || has_word(kTexts, text);
}

bool rename_letters(std::string& equation) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kSigns = " ,.->";
  const std::set<char> used(equation.begin(), equation.end());
  std::string letters;
  for (const char c : used) {
    if (kLetters.find(c) != std::string_view::npos) {
      letters += c;
    } else if (kSigns.find(c) == std::string_view::npos) {
      return false;
    }
  }
  for (char& c : equation) {
    const std::size_t place = letters.find(c);
    c = place == std::string::npos ? c : kLetters[place];
  }
  return true;
}

bool is_public_backend(std::string_view name) {
  return name.empty() || has_word(kBackends, name);
}

bool is_public_tag(std::string_view tag) {
  return has_word(kTags, tag);
}

bool is_public_sentence(std::string_view text) {
  return !et_schema::any_word(text, [](std::string_view word) {
    word = word.substr(0, word.find_last_not_of(",:;.") + 1);
    return !has_word(kSentences, word) &&
           word.find_first_not_of("0123456789.") != std::string_view::npos;
  });
}

std::string hidden_schema(std::string_view schema, std::string_view name) {
  std::vector<std::string> arguments;
  for (const et_schema::SchemaArgument& argument : et_schema::arguments_of(schema)) {
    arguments.push_back(fmt::format("{} arg{}", public_types(argument.type), arguments.size()));
  }
  const bool is_whole = schema.find('(') != std::string_view::npos;
  const std::string returns = public_types(et_schema::returns_of(schema));
  return fmt::format("{}{}{}", name,
                     is_whole ? fmt::format("({})", fmt::join(arguments, ", ")) : "",
                     returns.empty() ? "" : " -> " + returns);
}

double rounded(double value) {
  if (!std::isfinite(value)) {
    return value;
  }
  if (value == std::trunc(value)) {
    const std::string digits = fmt::format("{:.17e}", value);
    return std::strtod(
        (digits.substr(0, digits.find('.')) + digits.substr(digits.find('e'))).c_str(), nullptr);
  }
  const double from_one = std::abs(value) - 1;
  if (std::abs(from_one) < 0.1) {
    return std::copysign(
        std::strtod(fmt::format("{:.15g}", 1 + rounded(from_one)).c_str(), nullptr), value);
  }
  return std::strtod(fmt::format("{:.0e}", value).c_str(), nullptr);
}

bool tells_size(std::string_view op, std::string_view argument) {
  const std::string_view name = et_schema::base_name(op);
  const bool counts = name == "arange" || name == "range";
  return counts ||
         (name.find("upsample") != std::string_view::npos && argument.starts_with("scale"));
}

}  // namespace understudy::generator
