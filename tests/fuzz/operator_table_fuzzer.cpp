#include <cstddef>
#include <cstdint>

#include "prediction_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  understudy::fuzz::check_operator_table({reinterpret_cast<const char*>(data), size});
  return 0;
}
