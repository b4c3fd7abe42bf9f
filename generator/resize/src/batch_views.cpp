#include "batch_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <variant>

#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"

namespace understudy::generator::batch {

namespace {

/// Adds the integers of an argument: a single one or a list.
void add_numbers(const et_schema::Argument& argument, std::vector<std::int64_t>& numbers) {
  if (const auto* number = std::get_if<std::int64_t>(&argument.value)) {
    numbers.push_back(*number);
  } else if (const auto* list = std::get_if<et_schema::Argument::List>(&argument.value)) {
    for (const et_schema::Argument& item : *list) {
      add_numbers(item, numbers);
    }
  }
}

}  // namespace

std::string text_of(const BatchTensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.sizes, ","));
}

void refuse(const std::string& wanted, const std::string& got) {
  throw NoRule(wanted, got);
}

Dims none(const BatchTensor& tensor) {
  return Dims(tensor.sizes.size(), false);
}

std::int64_t elements(const BatchTensor& tensor) {
  return et_schema::element_count(tensor.sizes);
}

std::vector<Dims> all_of(const BatchCall& call, const Dims& dims) {
  return std::vector<Dims>(call.outputs.size(), dims);
}

const BatchTensor& input(const BatchCall& call, std::size_t at) {
  if (at >= call.inputs.size()) {
    refuse(fmt::format("{} tensors or more among its arguments", at + 1),
           fmt::format("{}", call.inputs.size()));
  }
  return call.inputs[at];
}

std::vector<std::int64_t> numbers_at(const BatchCall& call, std::size_t argument) {
  std::vector<std::int64_t> numbers;
  if (argument < call.instruction.args.size()) {
    add_numbers(call.instruction.args[argument], numbers);
  }
  return numbers;
}

Dims made(const BatchTensor& out, std::int64_t batch) {
  Dims dims = none(out);
  if (!dims.empty() && out.sizes[0] == batch) {
    dims[0] = true;
  }
  return dims;
}

namespace {

/// As made(), but with BatchSize::anywhere in any dimension.
Dims made_of(const BatchCall& call, const BatchTensor& out) {
  Dims dims = made(out, call.batch.from);
  for (std::size_t d = 0; d < dims.size() && call.batch.anywhere; ++d) {
    dims[d] = out.sizes[d] == call.batch.from;
  }
  return dims;
}

/// Returns the dimension that an argument names; negative numbers count from the end.
std::size_t dimension_at(const BatchCall& call, std::size_t argument, std::size_t rank,
                         std::int64_t standard) {
  const auto& args = call.instruction.args;
  std::int64_t dim = standard;
  if (argument < args.size()) {
    if (const auto* value = std::get_if<std::int64_t>(&args[argument].value)) {
      dim = *value;
    }
  }
  dim += dim < 0 ? static_cast<std::int64_t>(rank) : 0;
  if (dim < 0 || dim >= static_cast<std::int64_t>(rank)) {
    refuse(fmt::format("a dimension of {}", rank), fmt::format("{}", dim));
  }
  return static_cast<std::size_t>(dim);
}

/// Returns the first of the dimensions [first, last) that can hold the batch, when a growing
/// dimension is split into them.
std::size_t grown_part(const BatchTensor& out, std::size_t first, std::size_t last,
                       std::int64_t batch) {
  for (std::size_t to = first; to < last; ++to) {
    if (last - first == 1 || out.sizes[to] % batch == 0) {
      return to;
    }
  }
  refuse(fmt::format("a part with the recorded {}", batch), text_of(out));
}

/// Joins or splits adjacent dimensions.
Dims reshaped(const BatchTensor& in, const BatchTensor& out, std::int64_t batch) {
  Dims dims = none(out);
  if (elements(in) != elements(out)) {
    refuse(fmt::format("{} elements", elements(in)), text_of(out));
  }
  std::size_t i = 0;
  std::size_t o = 0;
  while (i < in.sizes.size() && o < out.sizes.size()) {
    const std::size_t first_in = i;
    const std::size_t first_out = o;
    std::int64_t a = in.sizes[i++];
    std::int64_t b = out.sizes[o++];
    while (a != b) {
      std::int64_t& less = a < b ? a : b;
      const bool is_in = a < b;
      if (is_in ? i == in.sizes.size() : o == out.sizes.size()) {
        refuse("a shape that can be taken apart", text_of(out));
      }
      less *= is_in ? in.sizes[i++] : out.sizes[o++];
    }
    const auto grown = std::count(in.dims.begin() + static_cast<std::ptrdiff_t>(first_in),
                                  in.dims.begin() + static_cast<std::ptrdiff_t>(i), true);
    if (grown > 1) {
      refuse("one dimension that grows among those that are joined", text_of(in));
    }
    if (grown == 1) {
      dims[grown_part(out, first_out, o, batch)] = true;
    }
  }
  return dims;
}

/// A slice along `dim`. If the results have one dimension fewer, `dim` is removed. If `dim` grows,
/// it may only be divided into whole batches (`are_equal_parts`), which all grow.
std::vector<Dims> part_along(const BatchCall& call, std::size_t argument, bool are_equal_parts) {
  const BatchTensor& in = input(call, 0);
  const BatchTensor& out = call.outputs.at(0);
  const std::size_t at = dimension_at(call, argument, in.sizes.size(), 0);
  Dims dims = in.dims;
  if (out.sizes.size() < in.sizes.size()) {
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at));
  }
  const bool is_whole = out.sizes.size() == in.sizes.size() && out.sizes[at] == in.sizes[at];
  if (in.dims[at] && !is_whole && !are_equal_parts) {
    refuse("a part of something else than the batch", text_of(out) + " of " + text_of(in));
  }
  return all_of(call, dims);
}
}  // namespace

