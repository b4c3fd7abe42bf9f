#pragma once

#include <cupti_result.h>

#include <cstddef>

#include "et_schema/base/shared_library.h"

/// Makes a block of parameters for CUPTI from its fields after `pPriv`, in their order. Its size
/// tells CUPTI which fields the caller knows. The size excludes padding at the end, so only the
/// headers' macros have it.
#define CUPTI_BLOCK(Block, ...) \
  ::understudy::replayer::cupti_block<Block>(Block##_STRUCT_SIZE __VA_OPT__(, ) __VA_ARGS__)

namespace understudy::replayer {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"  // results are zero
template <typename Block, typename... Fields>
[[nodiscard]] Block cupti_block(std::size_t size, Fields... fields) {
  return {size, nullptr, fields...};
}
#pragma GCC diagnostic pop

/// CUPTI, loaded at run time: the library that the variable UNDERSTUDY_CUPTI names, or else the one
/// that LibTorch brings.
class CuptiLibrary {
 public:
  /// Throws Error (failed) if the library cannot be loaded.
  CuptiLibrary();

  /// Calls the function and returns its status. Throws Error (failed) if the library lacks it.
  template <typename Block>
  [[nodiscard]] CUptiResult status_of(const char* function, Block& block) const {
    CUptiResult (*found)(Block*) = nullptr;
    library_.find(found, function);
    return found(&block);
  }
  /// Calls the function and returns the block with its results. Throws Error (failed) if it fails:
  /// the summary says what the user can do.
  template <typename Block>
  Block call(const char* function, Block block) const {
    check(function, status_of(function, block));
    return block;
  }
  /// Ends an object. Never fails.
  template <typename Block>
  void end(const char* function, Block block) const noexcept {
    if (auto* const found = library_.function<CUptiResult(Block*)>(function)) {
      found(&block);
    }
  }
  void check(const char* function, CUptiResult status) const;

 private:
  et_schema::SharedLibrary library_;
};

}  // namespace understudy::replayer
