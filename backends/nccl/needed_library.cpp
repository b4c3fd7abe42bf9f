#include "needed_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "et_schema/support/error.h"

namespace understudy::backends {

void NeededLibrary::refuse(std::string expected, std::string got) const {
  throw et_schema::usage_error(
      fmt::format("{} cannot be used", field),
      {.field = field,
       .expected = std::move(expected),
       .got = std::move(got),
       .hint = fmt::format("{} --comms host sends tensors through host memory instead.", source)});
}

void* NeededLibrary::open(const char* file, int flags) const {
  void* const opened = dlopen(file, flags);
  if (opened == nullptr) {
    refuse(file, dlerror());
  }
  return opened;
}

void* NeededLibrary::address_of(void* opened, const char* symbol) const {
  void* const address = dlsym(opened, symbol);
  if (address == nullptr) {
    refuse(symbol, fmt::format("a {} without it", name));
  }
  return address;
}

}  // namespace understudy::backends
