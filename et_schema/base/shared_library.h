#pragma once

#include <dlfcn.h>

#include <functional>
#include <string>
#include <utility>

#include "et_schema/base/error.h"

namespace understudy::et_schema {

/// A library of others that is found at run time, and stays loaded. Whose it is, and where to get
/// it, its `Refusal` says.
class SharedLibrary {
 public:
  /// The Error to throw where the library or a function of it is missing.
  using Refusal = std::function<Error(std::string expected, std::string got)>;

  /// As dlopen() does, with RTLD_NOW and these flags. Throws the refusal, with the loader's words;
  /// without a refusal the library then has no functions.
  SharedLibrary(const std::string& file, int flags, Refusal refusal = nullptr);
  /// What the process has loaded: a handle of dlopen(), or RTLD_DEFAULT.
  SharedLibrary(void* handle, Refusal refusal) : handle_(handle), refusal_(std::move(refusal)) {}

  /// Null where there is none of this name.
  template <typename Function>
  [[nodiscard]] Function* function(const char* symbol) const {
    return reinterpret_cast<Function*>(address_of(symbol));
  }

  /// Sets `found` to the function of this name. Throws the refusal where there is none.
  template <typename Function>
  void find(Function*& found, const char* symbol) const {
    found = function<Function>(symbol);
    if (found == nullptr) {
      throw refusal_(symbol, "a library without it");
    }
  }

 private:
  [[nodiscard]] void* address_of(const char* symbol) const;

  void* handle_;
  bool is_open_ = true;  ///< RTLD_DEFAULT is null, too
  Refusal refusal_;
};

}  // namespace understudy::et_schema
