#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"
#include "replayer/bind/bound.h"
#include "replayer/substitutes/substitutes.h"
#include "replayer/values/values.h"
#include "replayer/values/zeros.h"

namespace understudy::replayer {

/// The tensors that a program needs before it runs: externals, and the tensors that kGive steps
/// hand out. Each storage is one allocation; large storages of the CPU are mapped on demand
/// (maps_on_demand()).
class Externals {
 public:
  Externals(const et_schema::Program& program, c10::Device device, std::uint64_t seed);

  /// Allocates and fills what `bound` needs and does not have yet. Throws Error: failed (too little
  /// memory, with what was asked for and what there is), bad input (a layout outside of its
  /// storage, a value rule that cannot hold).
  void ensure(const BoundProgram& bound);
  /// Does the same for states, which ensure() leaves out.
  void ensure_states(const BoundProgram& bound);

  /// Puts fresh views of the externals into their slots, and the given tensors into theirs.
  void place(std::vector<at::Tensor>& slots, std::vector<at::Tensor>& given) const;

  /// Restores the first content: of everything, or after remember() of what `bound` changes.
  void restore();

  /// Keeps a copy of what `bound` changes, up to kRememberedBytes, so that restore() is quick. To
  /// be called right after restore(); the copies are no tensors and do not count as such.
  void remember(const BoundProgram& bound);

  /// Draws other index values for later iterations, so that a step never meets the rows of the step
  /// before it, which would still lie in the caches. To be called after remember(); the draws are
  /// kept beside the tensors and do not count as such.
  void draw_variants();
  /// How many draws of index values the iterations take in turn.
  static constexpr std::size_t kVariants = 4;
  /// Sets the index values of iteration `number`.
  void vary(std::size_t number);

  /// Find the zeros of storages that held zeros in the original (et_schema::Storage::zeros): they
  /// lie where the program writes nothing. begin_zeros() clears all these storages; then kVariants
  /// iterations run; settle_zeros() restores everything, except that what nothing has written stays
  /// zero, up to the original's share. To be called after draw_variants(). False if the original
  /// had no such zeros: the iterations then run only because other ranks wait for this one.
  [[nodiscard]] bool begin_zeros();
  void settle_zeros();

  /// Fills the rows of mapped tables that a call is about to read.
  void seed(const std::vector<TableReach>& reach);
  [[nodiscard]] bool has_mapped() const { return has_mapped_; }
  /// Whether the tensor is mapped on demand; such a tensor must never be read as a whole.
  [[nodiscard]] bool is_mapped(et_schema::SlotId slot) const;

  /// Bytes of the externals that are in memory: everything allocated, what the original held beside
  /// its tensors included, and the touched pages of what is mapped.
  [[nodiscard]] std::uint64_t touched_bytes() const;
  /// Touched pages of what is mapped, in bytes; the allocator does not count them.
  [[nodiscard]] std::uint64_t touched_mapped_bytes() const;

 private:
  struct Memory {
    c10::Storage storage;
    bool mapped = false;
  };
  /// The size of the memory; 0 on the device "meta".
  [[nodiscard]] static std::size_t memory_bytes(const Memory& memory);
  struct Tensor {
    et_schema::SlotId slot = 0;
    at::Tensor tensor;
  };

  void allocate(et_schema::StorageId storage);
  [[nodiscard]] at::Tensor bytes_of(et_schema::StorageId storage) const;
  [[nodiscard]] c10::Storage variant_of(et_schema::StorageId storage) const;
  [[nodiscard]] c10::Storage copy_of(et_schema::StorageId storage) const;
  void put_back(et_schema::StorageId storage, const c10::Storage& copy);
  void add(const std::vector<et_schema::SlotId>& slots);
  void add_parts(std::vector<Tensor>& added);
  void refuse_what_does_not_fit(const std::vector<et_schema::SlotId>& slots) const;
  [[nodiscard]] at::Tensor view(et_schema::SlotId slot) const;
  [[nodiscard]] at::Tensor make_given(et_schema::SlotId slot) const;
  [[nodiscard]] et_schema::ValueRule rule_of(et_schema::SlotId slot) const;
  void fill(const Tensor& tensor) const;
  [[nodiscard]] bool has_zeros(const Tensor& tensor) const;
  void fill_in_order(const std::vector<Tensor>& tensors) const;

  const et_schema::Program& program_;
  c10::Device device_;
  std::uint64_t seed_;
  bool has_mapped_ = false;
  std::vector<std::optional<Memory>> memory_;  ///< by storage
  std::vector<at::Tensor> untouched_;          ///< et_schema::Storage::untouched
  /// By storage; empty: no copy. Copies are mapped, so that they take no space from what the step
  /// allocates.
  std::vector<std::optional<c10::Storage>> copies_;
  std::vector<bool> changes_;  ///< by storage, after remember()
  /// The contents that take turns, for each storage that holds only index values.
  struct Variants {
    et_schema::StorageId storage = 0;
    std::vector<c10::Storage> contents;  ///< on the CPU without the one in use
    std::size_t present = 0;
  };
  std::vector<Variants> variants_;
  struct WithZeros {
    et_schema::StorageId storage = 0;
    Zeros zeros;
  };
  std::vector<WithZeros> with_zeros_;
  std::vector<Tensor> externals_;
  std::vector<Tensor> given_;
  std::vector<bool> known_;  ///< by slot: among externals_ or given_
  /// By the address of the table and the size of its rows.
  std::map<std::pair<const void*, std::int64_t>, std::unique_ptr<TableSeeder>> seeders_;
};

}  // namespace understudy::replayer
