#include "stub.h"

#include <ATen/Parallel.h>
#include <ATen/core/List.h>
#include <ATen/ops/_values.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "et_schema/base/assert.h"
#include "et_schema/model/compiled_kernel.h"
#include "et_schema/model/slot_extent.h"
#include "replayer/device/stream_span.h"
#include "replayer/dispatch/layout.h"
#include "replayer/values/values.h"
#include "substitute_native.h"

#ifndef _OPENMP
#error "without OpenMP at::parallel_for is a loop, and a stub has one thread"
#endif

namespace understudy::replayer {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;
using torch::jit::Stack;

constexpr std::int64_t kGrainBytes = std::int64_t{1} << 18U;
/// Elements that are drawn once and written repeatedly, so that they stay in the first-level cache.
constexpr std::int64_t kTileElements = 2048;

/// Sink of all reads, so that compilers cannot remove them.
std::atomic<std::uint64_t> read_sink{0};
/// Always zero, which compilers cannot know.
std::atomic<std::uint64_t> no_bits{0};

/// Returns the tensor's bytes, without elements that strides repeat or skip.
std::int64_t count_bytes(const at::Tensor& tensor) {
  std::int64_t extent = 1;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) {
    extent += (tensor.size(dim) - 1) * tensor.stride(dim);
  }
  return std::min(extent, tensor.numel()) * static_cast<std::int64_t>(tensor.itemsize());
}

/// Returns a tensor's bytes as a row. Not used on a CPU: making a tensor takes microseconds, as
/// long as a small kernel.
at::Tensor bytes_of(const at::Tensor& tensor) {
  at::Tensor bytes = at::empty({0}, at::TensorOptions().device(tensor.device()).dtype(at::kByte));
  bytes.set_(tensor.storage(),
             tensor.storage_offset() * static_cast<std::int64_t>(tensor.itemsize()),
             {count_bytes(tensor)}, {1});
  return bytes;
}

/// Returns a row of bytes as words, if size and alignment allow: a GPU moves single bytes at a
/// tenth of its memory's speed.
at::Tensor in_words(const at::Tensor& bytes) {
  constexpr auto kWordBytes = static_cast<std::int64_t>(sizeof(std::int64_t));
  const std::int64_t whole = bytes.numel() / kWordBytes * kWordBytes;
  return whole > 0 && bytes.storage_offset() % kWordBytes == 0
             ? bytes.narrow(0, 0, whole).view(at::kLong)
             : bytes;
}

bool has_bytes(const at::Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0 && !tensor.is_meta() &&
         tensor.layout() == at::kStrided && tensor.has_storage();
}

/// Calls visit(begin, end) for parts of [0, bytes), on an operator's threads.
template <typename Visit>
void for_bytes(std::int64_t bytes, Visit&& visit) {
  at::parallel_for(0, bytes, kGrainBytes, std::forward<Visit>(visit));
}

/// A cache line. Moving single bytes or words would take longer than computing with them.
using Line = std::array<std::uint64_t, 8>;
constexpr auto kLineBytes = static_cast<std::int64_t>(sizeof(Line));

void read_on_cpu(const at::Tensor& tensor) {
  const auto* data = static_cast<const std::uint8_t*>(tensor.const_data_ptr());
  for_bytes(count_bytes(tensor), [data](std::int64_t begin, std::int64_t end) {
    Line all{};
    for (Line line{}; begin + kLineBytes <= end; begin += kLineBytes) {
      std::memcpy(line.data(), data + begin, sizeof line);
      for (std::size_t i = 0; i < line.size(); ++i) {
        all[i] ^= line[i];
      }
    }
    for (; begin < end; ++begin) {
      all[0] ^= data[begin];
    }
    for (const std::uint64_t word : all) {
      read_sink.fetch_xor(word, std::memory_order_relaxed);
    }
  });
}

void rewrite_on_cpu(const at::Tensor& tensor) {
  auto* data = static_cast<std::uint8_t*>(tensor.mutable_data_ptr());
  const std::uint64_t nothing = no_bits.load(std::memory_order_relaxed);
  for_bytes(count_bytes(tensor), [data, nothing](std::int64_t begin, std::int64_t end) {
    for (Line line{}; begin + kLineBytes <= end; begin += kLineBytes) {
      std::memcpy(line.data(), data + begin, sizeof line);
      for (std::uint64_t& word : line) {
        word |= nothing;
      }
      std::memcpy(data + begin, line.data(), sizeof line);
    }
    for (; begin < end; ++begin) {
      data[begin] = static_cast<std::uint8_t>(data[begin] | nothing);
    }
  });
}

