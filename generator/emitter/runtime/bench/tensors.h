#pragma once

// The tensors that are there before the step, and layouts that no operator makes.

#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/Storage.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "replayer/values/zeros.h"
#include "tables.h"
#include "values.h"

namespace bench {

using at::Tensor;

/// Where tensors live that the original had on its accelerator, or all of them if it had none.
inline at::Device& device() {
  static at::Device chosen(at::kCPU);
  return chosen;
}

/// Lets go of tensors before their scope ends: their memory is free for what comes next.
template <typename... Tensors>
void release(Tensors&... tensors) {
  (tensors.reset(), ...);
}

inline void release(std::vector<Tensor>& tensors) {
  tensors.clear();
}

/// Of the same memory and layout: what changes its layout in place leaves the other one's.
inline Tensor another(const Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return Tensor(impl.shallow_copy_and_detach(impl.version_counter(), true));
}

/// Tensors as a vector; where they came from they are no more.
template <typename... Tensors>
std::vector<Tensor> gather(Tensors&... tensors) {
  std::vector<Tensor> gathered;
  gathered.reserve(sizeof...(tensors));
  (gathered.push_back(std::move(tensors)), ...);
  return gathered;
}

/// A number given where a tensor is expected: as weak in type promotion as Python's.
inline Tensor number(const at::Scalar& value) {
  Tensor tensor = at::scalar_to_tensor(value);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

/// A tensor over existing memory. `offset` is in elements.
inline Tensor on_storage(const c10::Storage& storage, at::ScalarType dtype, at::IntArrayRef sizes,
                         at::IntArrayRef strides, std::int64_t offset) {
  const auto options = c10::TensorOptions().device(storage.device()).dtype(dtype);
  Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), options.computeDispatchKey(), options.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
  std::int64_t last = offset;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    last += std::max<std::int64_t>(sizes[dim] - 1, 0) * strides[dim];
  }
  TORCH_CHECK(
      tensor.numel() == 0 || (last + 1) * static_cast<std::int64_t>(tensor.element_size()) <=
                                 static_cast<std::int64_t>(storage.nbytes()),
      "a view of [", sizes, "] at ", offset, " lies outside of its ", storage.nbytes(), " bytes");
  return tensor;
}

/// Another layout of a tensor's memory, which the original made outside of any operator. `shift`:
/// elements from the tensor's first element to that of the view.
inline Tensor relayout(const Tensor& base, at::IntArrayRef sizes, at::IntArrayRef strides,
                       std::int64_t shift = 0) {
  return on_storage(base.storage(), base.scalar_type(), sizes, strides,
                    base.storage_offset() + shift);
}
/// The same as another type; `offset`: elements of it from the memory's beginning.
inline Tensor relayout_as(const Tensor& base, at::ScalarType dtype, at::IntArrayRef sizes,
                          at::IntArrayRef strides, std::int64_t offset) {
  return on_storage(base.storage(), dtype, sizes, strides, offset);
}

inline std::vector<std::int64_t> contiguous_strides(at::IntArrayRef sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t dim = sizes.size(); dim-- > 1;) {
    strides[dim - 1] = strides[dim] * std::max<std::int64_t>(sizes[dim], 1);
  }
  return strides;
}

struct Layout {
  at::ScalarType dtype = at::kFloat;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides = {};  ///< in elements; none: contiguous
  std::int64_t offset = 0;                 ///< in elements
};

/// Makes tensors and fills them by their rules. Each has a number of its own, which with the seed
/// tells its content.
class Maker {
 public:
  static constexpr std::size_t kVariants = 4;

  explicit Maker(std::uint64_t seed) : seed_(seed) {}

