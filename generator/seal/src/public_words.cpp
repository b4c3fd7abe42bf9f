#include "public_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "et_schema/model/public_operators.h"

namespace understudy::generator {
namespace {

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

constexpr auto kTexts = std::to_array<std::string_view>(
    {"",         "none",      "mean",      "sum",     "tanh",          "constant",
     "reflect",  "replicate", "circular",  "nearest", "nearest-exact", "linear",
     "bilinear", "bicubic",   "trilinear", "area",    "trunc",         "floor",
     "ij",       "xy",        "L",         "U",       "left",          "right",
     "amax",     "amin",      "max",       "min",     "prod",          "reduced",
     "complete", "r",         "fro",       "nuc",     "backward",      "forward",
     "ortho",    "valid",     "same",      "zeros",   "border",        "lower",
     "higher",   "midpoint",  "N",         "V",       "gesvd",         "gesvdj",
     "gesvda"});

constexpr auto kBackends = std::to_array<std::string_view>(
    {"", "nccl", "gloo", "mpi", "ucc", "cuda:nccl", "cpu:gloo", "cpu:gloo,cuda:nccl", "undefined"});

constexpr auto kTags = std::to_array<std::string_view>(
    {"Generator", "Stream", "Storage", "Object", "Layout", "Scalar", "None"});

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
  return contains(kTexts, text);
}

bool is_public_backend(std::string_view name) {
  return contains(kBackends, name);
}

bool is_public_tag(std::string_view tag) {
  return contains(kTags, tag);
}

}  // namespace understudy::generator