/// The position of a tensor among the arguments: the argument, and the element in a list.
struct Place {
  std::size_t argument = 0;
  std::optional<std::size_t> element;
};

std::optional<Place> find_place(const std::vector<Argument>& arguments, SlotId slot) {
  const auto is_slot = [slot](const Argument& argument) {
    const auto* reference = std::get_if<Argument::SlotRef>(&argument.value);
    return reference != nullptr && reference->id == slot;
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_slot(arguments[i])) {
      return Place{i, {}};
    }
    if (const auto* list = std::get_if<Argument::List>(&arguments[i].value)) {
      const auto found = std::find_if(list->begin(), list->end(), is_slot);
      if (found != list->end()) {
        return Place{i, static_cast<std::size_t>(found - list->begin())};
      }
    }
  }
  return std::nullopt;
}

/// A result that each call makes anew.
class FreshResult {
 public:
  FreshResult(Slot layout, c10::Device device) : layout_(std::move(layout)), device_(device) {
    const at::ScalarType dtype = to_scalar_type(layout_.dtype);
    const std::int64_t extent = et_schema::extent_elements(layout_);
    // A value rule may concern the whole tensor. Without a rule, a repeated tile is enough.
    const std::int64_t drawn = layout_.value ? extent : std::min(extent, kTileElements);
    Slot tile = layout_;
    tile.sizes = {drawn};
    tile.strides = {1};
    content_ = make_tensor(tile, c10::kCPU);
    fill_tensor(content_, layout_.value ? *layout_.value : default_rule(dtype, layout_.sizes),
                {0, layout_.storage});
    content_ = bytes_of_content().to(device_);
  }

  [[nodiscard]] at::Tensor make() const {
    at::Tensor made = make_tensor(layout_, device_);
    const std::int64_t tile = content_.numel();
    if (made.is_meta() || tile == 0) {
      return made;
    }
    const auto item = static_cast<std::int64_t>(made.itemsize());
    const std::int64_t count = et_schema::extent_elements(layout_) * item;
    if (made.is_cpu()) {
      repeat_on_cpu(static_cast<std::uint8_t*>(made.mutable_data_ptr()), count);
      return made;
    }
    at::Tensor bytes = at::empty({0}, content_.options());
    bytes.set_(made.storage(), made.storage_offset() * item, {count}, {1});
    const std::int64_t tiled = count / tile * tile;
    if (tiled > 0) {
      const auto repeat = [times = tiled / tile](const at::Tensor& content, const at::Tensor& to) {
        to.view({times, content.numel()}).copy_(content.expand({times, content.numel()}));
      };
      const at::Tensor whole = bytes.narrow(0, 0, tiled);
      const at::Tensor content_words = in_words(content_);
      const at::Tensor whole_words = in_words(whole);
      if (content_words.numel() * (tiled / tile) == whole_words.numel()) {
        repeat(content_words, whole_words);
      } else {
        repeat(content_, whole);
      }
    }
    if (tiled < count) {
      bytes.narrow(0, tiled, count - tiled).copy_(content_.narrow(0, 0, count - tiled));
    }
    return made;
  }

 private:
  void repeat_on_cpu(std::uint8_t* to, std::int64_t count) const {
    const auto* tile = content_.const_data_ptr<std::uint8_t>();
    for_bytes(count, [to, tile, length = content_.numel()](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t from = begin % length;
        const std::int64_t part = std::min(length - from, end - begin);
        std::memcpy(to + begin, tile + from, static_cast<std::size_t>(part));
        begin += part;
      }
    });
  }

  [[nodiscard]] at::Tensor bytes_of_content() const {
    return content_.numel() == 0 ? at::empty({0}, at::kByte) : bytes_of(content_);
  }

  Slot layout_;
  c10::Device device_;
  at::Tensor content_;  ///< bytes
};

using Result = std::variant<std::monostate, Place, FreshResult>;

/// One recorded result: a tensor, or a list of them.
struct ResultEntry {
  bool is_list = false;
  std::vector<Result> tensors;
};

