#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace understudy::replayer {

using at::Tensor;
/// The results that a substitute leaves on the stack.
using Results = std::vector<c10::IValue>;

/// Copies integers of any device and dtype to the host.
[[nodiscard]] std::vector<std::int64_t> to_host(const Tensor& integers);

/// Positions of a function's arguments among the recorded ones, resolved once at binding. `wanted`
/// is a list of names separated by blanks: "a|b" matches either name, "a?" may be missing.
class ArgumentPlaces {
 public:
  /// Returns nothing if a required argument was not recorded.
  [[nodiscard]] static std::optional<ArgumentPlaces> find(std::string_view wanted,
                                                          std::span<const std::string> recorded);
  [[nodiscard]] std::span<const std::optional<std::size_t>> places() const { return places_; }
  [[nodiscard]] std::size_t recorded() const { return recorded_; }

 private:
  std::vector<std::optional<std::size_t>> places_;
  std::size_t recorded_ = 0;
};

/// Reads the wanted arguments of one call, in the order of `wanted`. Each reader accepts every
/// boxed form of a recorded value: whole numbers for floats, lists of any kind, None. A value of
/// another kind throws c10::Error.
class Inputs {
 public:
  /// The recorded arguments are the `places.recorded()` entries that start at `first`.
  Inputs(const torch::jit::Stack& stack, std::size_t first, const ArgumentPlaces& places)
      : stack_(stack), first_(first), places_(places) {}

  [[nodiscard]] Tensor tensor();  ///< undefined for None
  [[nodiscard]] std::vector<Tensor> tensors();
  [[nodiscard]] std::int64_t integer(std::int64_t otherwise = 0);
  [[nodiscard]] std::optional<std::int64_t> maybe_integer();
  [[nodiscard]] double number(double otherwise = 0);
  [[nodiscard]] std::optional<double> maybe_number();
  [[nodiscard]] bool flag();
  [[nodiscard]] std::vector<std::int64_t> integers();

  /// Reads a value by its type: one of the types above, or a type whose read() reads several of
  /// them.
  template <typename Value>
  [[nodiscard]] Value take() {
    if constexpr (std::is_same_v<Value, Tensor>) {
      return tensor();
    } else if constexpr (std::is_same_v<Value, std::vector<Tensor>>) {
      return tensors();
    } else if constexpr (std::is_same_v<Value, std::int64_t>) {
      return integer();
    } else if constexpr (std::is_same_v<Value, std::optional<std::int64_t>>) {
      return maybe_integer();
    } else if constexpr (std::is_same_v<Value, double>) {
      return number();
    } else if constexpr (std::is_same_v<Value, std::optional<double>>) {
      return maybe_number();
    } else if constexpr (std::is_same_v<Value, bool>) {
      return flag();
    } else if constexpr (std::is_same_v<Value, std::vector<std::int64_t>>) {
      return integers();
    } else {
      return Value::read(*this);
    }
  }

 private:
  /// Returns the next wanted argument; null if it was not recorded or is None.
  const c10::IValue* next();

  const torch::jit::Stack& stack_;
  std::size_t first_;
  const ArgumentPlaces& places_;
  std::size_t taken_ = 0;
};

}  // namespace understudy::replayer
