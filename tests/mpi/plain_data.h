#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "et_schema/model/dtype.h"
#include "replayer/backends/interface/backend.h"

namespace understudy::tests {

/// Encodes numbers as elements of a dtype, without the code under test. They must be exact in the
/// dtype; integers wrap. Complex numbers have an imaginary part of zero.
[[nodiscard]] std::vector<std::byte> encode(et_schema::DType dtype,
                                            const std::vector<double>& numbers);

/// A test's tensor, which owns its memory.
class Data {
 public:
  Data(et_schema::DType dtype, const std::vector<double>& numbers)
      : dtype_(dtype),
        count_(static_cast<std::int64_t>(numbers.size())),
        bytes_(encode(dtype, numbers)) {}

  [[nodiscard]] backends::Buffer buffer() { return {bytes_.data(), count_, dtype_}; }
  [[nodiscard]] backends::Buffer part(std::int64_t first, std::int64_t count) {
    return {bytes_.data() + first * et_schema::item_size(dtype_), count, dtype_};
  }
  [[nodiscard]] bool holds(const std::vector<double>& numbers) const {
    return bytes_ == encode(dtype_, numbers);
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  et_schema::DType dtype_;
  std::int64_t count_;
  std::vector<std::byte> bytes_;
};

[[nodiscard]] inline std::vector<backends::Buffer> buffers_of(std::vector<Data>& tensors) {
  std::vector<backends::Buffer> buffers;
  for (Data& tensor : tensors) {
    buffers.push_back(tensor.buffer());
  }
  return buffers;
}

/// All dtypes that collectives accept.
[[nodiscard]] const std::vector<et_schema::DType>& all_dtypes();

/// The backend under test, which the test program's main makes.
[[nodiscard]] backends::Backend& backend();

}  // namespace understudy::tests
