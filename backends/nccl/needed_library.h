#pragma once

#include <string>

namespace understudy::backends {

/// A library of others that is found at run time, as errors tell of it where it cannot be used.
struct NeededLibrary {
  const char* field;   ///< "CUDA's driver"
  const char* name;    ///< of one without a function: "libcuda.so.1", "library"
  const char* source;  ///< a sentence on where to get it

  /// Throws Error (usage).
  [[noreturn]] void refuse(std::string expected, std::string got) const;

  /// As dlopen() does. Throws Error (usage) with its words.
  [[nodiscard]] void* open(const char* file, int flags) const;

  /// Sets `function` to that of `opened`. Throws Error (usage) where there is none.
  template <typename Function>
  void find(void* opened, Function& function, const char* symbol) const {
    function = reinterpret_cast<Function>(address_of(opened, symbol));
  }

  /// Throws Error (usage) where there is none.
  [[nodiscard]] void* address_of(void* opened, const char* symbol) const;
};

}  // namespace understudy::backends
