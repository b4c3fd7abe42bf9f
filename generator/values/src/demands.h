#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/options/options.h"

namespace understudy::generator {

/// A requirement on a range of elements of a storage.
struct Demand {
  std::int64_t offset = 0;  ///< in elements of `dtype`
  std::int64_t count = 0;
  et_schema::DType dtype = et_schema::DType::kUndefined;
  et_schema::ValueRule rule;
  bool through_arithmetic = true;  ///< a demand to be positive may move to summands and factors
};

/// Value of ValueRule::why if the trace records the range.
inline constexpr const char* kCapturedRange = "captured range";
/// Value of ValueRule::why if the trace records how often index values repeat.
inline constexpr const char* kCapturedReuse = "captured reuse";

/// Returns true for rules that hold for any selection and order of the elements.
[[nodiscard]] bool is_order_free(const et_schema::ValueRule& rule);

/// The demands on the content of a program's storages.
class Demands {
 public:
  explicit Demands(et_schema::Program& program);

  /// Adds a demand on the elements of a slot. Python scalars are ignored. A demand on a sparse
  /// tensor is only passed on to its origin.
  void ask(et_schema::SlotId id, et_schema::ValueRule rule, bool through_arithmetic = true);
  /// Adds the demand for each tensor of an argument.
  void ask(const et_schema::Argument& argument, const et_schema::ValueRule& rule,
           bool through_arithmetic = true);
  /// Adds a demand. Of two demands on the same elements the stricter one applies; a demand on order
  /// is stricter than one on a range.
  void add(et_schema::StorageId storage, const Demand& demand);
  [[nodiscard]] const std::vector<Demand>& on(et_schema::StorageId storage) const {
    return by_storage_[storage];
  }
  /// Returns the demand on the most elements, the last of equal ones; null if there is none.
  [[nodiscard]] const Demand* widest(et_schema::StorageId storage) const;
  /// Returns one rule for all of a tensor's elements: offsets or lengths demanded of its first
  /// elements, extended to all; else the widest demand, if it applies to all; else lengths of its
  /// parts.
  [[nodiscard]] std::optional<et_schema::ValueRule> rule_of_all(const et_schema::Slot& slot) const;

  /// Sets the value rules of external slots from the demands on their storages. Unconstrained
  /// indices follow `spread`. A demand on elements without a slot of their own adds a new slot
  /// after the others.
  void write(const IndexSpread& spread);

 private:
  using Place = std::tuple<std::int64_t, std::int64_t, et_schema::DType>;  ///< offset, count
  using ContiguousSlots = std::map<Place, et_schema::SlotId>;
  void write(et_schema::StorageId storage, const ContiguousSlots& slots, const Demand& demand);

  et_schema::Program& program_;
  std::vector<std::vector<Demand>> by_storage_;
  std::vector<std::map<Place, std::size_t>> places_;  ///< in by_storage_
};

}  // namespace understudy::generator
