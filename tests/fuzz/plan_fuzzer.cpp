#include <cstddef>
#include <cstdint>
#include <string>

#include "plan_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of the exact size lets AddressSanitizer see reads beyond the end.
  const std::string input(data, data + size);
  understudy::fuzz::check_plan(input);
  return 0;
}
