#include "public_words.h"

#include <algorithm>
#include <array>

#include "et_schema/bench/bench.h"

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

bool is_public_operator(std::string_view name) {
  et_schema::Selection probe;
  probe.opened.push_back({std::string(name), 1, "", 0});
  return et_schema::hashed_names(std::move(probe)).opened.front().name == name;
}

bool is_public_label(std::string_view name) {
  constexpr std::string_view kFbgemm = "torch::autograd::CppNode<SplitLookupFunction";
  return name.starts_with(kFbgemm) || name == "CompiledFunction" ||
         name == "CompiledFunctionBackward";
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