std::vector<Dims> reshape(const BatchCall& call) {
  return all_of(call, reshaped(input(call, 0), call.outputs.at(0), call.batch.from));
}

std::vector<Dims> transpose(const BatchCall& call) {
  Dims dims = input(call, 0).dims;
  if (dims.size() < 2) {
    return all_of(call, dims);
  }
  const std::size_t a = dimension_at(call, 1, dims.size(), 0);
  const std::size_t b = dimension_at(call, 2, dims.size(), 1);
  Dims::swap(dims[a], dims[b]);
  return all_of(call, dims);
}

std::vector<Dims> permute(const BatchCall& call) {
  const Dims& in = input(call, 0).dims;
  const std::vector<std::int64_t> order = numbers_at(call, 1);
  const auto rank = static_cast<std::int64_t>(in.size());
  Dims dims;
  for (const std::int64_t at : order) {
    const std::int64_t from = at < 0 ? at + rank : at;
    if (from < 0 || from >= rank) {
      refuse(fmt::format("dimensions of {}", rank), fmt::format("{}", at));
    }
    dims.push_back(in[static_cast<std::size_t>(from)]);
  }
  if (dims.size() != in.size()) {
    refuse("an order of all dimensions", fmt::format("{} of {}", dims.size(), in.size()));
  }
  return all_of(call, dims);
}

std::vector<Dims> factory(const BatchCall& call) {
  return each_result(call, [&](const BatchTensor& out) { return made_of(call, out); });
}

std::vector<Dims> expand(const BatchCall& call) {
  const BatchTensor& in = input(call, 0);
  const BatchTensor& out = call.outputs.at(0);
  const std::size_t left = out.sizes.size() - std::min(in.sizes.size(), out.sizes.size());
  Dims dims = made_of(call, out);
  for (std::size_t d = 0; d < in.sizes.size() && left + d < out.sizes.size(); ++d) {
    if (in.sizes[d] == out.sizes[left + d]) {
      dims[left + d] = in.dims[d];
    }
  }
  return all_of(call, dims);
}

/// An alias is recorded as a layout of the same memory, so its dimensions are identified by their
/// strides.
std::vector<Dims> alias(const BatchCall& call) {
  const BatchTensor& in = input(call, 0);
  const BatchTensor& out = call.outputs.at(0);
  Dims dims = none(out);
  std::size_t found = 0;
  for (std::size_t d = 0; d < out.sizes.size(); ++d) {
    for (std::size_t s = 0; s < in.sizes.size() && out.sizes[d] > 1; ++s) {
      if (in.dims[s] && in.strides[s] == out.strides[d] && in.sizes[s] == out.sizes[d]) {
        dims[d] = true;
        ++found;
      }
    }
  }
  if (found == static_cast<std::size_t>(std::ranges::count(in.dims, true))) {
    return {dims};
  }
  return {reshaped(in, out, call.batch.from)};
}

std::vector<Dims> concatenate(const BatchCall& call) {
  const BatchTensor& first = input(call, 0);
  for (const BatchTensor& in : call.inputs) {
    if (in.dims != first.dims) {
      refuse("parts that grow alike", text_of(in));
    }
  }
  if (first.dims.empty()) {
    refuse("parts with dimensions", text_of(first));
  }
  return all_of(call, first.dims);
}