Result plan_result(const Program& program, const Instruction& instruction, const Argument& result,
                   c10::Device device) {
  const auto* reference = std::get_if<Argument::SlotRef>(&result.value);
  if (reference == nullptr) {
    return {};
  }
  if (const std::optional<Place> place = find_place(instruction.args, reference->id)) {
    return *place;
  }
  const Slot& slot = program.slots[reference->id];
  if (slot.dtype == et_schema::DType::kUndefined || slot.sparse) {
    return {};
  }
  return FreshResult(slot, map_device(program.storages[slot.storage].device, device));
}

std::vector<ResultEntry> plan_results(const Program& program, const Instruction& instruction,
                                      c10::Device device) {
  std::vector<ResultEntry> entries;
  for (const Argument& result : instruction.results) {
    ResultEntry entry;
    if (const auto* list = std::get_if<Argument::List>(&result.value)) {
      entry.is_list = true;
      for (const Argument& item : *list) {
        entry.tensors.push_back(plan_result(program, instruction, item, device));
      }
    } else {
      entry.tensors.push_back(plan_result(program, instruction, result, device));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// Returns an argument's tensor; undefined if it has none.
at::Tensor tensor_at(const c10::IValue& argument, std::optional<std::size_t> element) {
  if (!element) {
    return argument.isTensor() ? argument.toTensor() : at::Tensor();
  }
  if (!argument.isList() || *element >= argument.toListRef().size()) {
    return {};
  }
  return tensor_at(argument.toListRef()[*element], {});
}

/// Limits how much a stub reads on a GPU. A kernel that reads rows of a table, or does little, ends
/// before all its arguments could be read. So a tensor is skipped if reading it would exceed the
/// rest of the recorded time, even at the highest possible speed.
class ReadingTime {
 public:
  explicit ReadingTime(std::optional<std::int64_t> device_ns) : left_ns_(device_ns) {}

  void read(const c10::IValue& argument) {
    if (argument.isTensor()) {
      if (const at::Tensor& tensor = argument.toTensor(); takes(tensor)) {
        read_bytes(tensor);
      }
    } else if (argument.isList()) {
      for (const c10::IValue& item : argument.toListRef()) {
        read(item);
      }
    }
  }

 private:
  bool takes(const at::Tensor& tensor) {
    constexpr std::int64_t kLaunchNs = 4000;
    constexpr std::int64_t kBytesPerNs = 1000;
    if (!left_ns_ || !has_bytes(tensor) || tensor.is_cpu()) {
      return true;
    }
    const std::int64_t ns = kLaunchNs + count_bytes(tensor) / kBytesPerNs;
    if (ns > *left_ns_) {
      return false;
    }
    *left_ns_ -= ns;
    return true;
  }

  std::optional<std::int64_t> left_ns_;
};

at::Tensor write_result(const Result& result, const Stack& stack, std::size_t first) {
  if (const auto* place = std::get_if<Place>(&result)) {
    at::Tensor tensor = tensor_at(stack[first + place->argument], place->element);
    rewrite_bytes(tensor);
    return tensor;
  }
  const auto* fresh = std::get_if<FreshResult>(&result);
  return fresh != nullptr ? fresh->make() : at::Tensor();
}

/// Returns for each argument whether the kernel wrote it. The text of roles follows the arguments;
/// returns nothing if there is no text for exactly these arguments.
std::optional<std::vector<bool>> find_written(const std::vector<Argument>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* text = std::get_if<std::string>(&arguments[i].value);
    if (text == nullptr) {
      continue;
    }
    const auto roles = et_schema::kernel_roles(*text, i);
    if (!roles) {
      return std::nullopt;
    }
    std::vector<bool> written;
    for (const std::string_view role : *roles) {
      written.push_back(role == "w" || role == "rw");
    }
    return written;
  }
  return std::nullopt;
}

/// Reads or rewrites the tensors among the arguments. Memory that was allocated for the kernel is
/// not a tensor among them.
void touch_arguments(const Stack& stack, std::size_t first, const std::vector<bool>& written) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (stack[first + i].isTensor()) {
      const at::Tensor& tensor = stack[first + i].toTensor();
      written[i] ? rewrite_bytes(tensor) : read_bytes(tensor);
    }
  }
}

