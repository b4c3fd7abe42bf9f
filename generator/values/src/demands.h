#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/options/options.h"

namespace understudy::generator {

/// What is asked of a run of elements of a storage.
struct Demand {
  std::int64_t offset = 0;  ///< in elements of dtype
  std::int64_t count = 0;
  et_schema::DType dtype = et_schema::DType::kUndefined;
  et_schema::ValueRule rule;
  bool through_arithmetic = true;  ///< what must be positive may be asked of summands and factors
};

/// Value of ValueRule::why where the trace itself tells a range.
inline constexpr const char* kCapturedRange = "captured range";
/// The same where the reuse of index values was recorded.
inline constexpr const char* kCapturedReuse = "captured reuse";

/// True of rules that say nothing about order: they hold for any selection of the elements.
[[nodiscard]] bool is_order_free(const et_schema::ValueRule& rule);

/// The demands on the content of a program's storages.
class Demands {
 public:
  explicit Demands(et_schema::Program& program);

  /// Asks for the elements of a slot; Python scalars are left as they are. What is asked of a
  /// sparse tensor only passes through it.
  void ask(et_schema::SlotId id, et_schema::ValueRule rule, bool through_arithmetic = true);
  /// The same for each tensor of an argument.
  void ask(const et_schema::Argument& argument, const et_schema::ValueRule& rule,
           bool through_arithmetic = true);
  /// Of two demands on the same elements the stricter holds; one on order is stricter than one on a
  /// range.
  void add(et_schema::StorageId storage, const Demand& demand);
  [[nodiscard]] const std::vector<Demand>& on(et_schema::StorageId storage) const {
    return by_storage_[storage];
  }
  /// The demand on the most elements; of several the last one. Null where nothing is asked.
  [[nodiscard]] const Demand* widest(et_schema::StorageId storage) const;
  /// One rule for all of a tensor's elements: offsets or lengths that are asked of its first ones,
  /// as long as the others can be had with them, else the widest demand, or lengths of its parts.
  [[nodiscard]] std::optional<et_schema::ValueRule> rule_of_all(const et_schema::Slot& slot) const;

  /// Writes the demands on external storages into their external slots, indices spread as the user
  /// wants where nothing is known of them. One on elements that are no slot of their own becomes a
  /// new slot, behind the others.
  void write(const IndexSpread& spread);

 private:
  void write(et_schema::StorageId storage, const std::vector<et_schema::SlotId>& slots,
             const Demand& demand);

  et_schema::Program& program_;
  std::vector<std::vector<Demand>> by_storage_;
};

}  // namespace understudy::generator
