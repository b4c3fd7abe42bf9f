#include "capture/played/cupti/buffers.h"

#include <cstring>

namespace played {

void Buffers::set_callbacks(CUpti_BuffersCallbackRequestFunc request,
                            CUpti_BuffersCallbackCompleteFunc complete) {
  request_ = request;
  complete_ = complete;
}

void Buffers::flush() {
  if (buffer_ != nullptr) {
    complete_(nullptr, 0, buffer_, size_, used_);
  }
  buffer_ = nullptr;
}

void Buffers::add_bytes(const void* record, std::size_t bytes) {
  if (buffer_ != nullptr && used_ + kPlaceBytes > size_) {
    flush();
  }
  if (buffer_ == nullptr) {
    std::size_t most_records = 0;
    used_ = 0;
    request_(&buffer_, &size_, &most_records);
  }
  if (buffer_ != nullptr && kPlaceBytes <= size_) {
    std::memcpy(buffer_ + used_, record, bytes);
    used_ += kPlaceBytes;
  }
}

}  // namespace played
