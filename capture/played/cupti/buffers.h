#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace played {

/// Of each record in a buffer.
inline constexpr std::size_t kPlaceBytes = 256;

/// Kineto's buffers: it gives an empty one when asked, and takes each back with its records.
class Buffers {
 public:
  void set_callbacks(CUpti_BuffersCallbackRequestFunc request,
                     CUpti_BuffersCallbackCompleteFunc complete);

  template <typename Record>
  void add(const Record& record) {
    static_assert(sizeof record <= kPlaceBytes);
    add_bytes(&record, sizeof record);
  }
  /// Gives the last buffer back.
  void flush();

 private:
  void add_bytes(const void* record, std::size_t bytes);

  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  std::uint8_t* buffer_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
};

}  // namespace played
