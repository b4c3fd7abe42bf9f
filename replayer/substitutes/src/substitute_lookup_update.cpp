#include <ATen/ops/clamp.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "et_schema/base/words.h"
#include "substitute_lookup.h"
#include "substitute_native.h"
#include "substitute_table.h"

namespace understudy::replayer {

using torch::jit::Stack;

namespace {

/// Optimizer state of the tables: its elements, and the start of each feature's part.
struct State {
  Tensor values;
  Tensor offsets;

  /// Returns the state of a feature's table as a matrix, with as many columns as the table, or one.
  [[nodiscard]] Tensor table(const LookupFeature& feature, std::size_t index,
                             std::int64_t columns) const {
    const auto start = offsets.narrow(0, static_cast<std::int64_t>(index), 1).item<std::int64_t>();
    return values.narrow(0, start, feature.rows * columns).view({feature.rows, columns});
  }
};

/// The recorded arguments of all optimizers; each optimizer records only its own.
struct Settings {
  static constexpr std::string_view kArguments =
      "gradient_clipping? max_gradient? momentum1_dev|momentum1_host? momentum1_uvm? "
      "momentum1_offsets? momentum2_dev|momentum2_host? momentum2_uvm? momentum2_offsets? eps? "
      "learning_rate|learning_rate_tensor? beta1? beta2? weight_decay? iter?";

  [[nodiscard]] static Settings read(Inputs& in);

