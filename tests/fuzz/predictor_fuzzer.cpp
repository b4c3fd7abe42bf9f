#include <cstddef>
#include <cstdint>

#include "predictor_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  understudy::predictor::check_predictor_property({reinterpret_cast<const char*>(data), size});
  return 0;
}
