#include "capture/played/cupti/buffers.h"

#include <cstring>

namespace played {
namespace {

// Before each record are its bytes, itself included.
constexpr std::size_t kHead = 16;

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + kHead - 1) / kHead * kHead;
}

}  // namespace

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
  const std::size_t whole = kHead + rounded_up(bytes);
  if (buffer_ != nullptr && used_ + whole > size_) {
    flush();
  }
  if (buffer_ == nullptr) {
    std::size_t most_records = 0;
    used_ = 0;
    request_(&buffer_, &size_, &most_records);
  }
  if (buffer_ == nullptr || whole > size_) {
    return;
  }
  std::memcpy(buffer_ + used_, &whole, sizeof whole);
  std::memcpy(buffer_ + used_ + kHead, record, bytes);
  used_ += whole;
}

CUpti_Activity* Buffers::next(std::uint8_t* buffer, std::size_t used, CUpti_Activity* record) {
  std::uint8_t* head = buffer;
  if (record != nullptr) {
    head = reinterpret_cast<std::uint8_t*>(record) - kHead;
    std::size_t whole = 0;
    std::memcpy(&whole, head, sizeof whole);
    head += whole;
  }
  return head < buffer + used ? reinterpret_cast<CUpti_Activity*>(head + kHead) : nullptr;
}

}  // namespace played
