#include "predictor/operators/work.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "et_schema/base/enum_names.h"
#include "et_schema/facts/operator_facts.h"
#include "et_schema/model/op_class.h"
#include "kernel_load.h"

namespace understudy::predictor {
namespace {

constexpr et_schema::EnumNames<Family::kCommunication> kFamilyNames(
    "matmul", "convolution", "attention", "normalization", "softmax", "elementwise", "reduction",
    "embedding", "index", "copy", "view", "allocation", "pooling", "loss", "optimizer", "recurrent",
    "random", "sort", "linalg", "fft", "communication");

double count(const TensorLayout& tensor) {
  return static_cast<double>(element_count(tensor));
}

template <typename Of>
double sum_of(const std::vector<TensorLayout>& tensors, Of&& of) {
  double sum = 0;
  for (const TensorLayout& tensor : tensors) {
    sum += of(tensor);
  }
  return sum;
}

double most_elements(const std::vector<TensorLayout>& tensors) {
  double most = 0;
  for (const TensorLayout& tensor : tensors) {
    most = std::max(most, count(tensor));
  }
  return most;
}

double dimension(const TensorLayout& tensor, std::size_t from_end) {
  const std::size_t rank = tensor.sizes.size();
  return from_end <= rank ? static_cast<double>(tensor.sizes[rank - from_end]) : 1;
}

double first_dimension(const TensorLayout& tensor) {
  return tensor.sizes.empty() ? 1 : static_cast<double>(tensor.sizes[0]);
}

/// Returns the factors of a product: floating-point inputs of two dimensions or more, in order.
std::vector<const TensorLayout*> matrices(const OperatorCall& call) {
  std::vector<const TensorLayout*> found;
  for (const TensorLayout& input : call.inputs) {
    if (input.sizes.size() >= 2 && !et_schema::is_integral(input.dtype)) {
      found.push_back(&input);
    }
  }
  return found;
}

/// Returns true if the first argument is added to the product, as for addmm.
bool begins_with_addend(const OperatorCall& call) {
  return has_part(call, "addmm") || has_part(call, "baddbmm") || has_part(call, "addbmm");
}

void set_product(const OperatorCall& call, Work& work) {
  std::vector<const TensorLayout*> factors = matrices(call);
  if (begins_with_addend(call) && factors.size() > 2) {
    factors.erase(factors.begin());
  }
  const TensorLayout* const out = call.outputs.empty() ? nullptr : &call.outputs[0];
  if (factors.size() < 2) {
    // One side is a vector or scalar: each element is used once.
    work.flops = 2 * most_elements(call.inputs);
    return;
  }
  const double left = count(*factors[0]);
  const double right = count(*factors[1]);
  Product& product = work.product;
  product.k = std::max(dimension(*factors[0], 1), 1.0);
  const bool is_linear = has_part(call, "::linear");
  product.n = is_linear ? first_dimension(*factors[1]) : dimension(*factors[1], 1);
  const bool is_batched = !is_linear && factors[1]->sizes.size() > 2;
  product.m = is_batched ? dimension(*factors[0], 2) : left / product.k;
  product.batch = is_batched ? left / std::max(product.m * product.k, 1.0) : 1;
  double flops = 2 * product.batch * product.m * product.n * product.k;
  if (has_part(call, "einsum") && out != nullptr) {
    // The equation is unknown, so the contracted dimensions are, too. For a single product,
    // |a||b||out| = batch (batch m n k)^2.
    flops = 2 * std::sqrt(left * right * count(*out) / product.batch);
  }
  work.is_product = true;
  work.flops = has_part(call, "backward") ? 2 * flops : flops;
}

/// Up to two second gradients precede the gradient, the weight and the input. Each requires two
/// convolutions: for its part of the result's gradient, and for the other operand's gradient.
void set_double_backward(const std::vector<const TensorLayout*>& tensors, Work& work) {
  constexpr std::size_t kOthers = 3;
  if (tensors.size() <= kOthers) {
    return;
  }
  const std::size_t given = tensors.size() - kOthers;
  const TensorLayout& gradient = *tensors[given];
  const TensorLayout& weight = *tensors[given + 1];
  const double channels = std::max(first_dimension(weight), 1.0);
  work.is_product = true;
  work.product = {1, channels, count(gradient) / channels, count(weight) / channels};
  work.flops = 2 * static_cast<double>(given) * 2 * count(gradient) * work.product.k;
}

void set_convolution(const OperatorCall& call, Work& work) {
  const std::vector<const TensorLayout*> tensors = matrices(call);
  if (has_part(call, "convolution_double_backward")) {
    set_double_backward(tensors, work);
    return;
  }
  const bool is_backward = has_part(call, "backward");
  const std::size_t weight_at = is_backward ? 2 : 1;
  if (tensors.size() <= weight_at) {
    return;
  }
  const TensorLayout& weight = *tensors[weight_at];
  const TensorLayout* const result =
      is_backward ? tensors[0] : (call.outputs.empty() ? tensors[0] : &call.outputs[0]);
  const double channels = std::max(first_dimension(weight), 1.0);
  work.is_product = true;
  work.product = {1, channels, count(*result) / channels, count(weight) / channels};
  const double flops = 2 * count(*result) * work.product.k;
  const double gradients = sum_of(
      call.outputs, [](const TensorLayout& output) { return output.sizes.size() >= 2 ? 1 : 0; });
  work.flops = is_backward ? flops * std::max(gradients, 1.0) : flops;
}

/// Returns a sequence's length. The kernels below scaled dot product attention use (batch, length,
/// heads, width), or concatenate all sequences in one dimension and add their offsets.
double sequence_length(const OperatorCall& call, const TensorLayout& tensor) {
  if (!has_part(call, "::_flash_attention") && !has_part(call, "::_efficient_attention")) {
    return dimension(tensor, 2);
  }
  double sequences = 1;
  for (const TensorLayout& input : call.inputs) {
    const bool has_starts = tensor.sizes.size() == 3 && et_schema::is_integral(input.dtype);
    sequences = has_starts ? std::max(count(input) - 1, 1.0) : sequences;
  }
  return dimension(tensor, 3) / sequences;
}

void set_attention(const OperatorCall& call, Work& work) {
  const std::vector<const TensorLayout*> tensors = matrices(call);
  if (tensors.size() < 2) {
    return;
  }
  const bool is_backward = has_part(call, "backward");
  // Arguments of a backward pass start with the gradient, which has the query's shape.
  const TensorLayout& query = *tensors[0];
  const TensorLayout& key = *tensors[is_backward && tensors.size() > 2 ? 2 : 1];
  constexpr double kBackwardProducts = 2.5;  // five products instead of the forward pass's two
  const double queries = sequence_length(call, query);
  const double keys = sequence_length(call, key);
  work.flops = 4 * count(query) * keys * (is_backward ? kBackwardProducts : 1);
  work.is_product = true;
  const double rows = std::max(queries * dimension(query, 1), 1.0);
  work.product = {count(query) / rows, queries, keys, dimension(query, 1)};
}

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
  const double row_length = count(whole) / std::max(first_dimension(whole), 1.0);
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
  const double row_bytes = stored_bytes(table) / std::max(first_dimension(table), 1.0);
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
  return indices * count(table) / std::max(first_dimension(table), 1.0) * item;
}

void set_bytes(const OperatorCall& call, Work& work) {
  if (work.family == Family::kView || work.family == Family::kAllocation) {
    const bool fills = et_schema::operator_facts(call.name).fills;
    work.write_bytes = fills ? sum_of(call.outputs, et_schema::stored_bytes) : 0;
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
  switch (family) {
    case Family::kNormalization:
      return 8;
    case Family::kSoftmax:
      return 5;
    case Family::kOptimizer:
      return 4;
    case Family::kView:
    case Family::kAllocation:
    case Family::kCopy:
    case Family::kIndex:
      return 0;
    default:
      return 1;
  }
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

Work measured_work(const OperatorCall& call, const et_schema::Counters& counters) {
  Work work = work_of(call);
  const auto counted = [&](const char* name) {
    const auto found = counters.find(name);
    return found == counters.end() ? 0 : found->second;
  };
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