/// Makes an instruction's results. Results that are arguments are rewritten in place; the others
/// are made in the recorded layout with the values of their rule.
auto result_maker(const Program& program, const Instruction& instruction, c10::Device device) {
  return [results = plan_results(program, instruction, device)](const Stack& stack,
                                                                std::size_t first) {
    std::vector<c10::IValue> values;
    for (const ResultEntry& entry : results) {
      c10::List<at::Tensor> tensors;
      for (const Result& result : entry.tensors) {
        tensors.push_back(write_result(result, stack, first));
      }
      values.push_back(entry.is_list ? c10::IValue(tensors) : c10::IValue(tensors.get(0)));
    }
    return values;
  };
}

}  // namespace

void read_bytes(const at::Tensor& tensor) {
  if (tensor.defined() && tensor.is_sparse()) {
    read_bytes(tensor._values());
  } else if (has_bytes(tensor)) {
    if (tensor.is_cpu()) {
      read_on_cpu(tensor);
    } else {
      at::sum(in_words(bytes_of(tensor)));
    }
  }
}

void rewrite_bytes(const at::Tensor& tensor) {
  if (tensor.defined() && tensor.is_sparse()) {
    rewrite_bytes(tensor._values());
  } else if (has_bytes(tensor)) {
    if (tensor.is_cpu()) {
      rewrite_on_cpu(tensor);
    } else {
      in_words(bytes_of(tensor)).bitwise_or_(0);
    }
  }
}

std::optional<std::int64_t> recorded_work_ns(const Instruction& instruction,
                                             c10::DeviceType device) {
  if (!instruction.timing) {
    return std::nullopt;
  }
  const bool ran_elsewhere = instruction.timing->device_ns > 0 && device == c10::DeviceType::CPU;
  return ran_elsewhere ? instruction.timing->device_ns : instruction.timing->host_ns;
}

Substitute lasting_as_recorded(Substitute substitute, const Instruction& instruction,
                               c10::Device device) {
  const std::optional<std::int64_t> work_ns = recorded_work_ns(instruction, device.type());
  if (!work_ns) {
    return substitute;
  }
  const std::int64_t device_ns = instruction.timing->device_ns;
  const std::shared_ptr<const StreamSpan> span = device_ns > 0 ? StreamSpan::make(device) : nullptr;
  if (span != nullptr) {
    substitute.call = [call = std::move(substitute.call), span, device_ns](Stack& stack) {
      span->begin();
      call(stack);
      span->end(device_ns);
    };
  } else if (device_ns > 0 && device.is_cuda()) {
    substitute.by += "; the device is free at once: its driver does not take the waiting kernel";
  }
  substitute.call = [call = std::move(substitute.call), host_ns = *work_ns](Stack& stack) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(host_ns);
    call(stack);
    while (std::chrono::steady_clock::now() < end) {
      // Waits busily: the original's core was not free for other work either.
    }
  };
  return substitute;
}

Substitute make_stub(const Program& program, const Instruction& instruction, c10::Device device,
                     std::string by) {
  const std::size_t count = instruction.args.size();
  const std::optional<std::int64_t> device_ns =
      instruction.timing && instruction.timing->device_ns > 0 && !device.is_cpu()
          ? std::optional(instruction.timing->device_ns)
          : std::nullopt;
  auto run = [count, device_ns, make = result_maker(program, instruction, device)](
                 const Stack& stack, std::size_t first) {
    ReadingTime time(device_ns);
    for (std::size_t i = 0; i < count; ++i) {
      time.read(stack[first + i]);
    }
    return make(stack, first);
  };
  Substitute stub{
      .by = std::move(by), .rung = Rung::kStubbed, .call = on_stack(count, std::move(run))};
  return lasting_as_recorded(std::move(stub), instruction, device);
}

std::optional<Substitute> find_kernel_stub(const et_schema::Program& program,
                                           const Instruction& instruction, c10::Device device) {
  const std::optional<std::vector<bool>> written = find_written(instruction.args);
  if (!written) {
    return std::nullopt;
  }
  auto run = [written = *written, make = result_maker(program, instruction, device)](
                 const Stack& stack, std::size_t first) {
    touch_arguments(stack, first, written);
    return make(stack, first);
  };
  Substitute stub{.by = instruction.timing
                            ? "a stub: it moves the same bytes and takes the recorded time"
                            : "a stub: it moves the same bytes; no time is recorded",
                  .rung = Rung::kStubbed,
                  .call = on_stack(instruction.args.size(), std::move(run))};
  return lasting_as_recorded(std::move(stub), instruction, device);
}

}  // namespace understudy::replayer
