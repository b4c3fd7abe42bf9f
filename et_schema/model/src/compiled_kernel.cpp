#include "et_schema/model/compiled_kernel.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace understudy::et_schema {
namespace {

constexpr std::size_t kKeyDigits = 16;
constexpr std::array<std::int64_t, 3> kMostBlocks = {2147483647, 65535, 65535};
// From this architecture on, Triton compiles code for one architecture only.
constexpr int kFirstSpecific = 90;

}  // namespace

std::optional<std::vector<std::string_view>> kernel_roles(std::string_view text,
                                                          std::size_t arguments) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  std::vector<std::string_view> roles;
  for (std::size_t at = text.find_first_not_of(kSpace); at != std::string_view::npos;
       at = text.find_first_not_of(kSpace, at)) {
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    roles.push_back(text.substr(at, end - at));
    at = end;
  }
  return roles.size() == arguments ? std::optional(std::move(roles)) : std::nullopt;
}

std::optional<KernelLaunch> kernel_launch(std::string_view text) {
  constexpr std::string_view kStart = "launch ";
  if (!text.starts_with(kStart)) {
    return std::nullopt;
  }
  text.remove_prefix(kStart.size());
  KernelLaunch launch;
  launch.key = text.substr(0, kKeyDigits);
  if (launch.key.size() != kKeyDigits ||
      launch.key.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return std::nullopt;
  }
  const char* at = text.data() + kKeyDigits;
  const char* const end = text.data() + text.size();
  for (std::size_t i = 0; i < launch.grid.size(); ++i) {
    if (at == end || *at != ' ') {
      return std::nullopt;
    }
    const auto [next, error] = std::from_chars(at + 1, end, launch.grid.at(i));
    if (error != std::errc() || launch.grid.at(i) < 0 || launch.grid.at(i) > kMostBlocks.at(i)) {
      return std::nullopt;
    }
    at = next;
  }
  return at == end ? std::optional(launch) : std::nullopt;
}

std::optional<std::size_t> parameter_bytes(std::string_view type) {
  constexpr std::pair<std::string_view, std::size_t> kNumbers[] = {
      {"i1", 1},   {"i8", 1},   {"u1", 1},   {"u8", 1},  {"i16", 2},
      {"u16", 2},  {"fp16", 2}, {"bf16", 2}, {"i32", 4}, {"u32", 4},
      {"fp32", 4}, {"f32", 4},  {"i64", 8},  {"u64", 8}, {"fp64", 8}};
  if (type.starts_with('*')) {
    return 8;
  }
  const auto* const found =
      std::ranges::find(kNumbers, type, &std::pair<std::string_view, std::size_t>::first);
  return found == std::end(kNumbers) ? std::nullopt : std::optional(found->second);
}

const KernelBuild* find_build(const CompiledKernel& kernel, int architecture) {
  const KernelBuild* best = nullptr;
  for (const KernelBuild& build : kernel.builds) {
    const bool runs =
        build.architecture == architecture ||
        (build.architecture < kFirstSpecific && build.architecture / 10 == architecture / 10 &&
         build.architecture < architecture);
    best = runs && (best == nullptr || build.architecture > best->architecture) ? &build : best;
  }
  return best;
}

}  // namespace understudy::et_schema