  /// A tensor with memory of its own. A value of the step itself: on device().
  Tensor tensor(std::uint64_t id, at::ScalarType dtype, std::vector<std::int64_t> sizes,
                Rule rule = by_shape()) {
    return tensor_on(device(), id, {dtype, std::move(sizes)}, std::move(rule));
  }
  Tensor tensor(std::uint64_t id, Layout layout, Rule rule = by_shape()) {
    return tensor_on(device(), id, std::move(layout), std::move(rule));
  }
  /// The same where the original had it on another device than the rest. `bytes`: at least so much
  /// memory, where views lie beyond the tensor.
  Tensor tensor_on(at::Device place, std::uint64_t id, const Layout& layout, Rule rule,
                   std::int64_t bytes = 0) {
    const std::vector<std::int64_t> strides = strides_of(layout);
    std::int64_t extent = 1;
    for (std::size_t dim = 0; dim < layout.sizes.size(); ++dim) {
      extent = layout.sizes[dim] == 0 ? 0 : extent + (layout.sizes[dim] - 1) * strides[dim];
      if (extent == 0)
        break;
    }
    const auto item = static_cast<std::int64_t>(c10::elementSize(layout.dtype));
    bytes = std::max(bytes, extent == 0 ? 0 : (layout.offset + extent) * item);
    if (place.is_cpu() && bytes >= kMappedBytes) {
      const c10::Storage memory = map_memory(static_cast<std::size_t>(bytes));
      const Tensor made = on_storage(memory, layout.dtype, layout.sizes, strides, layout.offset);
      tables_.emplace_back(made, rule, seed_, id);
      return made;
    }
    const Tensor memory = at::empty({bytes}, at::TensorOptions().device(place).dtype(at::kByte));
    return add(id, on_storage(memory.storage(), layout.dtype, layout.sizes, strides, layout.offset),
               std::move(rule));
  }
  /// Another layout of the memory of a tensor that was made before.
  Tensor view(std::uint64_t id, const Tensor& of, const Layout& layout, Rule rule = by_shape()) {
    const Tensor made =
        on_storage(of.storage(), layout.dtype, layout.sizes, strides_of(layout), layout.offset);
    return is_in_table(made) ? made : add(id, made, std::move(rule));
  }
  Tensor view(std::uint64_t id, const Tensor& of, at::ScalarType dtype,
              std::vector<std::int64_t> sizes, Rule rule = by_shape()) {
    return view(id, of, {dtype, std::move(sizes)}, std::move(rule));
  }
  /// A Python number that the original gave where a tensor is expected.
  Tensor number(std::uint64_t id, at::ScalarType dtype, Rule rule) {
    const Tensor made = tensor_on(at::kCPU, id, {dtype, {}}, std::move(rule));
    made.unsafeGetTensorImpl()->set_wrapped_number(true);
    return made;
  }

  /// Tables that are mapped on demand: a TableSeeding gives rows their values.
  [[nodiscard]] std::vector<Table>& tables() { return tables_; }

  /// The type of floating results that nothing else tells.
  static void default_dtype(at::ScalarType dtype) {
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
  }