  bool clips = false;
  double largest_gradient = 0;
  State first;
  State second;
  double epsilon = 0;
  double learning_rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double weight_decay = 0;
  double step = 1;
};

State read_state(Inputs& in) {
  State state;
  state.values = in.tensor();
  const Tensor unified = in.tensor();
  if ((!state.values.defined() || state.values.numel() == 0) && unified.defined()) {
    state.values = unified;
  }
  state.offsets = in.tensor();
  return state;
}

Settings Settings::read(Inputs& in) {
  // Traces hold six decimals: a smaller epsilon was recorded as 0, and 0/0 would be NaN.
  constexpr double kUsualEpsilon = 1e-8;
  constexpr double kUsualBeta1 = 0.9;
  constexpr double kUsualBeta2 = 0.999;
  Settings settings;
  settings.clips = in.flag();
  settings.largest_gradient = in.number();
  settings.first = read_state(in);
  settings.second = read_state(in);
  settings.epsilon = in.number();
  settings.learning_rate = in.number();
  settings.beta1 = in.number(kUsualBeta1);
  settings.beta2 = in.number(kUsualBeta2);
  settings.weight_decay = in.number();
  settings.step = std::max(in.number(1), 1.0);
  if (settings.epsilon <= 0) {
    settings.epsilon = kUsualEpsilon;
  }
  return settings;
}

/// An optimizer's step on the accessed rows: returns the values to subtract, from the gradients.
using Update = Tensor (*)(const Settings&, const LookupFeature&, const RowGradients&);

Tensor sgd(const Settings& settings, const LookupFeature&, const RowGradients& reached) {
  return reached.gradients * settings.learning_rate;
}

/// Adds `increment` to the state's rows and returns these rows.
Tensor accumulate(const Tensor& state, const Tensor& rows, const Tensor& increment) {
  const Tensor updated = state.index_select(0, rows) + increment;
  state.index_copy_(0, rows, updated.to(state.scalar_type()));
  return updated;
}

/// Returns the squares of the gradients, or their means by row.
template <bool kRowwise>
Tensor squares(const Tensor& gradients) {
  return kRowwise ? gradients.square().mean(1, /*keepdim=*/true) : gradients.square();
}

template <bool kRowwise>
Tensor adagrad(const Settings& settings, const LookupFeature& feature,
               const RowGradients& reached) {
  const Tensor state = settings.first.table(feature, reached.feature, kRowwise ? 1 : feature.dim);
  const Tensor sums = accumulate(state, reached.rows, squares<kRowwise>(reached.gradients));
  return reached.gradients * settings.learning_rate / (sums.sqrt() + settings.epsilon);
}

/// Moves the state's rows towards `target` by a factor of 1 - beta and returns these rows.
Tensor decay(const Tensor& state, const Tensor& rows, const Tensor& target, double beta) {
  const Tensor updated = state.index_select(0, rows) * beta + target * (1 - beta);
  state.index_copy_(0, rows, updated.to(state.scalar_type()));
  return updated;
}

/// If `kRowwise`, only the second moment is by row.
template <bool kRowwise>
Tensor adam(const Settings& settings, const LookupFeature& feature, const RowGradients& reached) {
  const std::size_t index = reached.feature;
  const Tensor first = decay(settings.first.table(feature, index, feature.dim), reached.rows,
                             reached.gradients, settings.beta1);
  const Tensor second = decay(settings.second.table(feature, index, kRowwise ? 1 : feature.dim),
                              reached.rows, squares<kRowwise>(reached.gradients), settings.beta2);
  const double correction1 = 1 - std::pow(settings.beta1, settings.step);
  const double correction2 = 1 - std::pow(settings.beta2, settings.step);
  return first / correction1 * settings.learning_rate /
         ((second / correction2).sqrt() + settings.epsilon);
}

/// Returns the parts of a flat tensor that a lookup's indices access, in the largest units that
/// tables of several widths have in common.
TableReach table_rows(const Lookup& lookup, const Tensor& flat,
                      const std::vector<std::int64_t>& starts, bool elementwise) {
  TORCH_CHECK(starts.size() >= lookup.features.size(), starts.size(), " offsets for ",
              lookup.features.size(), " features");
  TableReach reach;
  reach.table = flat;
  for (std::size_t i = 0; i < lookup.features.size(); ++i) {
    const std::int64_t width = elementwise ? lookup.features[i].dim : 1;
    reach.row_elements = std::gcd(std::gcd(reach.row_elements, width), starts[i]);
  }
  for (std::size_t i = 0; i < lookup.features.size(); ++i) {
    const LookupFeature& feature = lookup.features[i];
    const std::int64_t width = elementwise ? feature.dim : 1;
    for (const std::int64_t index : to_host(lookup.feature_indices(feature))) {
      const std::int64_t begin = (starts[i] + index * width) / reach.row_elements;
      for (std::int64_t piece = 0; piece < width / reach.row_elements; ++piece) {
        reach.rows.push_back(begin + piece);
      }
    }
  }
  return reach;
}

std::vector<std::int64_t> starts_of(const Lookup& lookup) {
  std::vector<std::int64_t> starts;
  for (const LookupFeature& feature : lookup.features) {
    starts.push_back(feature.weights_offset);
  }
  return starts;
}

struct Optimizer {
  std::string_view names;  ///< separated by blanks
  Update update;
};

constexpr Optimizer kOptimizers[] = {
    {"sgd approx_sgd", sgd},
    {"adagrad", adagrad<false>},
    {"rowwise_adagrad approx_rowwise_adagrad", adagrad<true>},
    {"adam", adam<false>},
    {"partial_rowwise_adam", adam<true>},
};

void update_tables(const Lookup& lookup, const Settings& settings, const Tensor& grad_output,
                   Update update) {
  const Tensor gradient =
      settings.clips ? grad_output.clamp(-settings.largest_gradient, settings.largest_gradient)
                     : grad_output;
  for (RowGradients& reached : row_gradients(lookup, gradient)) {
    const LookupFeature& feature = lookup.features[reached.feature];
    const Tensor table = lookup.table(feature);
    const Tensor rows = table.index_select(0, reached.rows).to(at::kFloat);
    if (settings.weight_decay != 0) {
      reached.gradients.add_(rows, settings.weight_decay);
    }
    const Tensor updated = rows - update(settings, feature, reached);
    table.index_copy_(0, reached.rows, updated.to(table.scalar_type()));
  }
}

/// Adds the gradient of the whole flat weights, which is zero except in accessed rows.
void add_table_gradient(const Lookup& lookup, const Tensor& grad_output, const Tensor& gradient) {
  for (const RowGradients& reached : row_gradients(lookup, grad_output)) {
    const LookupFeature& feature = lookup.features[reached.feature];
    gradient.narrow(0, feature.weights_offset, feature.rows * feature.dim)
        .view({feature.rows, feature.dim})
        .index_add_(0, reached.rows, reached.gradients.to(gradient.scalar_type()));
  }
}

/// Returns the optimizer in "torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>"; "Dense" if
/// the tables are ordinary parameters; empty for other labels.
std::string_view optimizer_of(std::string_view label) {
  constexpr std::string_view kBefore = "LookupFunction_";
  constexpr std::string_view kAfter = "_Op";
  const std::size_t start = label.find(kBefore);
  if (start == std::string_view::npos) {
    return {};
  }
  label.remove_prefix(start + kBefore.size());
  return label.substr(0, label.find(kAfter));
}

struct NativeShape {
  std::size_t gradients = 0;
  std::size_t arguments = 0;
  std::size_t allocated = 0;
};

/// Returns the first allocated tensor with the layout of the flat weights; a new one if there is
/// none.
Tensor gradient_target(const Stack& stack, std::size_t first, const NativeShape& shape,
                       const Tensor& weights) {
  const std::size_t begin = first + shape.gradients + shape.arguments;
  for (std::size_t i = begin; i < begin + shape.allocated; ++i) {
    if (!stack[i].isTensor()) {
      continue;
    }
    const Tensor& candidate = stack[i].toTensor();
    if (candidate.defined() && candidate.sizes() == weights.sizes() &&
        candidate.scalar_type() == weights.scalar_type()) {
      return candidate;
    }
  }
  return {};
}

Results dense_backward(const Stack& stack, std::size_t first, const NativeShape& shape,
                       const ArgumentPlaces& places) {
  Inputs in(stack, first + shape.gradients, places);
  const Lookup lookup = Lookup::read(in);
  const Tensor target = gradient_target(stack, first, shape, lookup.weights);
  const Tensor gradient = target.defined() ? target.zero_() : at::zeros_like(lookup.weights);
  add_table_gradient(lookup, stack[first].toTensor(), gradient);
  return target.defined() ? Results{} : Results{gradient};
}

constexpr std::string_view kBy = "aten::_unique2, aten::index_add_ and aten::index_copy_";

/// The backward pass as a separate operator. It returns no gradient, because it updates the tables.
template <Update update>
Results backward(const Tensor& grad_output, const Lookup& lookup, const Settings& settings) {
  update_tables(lookup, settings, grad_output, update);
  return {};
}

/// The gradient, Lookup::kArguments and Settings::kArguments.
constexpr std::string_view kBackwardArguments =
    "grad_output dev_weights|host_weights|weights uvm_weights? host_weights? weights_offsets "
    "D_offsets total_D? indices offsets pooling_mode indice_weights? output_dtype? "
    "gradient_clipping? max_gradient? momentum1_dev|momentum1_host? momentum1_uvm? "
    "momentum1_offsets? momentum2_dev|momentum2_host? momentum2_uvm? momentum2_offsets? eps? "
    "learning_rate|learning_rate_tensor? beta1? beta2? weight_decay? iter?";

constexpr SubstituteRow kRows[] = {
    {"fbgemm::split_embedding_backward_codegen_sgd_cpu", kBy, kBackwardArguments,
     unpacked<backward<sgd>>},
    {"fbgemm::split_embedding_backward_codegen_adagrad_cpu", kBy, kBackwardArguments,
     unpacked<backward<adagrad<false>>>},
    {"fbgemm::split_embedding_backward_codegen_rowwise_adagrad_cpu", kBy, kBackwardArguments,
     unpacked<backward<adagrad<true>>>},
};

}  // namespace

std::span<const SubstituteRow> lookup_update_rows() {
  return kRows;
}

std::optional<Substitute> find_native_substitute(std::string_view label, std::size_t gradients,
                                                 std::string_view forward_op,
                                                 std::span<const std::string> forward_arguments,
                                                 std::size_t allocated) {
  const std::string_view name = optimizer_of(label);
  const std::optional<ArgumentPlaces> lookup_places =
      ArgumentPlaces::find(Lookup::kArguments, forward_arguments);
  if (!forward_op.starts_with("fbgemm::") || name.empty() || gradients == 0 || !lookup_places) {
    return std::nullopt;
  }
  const NativeShape shape{
      .gradients = gradients, .arguments = forward_arguments.size(), .allocated = allocated};
  const std::size_t entries = gradients + forward_arguments.size() + allocated;
  Substitute found{.by = std::string(kBy), .rung = Rung::kSubstituted, .call = {}};
  if (name == "Dense") {
    found.call =
        on_stack(entries, [shape, places = *lookup_places](const Stack& stack, std::size_t first) {
          return dense_backward(stack, first, shape, places);
        });
    return found;
  }
  const auto* optimizer = std::ranges::find_if(
      kOptimizers, [&](const Optimizer& entry) { return et_schema::has_word(entry.names, name); });
  const std::optional<ArgumentPlaces> settings_places =
      ArgumentPlaces::find(Settings::kArguments, forward_arguments);
  if (optimizer == std::end(kOptimizers) || !settings_places) {
    return std::nullopt;
  }
  found.call =
      on_stack(entries, [shape, update = optimizer->update, lookup_at = *lookup_places,
                         settings_at = *settings_places](const Stack& stack, std::size_t first) {
        const std::size_t arguments = first + shape.gradients;
        Inputs lookup_in(stack, arguments, lookup_at);
        Inputs settings_in(stack, arguments, settings_at);
        update_tables(Lookup::read(lookup_in), Settings::read(settings_in), stack[first].toTensor(),
                      update);
        return Results{};
      });
  return found;
}

std::vector<TableReach> lookup_reach(std::span<const std::string> arguments, const Stack& stack) {
  std::vector<TableReach> reach;
  const std::optional<ArgumentPlaces> lookup_places =
      ArgumentPlaces::find(Lookup::kArguments, arguments);
  if (!lookup_places || stack.size() < arguments.size()) {
    return reach;
  }
  const std::size_t first = stack.size() - arguments.size();
  Inputs in(stack, first, *lookup_places);
  const Lookup lookup = Lookup::read(in);
  reach.push_back(table_rows(lookup, lookup.weights, starts_of(lookup), true));
  const std::optional<ArgumentPlaces> settings_places =
      ArgumentPlaces::find(Settings::kArguments, arguments);
  if (!settings_places) {
    return reach;
  }
  Inputs settings_in(stack, first, *settings_places);
  const Settings settings = Settings::read(settings_in);
  for (const State& state : {settings.first, settings.second}) {
    if (!state.values.defined() || !state.offsets.defined() || state.values.numel() == 0) {
      continue;
    }
    // If the state has at least as many elements as the weights, it has one per weight; otherwise
    // one per row.
    const bool elementwise = state.values.numel() >= lookup.weights.numel();
    reach.push_back(table_rows(lookup, state.values, to_host(state.offsets), elementwise));
  }
  return reach;
}

}  // namespace understudy::replayer
