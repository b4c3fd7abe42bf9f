#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>
#include <string_view>
#include <type_traits>

namespace understudy::et_schema {

/// Allocates texts and arrays in a Trace's arena, which frees all of them at once.
class Arena {
 public:
  explicit Arena(std::pmr::memory_resource& resource) : resource_(&resource) {}

  [[nodiscard]] std::string_view copy(std::string_view text) {
    if (text.empty()) {
      return {};
    }
    char* place = static_cast<char*>(resource_->allocate(text.size(), 1));
    std::copy(text.begin(), text.end(), place);
    return {place, text.size()};
  }

  template <typename T>
  [[nodiscard]] std::span<T> array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>, "nobody calls destructors in the arena");
    if (count == 0) {
      return {};
    }
    T* place = static_cast<T*>(resource_->allocate(count * sizeof(T), alignof(T)));
    std::uninitialized_default_construct_n(place, count);
    return {place, count};
  }

  template <typename T>
  [[nodiscard]] std::span<T> copy(std::span<const T> values) {
    const std::span<T> placed = array<T>(values.size());
    std::copy(values.begin(), values.end(), placed.begin());
    return placed;
  }

  template <typename T>
  [[nodiscard]] T* make(const T& value) {
    std::span<T> place = array<T>(1);
    place[0] = value;
    return place.data();
  }

 private:
  std::pmr::memory_resource* resource_;
};

}  // namespace understudy::et_schema
