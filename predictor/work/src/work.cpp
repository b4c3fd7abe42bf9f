#include "predictor/work/work.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "et_schema/base/enum_names.h"
#include "et_schema/base/map_values.h"
#include "et_schema/facts/operator_facts.h"
#include "et_schema/model/op_class.h"
#include "products.h"

namespace understudy::predictor {
namespace {

constexpr et_schema::EnumNames<Family::kExperts> kFamilyNames(
    "matmul", "convolution", "attention", "normalization", "softmax", "elementwise", "reduction",
    "embedding", "index", "copy", "view", "allocation", "pooling", "loss", "optimizer", "recurrent",
    "random", "sort", "linalg", "fft", "communication", "experts");

/// Returns the FLOPs of a decomposition, or a solution by it: each element of a matrix is used once
/// for each row or column, whichever are fewer.
double decomposition_flops(const OperatorCall& call) {
  double most = 0;
  for (const TensorLayout* matrix : matrices(call)) {
    most =
        std::max(most, 2 * count(*matrix) * std::min(dimension(*matrix, 1), dimension(*matrix, 2)));
  }
  return most;
}

/// Returns the number of rows in a table's sparse gradient.
double held_rows(const TensorLayout& sparse) {
  TensorLayout whole = sparse;
  whole.stored.reset();
  const double row_length = count(whole) / std::max(size_at(whole, 0), 1.0);
  return count(sparse) / std::max(row_length, 1.0);
}

/// Returns the number of row indices: all integer arguments, and the rows of sparse ones.
double index_count(const OperatorCall& call) {
  return sum_of(call.inputs, [](const TensorLayout& input) {
    return (et_schema::is_integral(input.dtype) ? count(input) : 0) +
           (input.stored ? held_rows(input) : 0);
  });
}

/// Returns a table's bytes, limited to the rows that the indices can select.
double met_bytes(const TensorLayout& table, double indices) {
  if (table.stored) {
    return stored_bytes(table);
  }
  const double row_bytes = stored_bytes(table) / std::max(size_at(table, 0), 1.0);
  return indices > 0 ? std::min(stored_bytes(table), indices * row_bytes) : stored_bytes(table);
}

/// Returns the bytes of gathered rows and their indices.
double gathered_bytes(const OperatorCall& call) {
  const double indices = index_count(call);
  return sum_of(call.inputs, [indices](const TensorLayout& input) {
    return et_schema::is_integral(input.dtype) ? stored_bytes(input) : met_bytes(input, indices);
  });
}

/// Returns true for operators that write only selected rows, such as "aten::index_add_".
bool writes_rows_in_place(const OperatorCall& call, Family family) {
  return family == Family::kIndex && call.name.ends_with('_') && !call.name.ends_with("__");
}

/// Returns the bytes of a sparse gradient, which has a row for each index.
double sparse_rows_bytes(const OperatorCall& call) {
  double indices = 0;
  for (const TensorLayout& input : call.inputs) {
    indices = std::max(indices, et_schema::is_integral(input.dtype) ? count(input) : 0);
  }
  const TensorLayout& table = call.outputs.front();
  const auto item = static_cast<double>(et_schema::item_size(table.dtype));
  return indices * count(table) / std::max(size_at(table, 0), 1.0) * item;
}

void set_bytes(const OperatorCall& call, Work& work) {
  if (work.family == Family::kView || work.family == Family::kAllocation) {
    const bool fills = et_schema::operator_facts(call.name).fills;
    work.write_bytes = fills ? sum_of(call.outputs, et_schema::stored_bytes) : 0;
    return;
  }
  if (has_part(call, "all_gather_copy_in") && !call.outputs.empty()) {
    // FSDP copies a rank's part into its place, the first result, in the memory for all parts.
    work.read_bytes = work.write_bytes = stored_bytes(call.outputs.front());
    return;
  }
  const bool gathers = work.family == Family::kEmbedding || work.family == Family::kIndex;
  work.read_bytes = gathers ? gathered_bytes(call) : sum_of(call.inputs, et_schema::stored_bytes);
  const bool in_place = writes_rows_in_place(call, work.family);
  work.write_bytes = sum_of(call.outputs, [&](const TensorLayout& output) {
    return in_place ? met_bytes(output, index_count(call)) : stored_bytes(output);
  });
  if (has_sparse_result(call) && !call.outputs.front().stored) {
    work.write_bytes += sparse_rows_bytes(call);
  }
  // foreach and fused optimizers return nothing. They write about half of what they read.
  if (call.outputs.empty() && !call.inputs.empty()) {
    work.write_bytes = work.read_bytes / 2;
  }
}

/// FLOPs per element of operators without a product.
double flops_per_element(Family family) {
  using enum Family;
  static const std::map<Family, double> kUnlikeOne = {
      {kNormalization, 8}, {kSoftmax, 5}, {kOptimizer, 4}, {kView, 0},
      {kAllocation, 0},    {kCopy, 0},    {kIndex, 0}};
  return et_schema::value_or(kUnlikeOne, family, 1);
}

void set_rows(const OperatorCall& call, Work& work) {
  if (call.inputs.empty()) {
    return;
  }
  const double in = count(call.inputs[0]);
  const double out = call.outputs.empty() ? in : count(call.outputs[0]);
  const bool reduces = work.family == Family::kReduction || work.family == Family::kPooling;
  if (reduces && out >= 1) {
    work.row_length = std::max(in / out, 1.0);
  } else {
    work.row_length = std::max(dimension(call.inputs[0], 1), 1.0);
  }
  work.rows = std::max(in / work.row_length, 1.0);
}

}  // namespace

std::string_view to_string(Family family) {
  return kFamilyNames[family];
}

bool has_sparse_result(const OperatorCall& call) {
  if (family_of(call.name) != Family::kEmbedding || call.outputs.empty()) {
    return false;
  }
  const TensorLayout& result = call.outputs.front();
  return element_count(result) > 1 && !result.strides.empty() &&
         std::ranges::all_of(result.strides, [](std::int64_t stride) { return stride == 0; });
}

Family family_of(std::string_view op) {
  if (et_schema::asks_about_tensors(op)) {
    return Family::kView;
  }
  if (op.find("experts") != std::string_view::npos ||
      op.find("fused_moe") != std::string_view::npos) {
    return Family::kExperts;
  }
  return kFamilyNames.find(et_schema::op_class(op)).value_or(Family::kElementwise);
}

Work work_of(const OperatorCall& call) {
  Work work;
  work.family = family_of(call.name);
  set_bytes(call, work);
  set_rows(call, work);
  const double elements = std::max(most_elements(call.inputs), most_elements(call.outputs));
  switch (work.family) {
    case Family::kMatmul:
      set_product(call, work);
      break;
    case Family::kConvolution:
      set_convolution(call, work);
      break;
    case Family::kAttention:
      set_attention(call, work);
      break;
    case Family::kExperts:
      set_experts(call, work);
      break;
    case Family::kSort:
      work.flops = elements * std::log2(std::max(work.row_length, 2.0));
      break;
    case Family::kLinalg:
      work.flops = decomposition_flops(call);
      break;
    case Family::kFft:
      // The transformed dimensions are unknown: assume the last one, which is rarely the batch.
      work.flops = 5 * elements * std::log2(std::max(work.row_length, 2.0));
      break;
    case Family::kRecurrent:
      // Each step of the sequence uses all weights.
      work.flops = sum_of(call.inputs, [&](const TensorLayout& input) {
        return 2 * count(input) * (input.sizes.size() == 2 ? work.rows : 0);
      });
      break;
    default:
      work.flops = flops_per_element(work.family) * elements;
      break;
  }
  return work;
}

DType compute_dtype(const OperatorCall& call) {
  if (family_of(call.name) == Family::kExperts && call.inputs.size() > 1) {
    return call.inputs[1].dtype;
  }
  for (const auto* tensors : {&call.inputs, &call.outputs}) {
    for (const TensorLayout& tensor : *tensors) {
      if (et_schema::is_floating(tensor.dtype)) {
        return tensor.dtype;
      }
    }
  }
  return DType::kFloat32;
}

Work measured_work(const OperatorCall& call, const et_schema::Counters& counters) {
  Work work = work_of(call);
  const auto counted = [&](const char* name) { return et_schema::value_or(counters, name, 0); };
  if (const double flops = counted("flop") + counted("tensor_flop"); flops > 0) {
    work.flops = flops;
    work.counted_flops = true;
  }
  if (const double bytes = counted("dram_bytes"); bytes > 0) {
    const double of_shapes = bytes_of(work);
    work.read_bytes = of_shapes > 0 ? work.read_bytes / of_shapes * bytes : bytes;
    work.write_bytes = bytes - work.read_bytes;
    work.counted_bytes = true;
  }
  return work;
}

CountedShares counted_shares(const std::vector<const MeasuredCall*>& calls) {
  std::map<std::string, std::array<double, 4>> sums;
  for (const MeasuredCall* call : calls) {
    const Work computed = work_of(call->call);
    const Work work = measured_work(call->call, call->counters);
    if (work.counted_flops || work.counted_bytes) {
      auto& [flops, flops_of_shapes, bytes, bytes_of_shapes] = sums[full_name(call->call)];
      flops += work.counted_flops ? work.flops : 0;
      flops_of_shapes += work.counted_flops ? computed.flops : 0;
      bytes += work.counted_bytes ? bytes_of(work) : 0;
      bytes_of_shapes += work.counted_bytes ? bytes_of(computed) : 0;
    }
  }
  CountedShares shares;
  for (const auto& [name, sum] : sums) {
    shares[name] = {sum[1] > 0 ? sum[0] / sum[1] : 1, sum[3] > 0 ? sum[2] / sum[3] : 1};
  }
  return shares;
}

Work measured_work(const OperatorCall& call, const et_schema::Counters& counters,
                   const CountedShares& shares) {
  Work work = measured_work(call, counters);
  if (const auto found = shares.find(full_name(call)); found != shares.end()) {
    work.flops *= work.counted_flops ? 1 : found->second.flops;
    const double factor = work.counted_bytes ? 1 : found->second.bytes;
    work.read_bytes *= factor;
    work.write_bytes *= factor;
  }
  return work;
}

}  // namespace understudy::predictor
