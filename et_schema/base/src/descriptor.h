#pragma once

#include <unistd.h>

#include <utility>

namespace understudy::et_schema {

/// An open file, or -1.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { static_cast<void>(close()); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  /// Returns the result of ::close(), or 0 if no file is open.
  int close() { return is_open() ? ::close(std::exchange(number_, -1)) : 0; }

 private:
  int number_;
};

}  // namespace understudy::et_schema
