#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"

namespace understudy::generator {

/// Numbers the tensors of a program: one slot for each layout of each storage lifetime.
///
/// A slot defined by an instruction of the program is visible from there on. A slot defined inside
/// a body is visible only in that body: a body is a scope, since a target runs only the bodies that
/// it needs.
class SlotTable {
 public:
  SlotTable(const et_schema::Trace& trace, et_schema::Program& program);

  void enter_body() { scopes_.push_back(++last_scope_); }
  void leave_body() { scopes_.pop_back(); }

  /// Marks a lifetime that began in an operator outside of the program: its tensors are external.
  void mark_external(LifetimeId lifetime) { storage_of(lifetime).external = true; }

  /// Returns the visible slot with the tensor's layout; empty if there is none.
  [[nodiscard]] std::optional<et_schema::SlotId> find(LifetimeId lifetime,
                                                      const et_schema::Tensor& tensor) const;
  /// Returns the last defined visible slot of the lifetime that is not sparse: the base for a view.
  [[nodiscard]] std::optional<et_schema::SlotId> any(LifetimeId lifetime) const;
  /// Defines the slot of a tensor that `producer` returned, or that an alias makes (kNoNode).
  /// Results of in-place operators keep their slot.
  [[nodiscard]] et_schema::SlotId define(LifetimeId lifetime, const et_schema::Tensor& tensor,
                                         et_schema::NodeIndex producer);
  /// Defines a tensor that exists before the run.
  [[nodiscard]] et_schema::SlotId define_external(LifetimeId lifetime,
                                                  const et_schema::Tensor& tensor);
  /// Defines an external tensor with its own storage. A body uses it for memory that only another
  /// body made.
  [[nodiscard]] et_schema::SlotId define_detached(const et_schema::Tensor& tensor);
  /// Defines a Python scalar: detached, and marked as a scalar.
  [[nodiscard]] et_schema::SlotId define_wrapped_number(const et_schema::Tensor& tensor);

 private:
  struct Entry {
    et_schema::SlotId slot = 0;
    std::int64_t tensor_id = 0;  ///< id that the tensor had when it was last seen
    std::uint32_t scope = 0;
  };
  struct Storage {
    std::optional<et_schema::StorageId> id;
    bool external = false;
    std::vector<Entry> entries;  ///< in order of definition
  };

  [[nodiscard]] Storage& storage_of(LifetimeId lifetime) { return storages_[lifetime]; }
  [[nodiscard]] bool is_visible(const Entry& entry) const;
  [[nodiscard]] bool has_layout(const Entry& entry, const et_schema::Tensor& tensor,
                                std::span<const std::int64_t> strides) const;
  et_schema::SlotId define(LifetimeId lifetime, const et_schema::Tensor& tensor,
                           const std::vector<std::int64_t>& strides, bool external);
  [[nodiscard]] et_schema::SlotId new_slot(et_schema::StorageId storage,
                                           const et_schema::Tensor& tensor,
                                           std::vector<std::int64_t> strides, bool external);
  /// Returns a result's strides: the recorded ones, or those of the input that it changes in place,
  /// or those of the view operator below the producer that made it, or contiguous ones.
  [[nodiscard]] std::vector<std::int64_t> result_strides(LifetimeId lifetime,
                                                         const et_schema::Tensor& tensor,
                                                         et_schema::NodeIndex producer) const;
  [[nodiscard]] std::optional<et_schema::SlotId> in_place_slot(LifetimeId lifetime,
                                                               const et_schema::Tensor& tensor,
                                                               et_schema::NodeIndex producer) const;

  const et_schema::Trace& trace_;
  et_schema::Program& program_;
  std::unordered_map<LifetimeId, Storage> storages_;
  std::vector<std::uint32_t> scopes_ = {0};
  std::uint32_t last_scope_ = 0;
};

}  // namespace understudy::generator