  /// What the step changes, and gets back between iterations.
  void changes(std::vector<Tensor> tensors) { changed_ = std::move(tensors); }
  /// Index tensors: each iteration meets other rows, as the original's did.
  void varies(const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) {
      varying_.push_back({tensor, {}, 0});
    }
  }
  /// Of what changes: the share of a tensor's elements that were zero in the original.
  void zeros(const std::vector<std::pair<Tensor, double>>& tensors) {
    for (const auto& [tensor, share] : tensors) {
      if (!is_in_table(tensor))
        zeros_.emplace_back(tensor, share);
    }
  }

  /// First content for all tensors.
  void fill_all() {
    // Of layouts on one memory those with a rule have the last word; of the others the first that
    // is not flat.
    for (const bool flat : {true, false}) {
      for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
        if (!made->rule && is_flat(made->tensor) == flat)
          fill(made->tensor, made->rule, seed_, made->id);
      }
    }
    for (const Made& made : made_) {
      if (made.rule)
        fill(made.tensor, made.rule, seed_, made.id);
    }
    for (const Table& table : tables_) {
      table.restore();
    }
  }
  /// Copies of what changes, and variants of the indices.
  void remember() {
    copy_changed();
    // Tables have values in the rows that the first indices meet.
    if (!tables_.empty())
      varying_.clear();
    for (Varying& varying : varying_) {
      for (std::size_t i = kVariants; i-- > 0;) {
        fill_variant(varying.tensor, i);
        if (i > 0)
          varying.contents.at(i) = bytes_of(varying.tensor).clone();
      }
    }
  }
  void restore() const {
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      if (copies_[i].defined())
        bytes_of(changed_[i]).copy_(copies_[i]);
    }
    for (const Table& table : tables_) {
      table.restore();
    }
  }
  [[nodiscard]] bool has_zeros() const { return !zeros_.empty(); }
  /// Before some iterations, which show where the step writes.
  void clear_zeros() {
    for (replayer::Zeros& zeros : zeros_) {
      zeros.clear();
    }
  }
  /// Behind them: the first content, with zeros where nothing was written.
  void settle_zeros() {
    for (replayer::Zeros& zeros : zeros_) {
      zeros.find();
    }
    restore();
    for (replayer::Zeros& zeros : zeros_) {
      zeros.apply();
    }
    copy_changed();
  }
  /// The index values of iteration `number`.
  void vary(std::size_t number) {
    for (Varying& varying : varying_) {
      const std::size_t next = number % kVariants;
      if (next == varying.present)
        continue;
      if (varying.tensor.is_cpu()) {
        const c10::Storage& memory = varying.tensor.storage();
        Tensor& waiting = varying.contents.at(next);
        waiting.storage().set_data_ptr(memory.set_data_ptr(waiting.storage().set_data_ptr({})));
        std::swap(varying.contents.at(varying.present), waiting);
      } else {
        if (!varying.contents[0].defined())
          varying.contents[0] = bytes_of(varying.tensor).clone();
        bytes_of(varying.tensor).copy_(varying.contents.at(next));
      }
      varying.present = next;
    }
  }
  [[nodiscard]] const std::vector<Tensor>& changed() const { return changed_; }

 private:
  struct Made {
    std::uint64_t id;
    Tensor tensor;
    Rule rule;
  };
  struct Varying {
    Tensor tensor;
    std::array<Tensor, kVariants> contents;
    std::size_t present;
  };

  /// At most one dimension of more than one element.
  static bool is_flat(const Tensor& tensor) {
    const at::IntArrayRef sizes = tensor.sizes();
    return std::count_if(sizes.begin(), sizes.end(), [](auto size) { return size > 1; }) < 2;
  }
  [[nodiscard]] bool is_in_table(const Tensor& tensor) const {
    return std::any_of(tables_.begin(), tables_.end(),
                       [&](const Table& table) { return table.holds(tensor); });
  }
  static std::vector<std::int64_t> strides_of(const Layout& layout) {
    return layout.strides.empty() ? contiguous_strides(layout.sizes) : layout.strides;
  }
  static Tensor bytes_of(const Tensor& tensor) {
    const c10::Storage& memory = tensor.storage();
    return on_storage(memory, at::kByte, {static_cast<std::int64_t>(memory.nbytes())}, {1}, 0);
  }
  void copy_changed() {
    copies_.clear();
    for (const Tensor& tensor : changed_) {
      copies_.push_back(is_in_table(tensor) ? Tensor() : bytes_of(tensor).clone());
    }
  }
  Tensor add(std::uint64_t id, Tensor tensor, Rule rule) {
    made_.push_back({id, tensor, std::move(rule)});
    return tensor;
  }
  void fill_variant(const Tensor& tensor, std::uint64_t variant) const {
    for (const Made& made : made_) {
      if (made.tensor.storage().data() == tensor.storage().data()) {
        fill(made.tensor, made.rule, seed_ + variant, made.id);
      }
    }
  }

  std::uint64_t seed_;
  std::vector<Made> made_;
  std::vector<Table> tables_;
  std::vector<Tensor> changed_;
  std::vector<Tensor> copies_;
  std::vector<Varying> varying_;
  std::vector<replayer::Zeros> zeros_;
};

}  // namespace bench
