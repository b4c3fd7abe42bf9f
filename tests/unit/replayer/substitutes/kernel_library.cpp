// As `generate --compile-kernels` makes them: kernels in a library that a benchmark brings along.

#include <cstdint>
#include <stdexcept>

namespace {

/// out = in + by.
void add(const float* in, float* out, std::int64_t elements, double by) {
  for (std::int64_t i = 0; i < elements; ++i) {
    out[i] = in[i] + static_cast<float>(by);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void run_add(void** arguments) {
  add(*static_cast<const float**>(arguments[0]), *static_cast<float**>(arguments[1]),
      *static_cast<const std::int64_t*>(arguments[2]), *static_cast<const double*>(arguments[3]));
}

extern "C" __attribute__((visibility("default"))) void run_failing(void** /*arguments*/) {
  throw std::runtime_error("index out of bounds: 0 <= tmp4 < 2000L");
}
