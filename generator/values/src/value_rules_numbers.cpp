#include <algorithm>
#include <cmath>

#include "generator/flow/model_names.h"
#include "value_arguments.h"
#include "value_kinds.h"

namespace understudy::generator {
namespace {

/// Returns the number of hidden elements of a mask: a quarter, but fewer than a row. The softmax of
/// a hidden row would be NaN.
std::int64_t hidden_elements(const Slot& mask) {
  const bool repeats = !mask.strides.empty() && mask.strides.back() == 0;
  const std::int64_t row = repeats ? 1 : size_at(&mask, -1).value_or(1);
  return std::max<std::int64_t>(std::min(element_count(mask) / 4, row - 1), 0);
}

/// Returns how many elements two tensors have once they are broadcast to each other.
std::int64_t broadcast_elements(const Slot& one, const Slot& other) {
  std::int64_t elements = 1;
  const auto rank = static_cast<std::int64_t>(std::max(one.sizes.size(), other.sizes.size()));
  for (std::int64_t dim = -rank; dim < 0; ++dim) {
    const std::int64_t first = size_at(&one, dim).value_or(1);
    elements *= first == 1 ? size_at(&other, dim).value_or(1) : first;
  }
  return elements;
}

/// Returns a mask that selects `count` elements of the tensor beside it. A mask that is broadcast
/// selects several with each of its true elements.
ValueRule selecting_mask(const CallView& call, const Slot& self, std::int64_t count) {
  const std::int64_t own = element_count(self);
  if (const Slot* beside = call.tensor("self|input|grad_output"); beside != nullptr && own > 0) {
    count /= std::max<std::int64_t>(broadcast_elements(self, *beside) / own, 1);
  }
  return mask(std::min(count, own));
}

/// Returns a mask with as many true elements as the first result has rows.
std::optional<ValueRule> counted_mask(const CallView& call) {
  const Slot* result = call.first_result();
  return result == nullptr ? std::nullopt : std::optional(mask(size_at(result, 0).value_or(0)));
}

/// Returns a rule for the condition of where(). If the value chosen by true is a number
/// (where.ScalarSelf), true hides an element: few are true. Otherwise true keeps the element, and
/// nothing is returned.
std::optional<ValueRule> choosing_mask(const CallView& call, const Slot& condition) {
  return call.overload() == "ScalarSelf" ? std::optional(mask(hidden_elements(condition)))
                                         : std::nullopt;
}

std::optional<ValueRule> keep_mask(const CallView& call) {
  constexpr double kUsualShare = 0.9;
  const std::optional<double> scale = call.number("scale");  // 1 / (1 - p)
  return bernoulli(scale && *scale >= 1 ? 1 / *scale : kUsualShare);
}

/// Returns true if any base is valid: the exponent is an integer and not negative.
bool takes_any_base(const CallView& call) {
  const std::optional<double> exponent = call.number("exponent");
  return exponent && *exponent >= 0 && *exponent == std::floor(*exponent);
}

std::optional<ValueRule> matrix(const Slot& slot) {
  const std::size_t rank = slot.sizes.size();
  const bool is_square =
      rank >= 2 && slot.sizes[rank - 1] == slot.sizes[rank - 2] && slot.sizes[rank - 1] > 0;
  if (!is_square || et_schema::is_complex(slot.dtype)) {
    return std::nullopt;
  }
  return ValueRule{ValueRule::Dominant{.rows = slot.sizes.back(), .diagonal = 1}};
}

std::optional<ValueRule> real_rule(Meaning meaning, const Slot& slot, const CallView& call) {
  switch (meaning) {
    case Meaning::kProbability:
      return uniform(0.05, 0.95);
    case Meaning::kUnit:
      return uniform(-0.9, 0.9);
    case Meaning::kAboveOne:
      return uniform(1.5, 2.5);
    case Meaning::kPowerBase:
      return takes_any_base(call) ? std::nullopt : std::optional(uniform(0.5, 1.5));
    case Meaning::kPositive:
    case Meaning::kDivisor:
    case Meaning::kScale:
      return uniform(0.5, 1.5);
    case Meaning::kSmall:
      return normal(0.01);
    case Meaning::kMovingAverage:
      return call.op().ends_with('_') ? std::optional(normal(0.01)) : std::nullopt;
    case Meaning::kSecondMoment:
      return uniform(1e-4, 1e-3);
    case Meaning::kQuantumScale:
      return uniform(0.01, 0.02);
    case Meaning::kMatrix:
      return matrix(slot);
    default:
      return std::nullopt;
  }
}

}  // namespace

bool decides_a_shape(const ArgumentFact& row, const et_schema::Instruction& instruction) {
  return row.meaning == Meaning::kSelectsResult || row.meaning == Meaning::kSelectsAll ||
         (row.meaning == Meaning::kCondition && instruction.args.size() == 1);
}

std::optional<ValueRule> make_mask_rule(const ArgumentFact& row, const CallView& call) {
  const Slot* self = call.tensor(row.name);
  const Slot* of = call.tensor(row.of);
  switch (row.meaning) {
    case Meaning::kSelectsResult:
      of = call.first_result();
      if (row.name == "self") {
        return counted_mask(call);
      }
      [[fallthrough]];
    case Meaning::kSelectsAll:
      return self == nullptr || of == nullptr
                 ? std::nullopt
                 : std::optional(selecting_mask(call, *self, element_count(*of)));
    case Meaning::kCondition:
      if (call.argument_count() == 1) {
        return counted_mask(call);
      }
      return self == nullptr ? std::nullopt : choosing_mask(call, *self);
    case Meaning::kHides:
      return self == nullptr ? std::nullopt : std::optional(mask(hidden_elements(*self)));
    case Meaning::kShows:
      return self == nullptr || self->dtype != et_schema::DType::kBool
                 ? std::nullopt
                 : std::optional(mask(element_count(*self) - hidden_elements(*self)));
    case Meaning::kKeepMask:
      return keep_mask(call);
    default:
      return std::nullopt;
  }
}

std::optional<ValueRule> make_number_rule(const ArgumentFact& row, const CallView& call) {
  const Slot* self = call.tensor(row.name);
  if (self == nullptr) {
    return std::nullopt;
  }
  const bool is_real = et_schema::is_floating(self->dtype) || et_schema::is_complex(self->dtype);
  switch (row.meaning) {
    case Meaning::kAscending: {
      const std::int64_t count = size_at(self, -1).value_or(1);
      return arange(is_real ? -(count / 2) : 0, 1);  // real numbers are centred at zero
    }
    case Meaning::kZero:
      return constant(0);
    case Meaning::kStepCount:
      return constant(100);
    case Meaning::kPositive:
    case Meaning::kDivisor:
      if (et_schema::is_integral(self->dtype)) {
        return any_positive();
      }
      break;
    default:
      break;
  }
  return is_real ? real_rule(row.meaning, *self, call) : std::nullopt;
}

}  // namespace understudy::generator
