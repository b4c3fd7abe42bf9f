#pragma once

// Tables of which a step reads only some rows. Memory pages are allocated when touched, and rows
// get their first values before the first operator that reads them.

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/Storage.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "values.h"

namespace bench {

/// On the CPU, memory of at least this many bytes is mapped on demand.
inline constexpr std::int64_t kMappedBytes = std::int64_t{256} << 20;

/// Allocates zeros whose pages are allocated when touched.
inline c10::Storage map_memory(std::size_t bytes) {
  struct Mapping {
    void* data;
    std::size_t bytes;
  };
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TORCH_CHECK(data != MAP_FAILED, "a table of ", bytes,
              " bytes could not be mapped: ", std::strerror(errno));
  madvise(data, bytes, MADV_NOHUGEPAGE);  // a huge page would allocate 2 MiB for one row
  auto mapping = std::make_unique<Mapping>(Mapping{data, bytes});
  const auto unmap = [](void* context) {
    const std::unique_ptr<Mapping> owned(static_cast<Mapping*>(context));
    munmap(owned->data, owned->bytes);
  };
  return {c10::Storage::use_byte_size_t(), bytes,
          c10::DataPtr(data, mapping.release(), unmap, c10::Device(c10::kCPU)), nullptr, false};
}

/// A tensor in such memory, and the rows that have their first values.
class Table {
 public:
  Table(at::Tensor tensor, const Rule& rule, std::uint64_t seed, std::uint64_t stream)
      : tensor_(std::move(tensor)),
        rule_(rule_for(tensor_, rule)),
        key_{.seed = seed, .stream = stream} {}

  [[nodiscard]] bool holds(const at::Tensor& other) const {
    return other.has_storage() && other.storage().data() == tensor_.storage().data();
  }

  /// Seeds rows; row r is elements [r * width, (r + 1) * width) of `view`.
  void seed(const at::Tensor& view, const std::vector<std::int64_t>& rows) {
    const std::int64_t width = view.numel() / std::max<std::int64_t>(view.size(0), 1);
    const std::int64_t begin = view.storage_offset() - tensor_.storage_offset();
    if (width == 0 || begin < 0 || !view.is_contiguous() || !tensor_.is_contiguous())
      return;
    const replayer::Draws draws(rule_, key_, tensor_.numel());
    std::unordered_set<std::int64_t>& seeded = seeded_[width];
    for (const std::int64_t row : rows) {
      const std::int64_t first = begin + row * width;
      // The operator itself refuses rows outside of the table.
      if (row >= 0 && row < view.size(0) && first + width <= tensor_.numel() &&
          seeded.insert(first).second)
        write(draws, first, width);
    }
  }

  /// Restores the first values of all rows that have them.
  void restore() const {
    const replayer::Draws draws(rule_, key_, tensor_.numel());
    for (const auto& [width, firsts] : seeded_) {
      for (const std::int64_t first : firsts)
        write(draws, first, width);
    }
  }

 private:
  void write(const replayer::Draws& draws, std::int64_t first, std::int64_t count) const {
    auto* const data = static_cast<char*>(tensor_.data_ptr()) +
                       first * static_cast<std::int64_t>(tensor_.element_size());
    replayer::store(draws, rule_, first, count, data, tensor_.scalar_type());
  }

  at::Tensor tensor_;
  ValueRule rule_;
  replayer::ValueKey key_;
  std::map<std::int64_t, std::unordered_set<std::int64_t>> seeded_;  ///< first elements, by width
};

/// During its lifetime, rows of tables get their values before an operator looks them up.
class TableSeeding {
 public:
  explicit TableSeeding(std::vector<Table>& tables) {
    if (tables.empty())
      return;
    current() = &tables;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(
            [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
              see(function);
              return nullptr;
            })
            .needsInputs(true)
            .scopes({at::RecordScope::FUNCTION}));
  }
  ~TableSeeding() {
    if (handle_ != 0)
      at::removeCallback(handle_);
    current() = nullptr;
  }
  TableSeeding(const TableSeeding&) = delete;
  TableSeeding& operator=(const TableSeeding&) = delete;

 private:
  static std::vector<Table>*& current() {
    static thread_local std::vector<Table>* tables = nullptr;
    return tables;
  }

  static void see(const at::RecordFunction& function) {
    const std::string name = function.name();
    const bool is_bag =
        name == "aten::_embedding_bag" || name == "aten::_embedding_bag_forward_only";
    const auto inputs = function.inputs();
    if ((is_bag || name == "aten::embedding") && inputs.size() > 1) {
      seed(inputs[0], inputs[1]);
    } else if (name == "aten::index_select" && inputs.size() > 2 && inputs[1].isInt() &&
               inputs[1].toInt() == 0) {
      seed(inputs[0], inputs[2]);
    } else if (name == "aten::index" && inputs.size() > 1 && inputs[1].isList()) {
      const auto indices = inputs[1].toListRef();
      if (indices.size() == 1)
        seed(inputs[0], indices[0]);
    }
  }

  static void seed(const c10::IValue& view, const c10::IValue& rows) {
    if (!view.isTensor() || !rows.isTensor())
      return;
    const at::Tensor& read = view.toTensor();
    const at::Tensor& at = rows.toTensor();
    if (!at.defined() || !at::isIntegralType(at.scalar_type(), false) || read.dim() == 0)
      return;
    for (Table& table : *current()) {
      if (!table.holds(read))
        continue;
      const at::RecordFunctionGuard unobserved(false);
      const at::Tensor copy = at.to(at::kCPU, at::kLong).contiguous();
      const auto* const data = copy.const_data_ptr<std::int64_t>();
      std::vector<std::int64_t> numbers(data, data + copy.numel());
      for (std::int64_t& number : numbers)
        number += number < 0 ? read.size(0) : 0;
      table.seed(read, numbers);
      return;
    }
  }

  at::CallbackHandle handle_ = 0;
};

}  // namespace bench
