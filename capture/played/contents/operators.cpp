#include "capture/played/contents/operators.h"

#include <ATen/core/enum_tag.h>

#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace understudy::contents {
namespace {

using Names = std::unordered_set<std::string_view>;

// They write all of their first argument.
const Names kOverwrite = {"aten::fill_",   "aten::zero_",          "aten::copy_",
                          "aten::normal_", "aten::_foreach_zero_", "aten::_foreach_copy_"};
// Their arguments say sizes and types alone.
const Names kOfSize = {"aten::zeros_like", "aten::ones_like", "aten::full_like",
                       "aten::new_zeros",  "aten::new_ones",  "aten::new_full",
                       "aten::empty_like", "aten::new_empty", "aten::new_empty_strided"};
// They read lengths, offsets and masks on the host; no tag says so.
const Names kReadLengths = {"aten::_pack_padded_sequence",
                            "aten::_nested_tensor_from_mask_left_aligned",
                            "aten::_nested_tensor_from_mask",
                            "aten::_choose_qparams_per_tensor",
                            "aten::tensor_split",
                            "aten::ctc_loss",
                            "aten::_cudnn_ctc_loss"};
// Tagged by a part of what they do, which has operators of its own, or decides nothing.
const Names kDecideWithin = {"aten::index",       "aten::item",     "aten::allclose",
                             "aten::one_hot",     "aten::argwhere", "aten::masked_select",
                             "aten::linalg_lstsq"};
const Names kCopy = {"aten::copy_",       "aten::_to_copy",       "aten::to",
                     "aten::clone",       "aten::contiguous",     "aten::pin_memory",
                     "aten::cpu",         "aten::_pin_memory",    "aten::type_as",
                     "aten::_copy_from",  "aten::fill_",          "aten::masked_fill_",
                     "aten::index_fill_", "aten::_foreach_copy_", "aten::_assert_async"};
// They change what a tensor is, not what lies in memory.
const Names kForm = {"aten::record_stream", "aten::set_data",   "aten::requires_grad_",
                     "aten::retain_grad",   "aten::_backward",  "aten::rename_",
                     "aten::_coalesced_",   "aten::lift_fresh", "aten::_fw_primal"};

bool has(const Names& names, const std::string& name) {
  return names.find(name) != names.end();
}

bool starts_with(const std::string& text, std::string_view start) {
  return text.compare(0, start.size(), start) == 0;
}

bool is_written(const c10::Argument& argument) {
  // Batch norms write their running means, and no schema says so.
  return (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) ||
         starts_with(argument.name(), "running_");
}

void read_arguments(Operator& made) {
  const auto& arguments = made.handle.schema().arguments();
  const bool is_of_size = has(kOfSize, made.name);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_whole = arguments[i].is_out() || (i == 0 && has(kOverwrite, made.name));
    made.matters.push_back(!is_whole && !is_of_size);
    if (is_written(arguments[i])) {
      made.written.push_back(i);
    }
  }
}

std::unique_ptr<const Operator> read(const c10::OperatorHandle& handle) {
  auto made = std::make_unique<Operator>(Operator{handle, handle.schema().name(), {}, {}});
  const auto tagged = [&](at::Tag tag) { return handle.hasTag(tag); };
  const std::string& name = made->name;
  read_arguments(*made);
  made->is_of_torch = starts_with(name, "aten::");
  made->is_of_groups = starts_with(name, "c10d::") || starts_with(name, "_c10d_functional");
  made->makes_nothing = starts_with(name, "aten::empty") || starts_with(name, "aten::new_empty");
  made->keeps_contents = has(kForm, name) || tagged(at::Tag::inplace_view);
  for (const c10::Argument& result : handle.schema().returns()) {
    made->keeps_contents |= result.alias_info() != nullptr && !result.alias_info()->isWrite();
  }
  made->moves = starts_with(name, "aten::resize_") || name == "aten::_resize_output_";
  made->is_random = tagged(at::Tag::nondeterministic_seeded);
  made->is_copy = has(kCopy, name) || starts_with(name, "aten::_foreach_") ||
                  starts_with(name, "aten::_fused_");
  made->has_dynamic_size = tagged(at::Tag::dynamic_output_shape) && !has(kDecideWithin, name);
  made->reads_lengths = has(kReadLengths, name);
  made->decides = made->has_dynamic_size || made->reads_lengths ||
                  (tagged(at::Tag::data_dependent_output) && !has(kDecideWithin, name));
  return made;
}

}  // namespace

const Operator* find_operator(const c10::OperatorName& name) {
  thread_local std::unordered_map<c10::OperatorName, std::unique_ptr<const Operator>> read_ones;
  auto& found = read_ones[name];
  if (!found) {
    if (const auto handle = c10::Dispatcher::singleton().findOp(name)) {
      found = read(*handle);
    }
  }
  return found.get();
}

}  // namespace understudy::contents
