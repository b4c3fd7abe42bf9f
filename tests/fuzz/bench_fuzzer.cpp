#include <cstddef>
#include <cstdint>

#include "bench_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  understudy::et_schema::check_bench_property({reinterpret_cast<const char*>(data), size});
  return 0;
}