/// x[:, i, j]: adjacent dimensions are replaced by those of the indices. Growing indices look up
/// rows of a tensor that does not grow.
std::vector<Dims> index(const BatchCall& call) {
  const BatchTensor& in = input(call, 0);
  const BatchTensor& out = call.outputs.at(0);
  const auto& args = call.instruction.args;
  const auto* list = args.size() > 1 ? std::get_if<Argument::List>(&args[1].value) : nullptr;
  std::vector<std::size_t> indexed;
  for (std::size_t d = 0; list != nullptr && d < list->size(); ++d) {
    if (std::holds_alternative<Argument::SlotRef>((*list)[d].value)) {
      indexed.push_back(d);
    }
  }
  const bool are_neighbours = !indexed.empty() && indexed.back() < in.sizes.size() &&
                              indexed.back() - indexed.front() + 1 == indexed.size();
  const bool meets_batch =
      std::ranges::any_of(indexed, [&](std::size_t d) { return d < in.dims.size() && in.dims[d]; });
  const std::size_t kept = in.sizes.size() - std::min(indexed.size(), in.sizes.size());
  const std::size_t of_indices = out.sizes.size() - std::min(kept, out.sizes.size());
  Dims of_index(of_indices, false);
  bool fit = true;
  for (std::size_t at = 1; at < call.inputs.size(); ++at) {
    const BatchTensor& one = call.inputs[at];
    fit = fit && one.sizes.size() <= of_indices;
    for (std::size_t d = 0; fit && d < one.sizes.size(); ++d) {
      const std::size_t to = of_indices - one.sizes.size() + d;
      const std::int64_t size = are_neighbours ? out.sizes[indexed.front() + to] : 0;
      fit = one.sizes[d] == size || one.sizes[d] == 1;  // false for a mask
      of_index[to] = of_index[to] || one.dims[d];
    }
  }
  const bool both_grow = grows(of_index) && grows(in.dims) && !call.batch.anywhere;
  if (!are_neighbours || !fit || meets_batch || both_grow || out.sizes.size() < kept) {
    refuse("indices of neighbouring dimensions beside the batch", text_of(in));
  }
  const auto first = static_cast<std::ptrdiff_t>(indexed.front());
  Dims dims(in.dims.begin(), in.dims.begin() + first);
  dims.insert(dims.end(), of_index.begin(), of_index.end());
  dims.insert(dims.end(), in.dims.begin() + static_cast<std::ptrdiff_t>(indexed.back()) + 1,
              in.dims.end());
  return all_of(call, dims);
}

std::vector<Dims> stack(const BatchCall& call) {
  Dims dims = input(call, 0).dims;
  const std::size_t at = dimension_at(call, 1, dims.size() + 1, 0);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), false);
  for (const BatchTensor& in : call.inputs) {
    if (in.dims != call.inputs[0].dims) {
      refuse("parts that grow alike", text_of(in));
    }
  }
  return all_of(call, dims);
}

std::vector<Dims> part_along_first(const BatchCall& call) {
  return part_along(call, 1, false);
}
std::vector<Dims> part_along_second(const BatchCall& call) {
  const bool are_batches = std::ranges::all_of(call.outputs, [&](const BatchTensor& out) {
    return std::ranges::all_of(out.sizes, [](std::int64_t size) { return size > 0; }) &&
           out.sizes == call.outputs[0].sizes;
  });
  const BatchTensor& in = input(call, 0);
  const std::size_t at = dimension_at(call, 2, in.sizes.size(), 0);
  const bool has_dim = !call.outputs.empty() && at < call.outputs[0].sizes.size();
  return part_along(call, 2,
                    are_batches && has_dim && call.outputs[0].sizes[at] % call.batch.from == 0);
}

std::vector<Dims> part_backward(const BatchCall& call) {
  const BatchTensor& in = input(call, 0);
  const BatchTensor& out = call.outputs.at(0);
  constexpr std::size_t kDim = 2;
  const std::size_t at = dimension_at(call, kDim, out.sizes.size(), 0);
  Dims dims = in.dims;
  if (in.sizes.size() < out.sizes.size()) {
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), false);
  } else if (in.dims[at] && in.sizes[at] != out.sizes[at]) {
    refuse("a part of something else than the batch", text_of(in) + " of " + text_of(out));
  }
  return all_of(call, dims);
}

std::vector<Dims> complex_of_pairs(const BatchCall& call) {
  Dims dims = input(call, 0).dims;
  if (dims.empty() || dims.back()) {
    refuse("pairs of numbers", text_of(input(call, 0)));
  }
  dims.pop_back();
  return all_of(call, dims);
}

std::vector<Dims> pairs_of_complex(const BatchCall& call) {
  Dims dims = input(call, 0).dims;
  dims.push_back(false);
  return all_of(call, dims);
}

}  // namespace understudy::generator::batch
