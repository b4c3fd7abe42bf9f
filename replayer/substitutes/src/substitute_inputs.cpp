#include "substitute_inputs.h"

#include <algorithm>
#include <utility>

#include "et_schema/base/words.h"

namespace understudy::replayer {
namespace {

/// Returns the position of one wanted name or of its alternatives.
std::optional<std::size_t> place_of(std::string_view name, std::span<const std::string> recorded) {
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('|'), name.size());
    const auto found = std::find(recorded.begin(), recorded.end(), name.substr(0, end));
    if (found != recorded.end()) {
      return static_cast<std::size_t>(found - recorded.begin());
    }
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::int64_t> to_host(const Tensor& integers) {
  const Tensor copy = integers.to(at::kCPU, at::kLong).contiguous();
  const auto* data = copy.const_data_ptr<std::int64_t>();
  return {data, data + copy.numel()};
}

std::optional<ArgumentPlaces> ArgumentPlaces::find(std::string_view wanted,
                                                   std::span<const std::string> recorded) {
  ArgumentPlaces found;
  found.recorded_ = recorded.size();
  const bool is_missing = et_schema::any_word(wanted, [&](std::string_view name) {
    const bool optional = name.ends_with('?');
    found.places_.push_back(place_of(name.substr(0, name.size() - (optional ? 1 : 0)), recorded));
    return !found.places_.back() && !optional;
  });
  return is_missing ? std::nullopt : std::optional(std::move(found));
}

const c10::IValue* Inputs::next() {
  TORCH_INTERNAL_ASSERT(taken_ < places_.places().size());
  const std::optional<std::size_t> place = places_.places()[taken_++];
  if (!place || stack_.at(first_ + *place).isNone()) {
    return nullptr;
  }
  return &stack_[first_ + *place];
}

Tensor Inputs::tensor() {
  const c10::IValue* value = next();
  return value != nullptr ? value->toTensor() : Tensor();
}

std::vector<Tensor> Inputs::tensors() {
  const c10::IValue* value = next();
  std::vector<Tensor> result;
  if (value == nullptr) {
    return result;
  }
  if (value->isTensor()) {
    return {value->toTensor()};
  }
  for (const c10::IValue& item : value->toListRef()) {
    result.push_back(item.isNone() ? Tensor() : item.toTensor());
  }
  return result;
}

std::int64_t Inputs::integer(std::int64_t otherwise) {
  return maybe_integer().value_or(otherwise);
}

std::optional<std::int64_t> Inputs::maybe_integer() {
  const c10::IValue* value = next();
  return value != nullptr ? std::optional(value->toInt()) : std::nullopt;
}

double Inputs::number(double otherwise) {
  return maybe_number().value_or(otherwise);
}

std::optional<double> Inputs::maybe_number() {
  const c10::IValue* value = next();
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->isTensor()) {  // a learning rate may be a tensor or a number
    return value->toTensor().item<double>();
  }
  return value->toScalar().toDouble();
}

bool Inputs::flag() {
  const c10::IValue* value = next();
  return value != nullptr && (value->isBool() ? value->toBool() : value->toInt() != 0);
}

std::vector<std::int64_t> Inputs::integers() {
  const c10::IValue* value = next();
  std::vector<std::int64_t> result;
  if (value == nullptr) {
    return result;
  }
  if (value->isInt()) {
    return {value->toInt()};
  }
  if (value->isTensor()) {
    return to_host(value->toTensor());
  }
  for (const c10::IValue& item : value->toListRef()) {
    result.push_back(item.toInt());
  }
  return result;
}

}  // namespace understudy::replayer
