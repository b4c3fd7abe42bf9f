#include "parts.h"

#include <cstring>
#include <functional>

#include "replayer/backends/interface/check_call.h"

namespace understudy::backends {

Buffer slice(const Buffer& whole, std::int64_t first, std::int64_t count) {
  auto* begin = static_cast<std::byte*>(whole.data);
  if (first > 0) {
    begin += first * et_schema::item_size(whole.dtype);
  }
  return Buffer{begin, count, whole.dtype};
}

std::vector<Buffer> split(const Buffer& whole, const std::vector<std::int64_t>& counts) {
  std::vector<Buffer> parts;
  std::int64_t at = 0;
  for (const std::int64_t count : counts) {
    parts.push_back(slice(whole, at, count));
    at += count;
  }
  return parts;
}

std::vector<Buffer> equal_parts(const std::vector<Buffer>& wholes, int n) {
  std::vector<Buffer> parts;
  for (const Buffer& whole : wholes) {
    const std::vector<Buffer> of_whole = even_parts(whole, n);
    parts.insert(parts.end(), of_whole.begin(), of_whole.end());
  }
  return parts;
}

std::vector<Buffer> even_parts(const Buffer& whole, int n) {
  const std::int64_t quotient = whole.count / n;
  const std::int64_t remainder = whole.count % n;
  std::vector<std::int64_t> counts;
  for (std::int64_t i = 0; i < n; ++i) {
    counts.push_back(quotient + (i < remainder ? 1 : 0));
  }
  return split(whole, counts);
}

void copy(const Buffer& from, const Buffer& to) {
  if (from.data != to.data && from.count > 0) {
    std::memmove(to.data, from.data, static_cast<std::size_t>(size_bytes(from)));
  }
}

bool overlap(const Buffer& a, const Buffer& b) {
  const auto* a_begin = static_cast<const std::byte*>(a.data);
  const auto* b_begin = static_cast<const std::byte*>(b.data);
  return a.count > 0 && b.count > 0 && std::less<>()(a_begin, b_begin + size_bytes(b)) &&
         std::less<>()(b_begin, a_begin + size_bytes(a));
}

}  // namespace understudy::backends
