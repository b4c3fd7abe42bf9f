#include <cstddef>
#include <cstdint>

#include "page_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)understudy::pages::check_page_property({reinterpret_cast<const char*>(data), size});
  return 0;
}
