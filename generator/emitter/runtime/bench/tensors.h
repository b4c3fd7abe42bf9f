#pragma once

// Tensors that exist before the step, and layouts that no operator makes.

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

/// The device of tensors that were on the original's accelerator; of all if it had none.
inline at::Device& device() {
  static at::Device chosen(at::kCPU);
  return chosen;
}

/// Frees tensors before their scope ends, so that later allocations can use the memory.
template <typename... Tensors>
void release(Tensors&... tensors) {
  (tensors.reset(), ...);
}

inline void release(std::vector<Tensor>& tensors) {
  tensors.clear();
}

/// Returns a tensor of the same memory and layout. In-place layout changes do not affect the other.
inline Tensor another(const Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return Tensor(impl.shallow_copy_and_detach(impl.version_counter(), true));
}

/// Moves tensors into a vector.
template <typename... Tensors>
std::vector<Tensor> gather(Tensors&... tensors) {
  std::vector<Tensor> gathered;
  gathered.reserve(sizeof...(tensors));
  (gathered.push_back(std::move(tensors)), ...);
  return gathered;
}

/// Returns a number as a tensor. It is as weak in type promotion as a Python number.
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

/// Returns another layout of a tensor's memory, which the original made outside of any operator.
/// `shift`: elements from the tensor's first element to the view's.
inline Tensor relayout(const Tensor& base, at::IntArrayRef sizes, at::IntArrayRef strides,
                       std::int64_t shift = 0) {
  return on_storage(base.storage(), base.scalar_type(), sizes, strides,
                    base.storage_offset() + shift);
}
/// As relayout(), with another dtype. `offset`: elements of that dtype from the memory's begin.
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
  std::vector<std::int64_t> strides = {};  ///< in elements; empty: contiguous
  std::int64_t offset = 0;                 ///< in elements
};

/// Makes tensors and fills them by their rules. Each tensor has an id, which with the seed
/// determines its content.
class Maker {
 public:
  static constexpr std::size_t kVariants = 4;

  explicit Maker(std::uint64_t seed) : seed_(seed) {}

  /// Makes a tensor with its own memory on device().
  Tensor tensor(std::uint64_t id, at::ScalarType dtype, std::vector<std::int64_t> sizes,
                Rule rule = by_shape()) {
    return tensor_on(device(), id, {dtype, std::move(sizes)}, std::move(rule));
  }
  Tensor tensor(std::uint64_t id, Layout layout, Rule rule = by_shape()) {
    return tensor_on(device(), id, std::move(layout), std::move(rule));
  }
  /// As tensor(), on the device `place`. `bytes`: the least memory, if views reach beyond the
  /// tensor.
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
  /// Makes another layout of an existing tensor's memory.
  Tensor view(std::uint64_t id, const Tensor& of, const Layout& layout, Rule rule = by_shape()) {
    const Tensor made =
        on_storage(of.storage(), layout.dtype, layout.sizes, strides_of(layout), layout.offset);
    return is_in_table(made) ? made : add(id, made, std::move(rule));
  }
  Tensor view(std::uint64_t id, const Tensor& of, at::ScalarType dtype,
              std::vector<std::int64_t> sizes, Rule rule = by_shape()) {
    return view(id, of, {dtype, std::move(sizes)}, std::move(rule));
  }
  /// A Python number that the original passed where a tensor is expected.
  Tensor number(std::uint64_t id, at::ScalarType dtype, Rule rule) {
    const Tensor made = tensor_on(at::kCPU, id, {dtype, {}}, std::move(rule));
    made.unsafeGetTensorImpl()->set_wrapped_number(true);
    return made;
  }

  /// Tables that are mapped on demand; TableSeeding sets the values of their rows.
  [[nodiscard]] std::vector<Table>& tables() { return tables_; }

  /// Sets the type of floating results that nothing else determines.
  static void default_dtype(at::ScalarType dtype) {
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
  }

  /// Sets the tensors that the step changes and that are restored between iterations.
  void changes(std::vector<Tensor> tensors) { changed_ = std::move(tensors); }
  /// Sets the index tensors. Each iteration reads other rows, as the original's did.
  void varies(const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) {
      varying_.push_back({tensor, {}, 0});
    }
  }
  /// Sets, for tensors that change, the share of elements that were zero in the original.
  void zeros(const std::vector<std::pair<Tensor, double>>& tensors) {
    for (const auto& [tensor, share] : tensors) {
      if (!is_in_table(tensor))
        zeros_.emplace_back(tensor, share);
    }
  }

  /// Fills all tensors with their first content.
  void fill_all() {
    // If several layouts share memory, those with a rule are written last. Among the others the
    // first that is not flat decides.
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
  /// Copies the tensors that change, and prepares variants of the indices.
  void remember() {
    copy_changed();
    // Tables have values only in the rows that the first indices read.
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
  /// Clears the tensors before some iterations that show where the step writes.
  void clear_zeros() {
    for (replayer::Zeros& zeros : zeros_) {
      zeros.clear();
    }
  }
  /// After these iterations: restores the first content, with zeros where nothing was written.
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
  /// Sets the index values of iteration `number`.
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

  /// Returns true if at most one dimension has more than one element.
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
