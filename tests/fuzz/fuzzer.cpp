// A fuzz target: UNDERSTUDY_PROPERTY is the property of properties.h that it checks.

#include <cstddef>
#include <cstdint>
#include <string>

#include "properties.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of the exact size lets AddressSanitizer see reads beyond the end.
  const std::string input(data, data + size);
  static_cast<void>(understudy::UNDERSTUDY_PROPERTY(input));
  return 0;
}
