#include <cstddef>
#include <cstdint>

#include "what_if_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  understudy::fuzz::check_what_if({reinterpret_cast<const char*>(data), size});
  return 0;
}
