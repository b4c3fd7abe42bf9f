#include "replayer/substitutes/substitutes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "et_schema/facts/operator_facts.h"
#include "substitute_native.h"
#include "substitute_table.h"

namespace understudy::replayer {
namespace {

using torch::jit::Stack;

std::optional<Substitute> bind(const SubstituteRow& row, std::span<const std::string> arguments,
                               RecordedResults results) {
  std::optional<ArgumentPlaces> places = ArgumentPlaces::find(row.arguments, arguments);
  if (!places) {
    return std::nullopt;
  }
  auto run = [places = *std::move(places), fillers = Fillers(results), function = row.run](
                 const Stack& stack, std::size_t first) {
    Inputs inputs(stack, first, places);
    return function(inputs, fillers);
  };
  return Substitute{.by = std::string(row.by),
                    .rung = row.rung,
                    .call = on_stack(arguments.size(), std::move(run))};
}

}  // namespace

std::optional<Substitute> find_substitute(std::string_view op,
                                          std::span<const std::string> arguments,
                                          c10::DeviceType device, RecordedResults results) {
  const auto search = [&](std::span<const SubstituteRow> rows) -> std::optional<Substitute> {
    for (const SubstituteRow& row : rows) {
      if (!names_operator(row.op, op)) {
        continue;
      }
      if (std::optional<Substitute> bound = bind(row, arguments, results)) {
        return bound;
      }
    }
    return std::nullopt;
  };
  for (const std::span<const SubstituteRow> rows :
       {convolution_rows(), normalization_rows(), recurrent_rows(), cudnn_rnn_rows(), other_rows(),
        jagged_rows(), lookup_rows(), lookup_update_rows()}) {
    if (std::optional<Substitute> found = search(rows)) {
      return found;
    }
  }
  // These substitutes use the CPU's own attention.
  if (device == c10::DeviceType::CPU) {
    std::optional<Substitute> found = search(attention_rows());
    return found ? found : search(attention_kernel_rows());
  }
  return search(moved_attention_rows());
}

std::optional<std::string> not_applicable_reason(std::string_view op, c10::DeviceType device) {
  const std::string_view reason = et_schema::operator_facts(op).not_on_cpu;
  return device == c10::DeviceType::CPU && !reason.empty() ? std::optional(std::string(reason))
                                                           : std::nullopt;
}

}  // namespace understudy::replayer
