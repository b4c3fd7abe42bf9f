#pragma once

#include <dlfcn.h>

#include <functional>
#include <string>

#include "et_schema/base/error.h"

namespace understudy::et_schema {

/// Returns the directory of the modules of an installed or built program: `../lib/understudy`
/// beside the folder of the running program.
[[nodiscard]] std::string module_directory();

/// A third-party library that is found at run time and stays loaded. Its `Refusal` names the
/// library and where to get it.
class SharedLibrary {
 public:
  /// Returns the Error to throw if the library or one of its functions is missing.
  using Refusal = std::function<Error(std::string expected, std::string got)>;

  /// Opens a library by dlopen() with RTLD_NOW and `flags`. If that fails, throws the refusal with
  /// the loader's message; without a refusal, the library then has no functions.
  SharedLibrary(const std::string& file, int flags, Refusal refusal = nullptr);

  /// Returns null if no function has this name.
  template <typename Function>
  [[nodiscard]] Function* function(const char* symbol) const {
    return reinterpret_cast<Function*>(address_of(symbol));
  }

  /// Sets `found` to the function of this name. If none exists, throws the refusal; without a
  /// refusal, sets null.
  template <typename Function>
  void find(Function*& found, const char* symbol) const {
    found = function<Function>(symbol);
    if (found == nullptr && refusal_) {
      throw refusal_(symbol, "a library without it");
    }
  }

 private:
  [[nodiscard]] void* address_of(const char* symbol) const;

  void* handle_;
  Refusal refusal_;
};

/// A function of a library that returns a status.
template <typename... Parameters>
struct StatusFunction {
  StatusFunction(const SharedLibrary& library, const char* symbol) : name(symbol) {
    library.find(call, symbol);
  }
  [[nodiscard]] explicit operator bool() const { return call != nullptr; }
  int operator()(Parameters... parameters) const { return call(parameters...); }

  const char* name;
  int (*call)(Parameters...) = nullptr;
};

}  // namespace understudy::et_schema
