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

/// The tensors that a program needs before it runs: externals, and the tensors of kGive steps. Each
/// storage is one allocation; large CPU storages are mapped on demand (maps_on_demand()).
class Externals {
 public:
  Externals(const et_schema::Program& program, c10::Device device, std::uint64_t seed);

  /// Allocates and fills the tensors that `bound` needs and that do not exist yet. Throws Error
  /// (failed) if memory is too small, with the sizes requested and available; Error (bad input) for
  /// a layout outside of its storage or a value rule that cannot hold.
  void ensure(const BoundProgram& bound);
  /// Likewise for optimizer states, which ensure() skips.
  void ensure_states(const BoundProgram& bound);

  /// Sets `slots` to fresh views of the externals, and `given` to the tensors of kGive steps.
  void place(std::vector<at::Tensor>& slots, std::vector<at::Tensor>& given) const;

  /// Restores the initial content of all tensors; after remember(), only of tensors that its
  /// `bound` changes.
  void restore();

  /// Copies the tensors that `bound` changes, up to kRememberedBytes, to make restore() fast. Must
  /// be called right after restore(). The copies do not count as tensors.
  void remember(const BoundProgram& bound);

  /// Draws more index values for later iterations. Otherwise each step would read the rows of the
  /// step before it, which are still cached. Must be called after remember(). The draws do not
  /// count as tensors.
  void draw_variants();
  /// Number of draws of index values that iterations cycle through.
  static constexpr std::size_t kVariants = 4;
  /// Sets the index values of iteration `number`.
  void vary(std::size_t number);

  /// Reproduce the share of zeros in storages that held zeros in the original
  /// (et_schema::Storage::zeros), in rows that the program does not write. begin_zeros() clears
  /// these storages. Then kVariants iterations must run. settle_zeros() restores all content,
  /// except for rows that stayed zero: they are zeros from then on, up to the original's share.
  /// Must be called after draw_variants(). begin_zeros() returns false if the original had no such
  /// zeros: the iterations then run only because other ranks wait.
  [[nodiscard]] bool begin_zeros();
  void settle_zeros();

  /// Fills the rows of mapped tables that a call will read.
  void seed(const std::vector<TableReach>& reach);
  [[nodiscard]] bool has_mapped() const { return has_mapped_; }
  /// Returns true if the tensor is mapped on demand. Such a tensor must never be read as a whole.
  [[nodiscard]] bool is_mapped(et_schema::SlotId slot) const;

  /// Returns the bytes of externals in memory: all allocations, including memory that the original
  /// held beside its tensors, and the touched pages of mapped storages.
  [[nodiscard]] std::uint64_t touched_bytes() const;
  /// Returns the bytes of touched pages of mapped storages, which the allocator does not count.
  [[nodiscard]] std::uint64_t touched_mapped_bytes() const;

 private:
  struct Memory {
    c10::Storage storage;
    bool mapped = false;
  };
  /// Returns the size of the memory; 0 on the device "meta".
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
  /// By storage; empty if there is no copy. Copies are mapped, so that they use no allocator memory
  /// that the step needs.
  std::vector<std::optional<c10::Storage>> copies_;
  std::vector<bool> changes_;  ///< by storage; set by remember()
  /// The alternating contents of a storage that holds only index values.
  struct Variants {
    et_schema::StorageId storage = 0;
    std::vector<c10::Storage> contents;  ///< on the CPU, without the one in use
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
  std::vector<bool> known_;  ///< by slot: true if in externals_ or given_
  /// Key: the table's address and the size of its rows.
  std::map<std::pair<const void*, std::int64_t>, std::unique_ptr<TableSeeder>> seeders_;
};

}  // namespace understudy::replayer
