#include "rinse.h"

#include <array>

#include "et_schema/base/assert.h"
#include "et_schema/base/processor.h"
#include "replayer/calibrator/design/call.h"
#include "replayer/calibrator/design/recipe.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace understudy::calibrator {
namespace {

constexpr std::array kRecipes = std::to_array<Recipe>({
    {"aten::mm", "", "{64,64} {64,64}"},
    {"aten::native_layer_norm", "", "{16,64} [64] {64} {64} 1e-5"},
    {"aten::_softmax", "", "{16,64} 1 false"},
    {"aten::cat", "", "[{16,64} {16,64}] 1"},
    {"aten::gelu", "", "{16,64} \"none\""},
    {"aten::sum.dim_IntList", "", "{16,64} [0] false"},
    {"aten::index_select", "", "{64,16} 0 i{64}"},
    {"aten::addcdiv_", "", "{1024} {1024} {1024} 0.5"},
    {"aten::copy_", "", "{64,64} {64,64}'"},
    {"aten::where.self", "", "b{1024} {1024} {1024}"},
    {"aten::max_pool2d_with_indices", "", "{1,4,9,9} [3 3] [2 2] [1 1]"},
    {"aten::convolution_backward", "",
     "{1,4,8,8} {1,4,8,8} {4,4,3,3} [0] [1 1] [1 1] [1 1] false [0 0] 1 [true true false]"},
});

constexpr double kTransposed = 0.75;

/// Returns the size of a core's second-level cache; a usual size if the system does not report it.
std::size_t own_cache_bytes() {
  const std::int64_t told = et_schema::cache_bytes(2);
  return told > 0 ? static_cast<std::size_t>(told) : std::size_t{1} << 20U;
}

}  // namespace

Rinse::Rinse(backends::Backend& backend) : swept_(2 * own_cache_bytes()) {
  for (const Recipe& recipe : kRecipes) {
    Variation variation;
    variation.layout = kTransposed;
    Call call = *make_call(recipe, {}, variation);
    const std::string problem = complete(call);
    UNDERSTUDY_ASSERT(problem.empty());
    calls_.push_back(std::make_unique<BoundCall>(make_program(call), backend, 0));
    calls_.back()->prepare();
  }
}

void Rinse::run() {
  for (const std::unique_ptr<BoundCall>& call : calls_) {
    call->run();
  }
  for (std::size_t at = 0; at < swept_.size(); at += kLineBytes) {
    asm volatile("" : : "r"(++swept_[at]) : "memory");
  }
}

namespace {

#if defined(__x86_64__)
void evict_line(const char* line) {
  _mm_clflush(line);
}
void finish() {
  _mm_mfence();
}
#elif defined(__aarch64__)
void evict_line(const char* line) {
  asm volatile("dc civac, %0" : : "r"(line) : "memory");
}
void finish() {
  asm volatile("dsb ish" : : : "memory");
}
#endif

}  // namespace

void evict(const void* memory, std::size_t bytes) {
  if (bytes == 0) {
    return;
  }
  const auto* const begin = static_cast<const char*>(memory);
  for (std::size_t at = 0; at < bytes; at += kLineBytes) {
    evict_line(begin + at);
  }
  evict_line(begin + bytes - 1);
  finish();
}

}  // namespace understudy::calibrator
