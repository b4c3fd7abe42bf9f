#include "replayer/substitutes/substitutes.h"

#include <utility>

#include "et_schema/facts/operator_facts.h"
#include "replayer/dispatch/schema_map.h"
#include "stand_ins.h"
#include "substitute_native.h"
#include "substitute_table.h"

namespace understudy::replayer {
namespace {

std::optional<Substitute> bound(const SubstituteRow& row, std::span<const std::string> arguments) {
  std::optional<ArgumentPlaces> places = ArgumentPlaces::find(row.arguments, arguments);
  if (!places) {
    return std::nullopt;
  }
  auto run = [places = *std::move(places), function = row.run](const torch::jit::Stack& stack,
                                                               std::size_t first) {
    Inputs inputs(stack, first, places);
    return function(inputs);
  };
  return Substitute{.by = std::string(row.by), .call = on_stack(arguments.size(), std::move(run))};
}

}  // namespace

std::optional<Substitute> find_substitute(std::string_view schema, c10::Device device,
                                          RecordedResults results) {
  if (std::optional<Substitute> found = find_stand_in(schema, device, results)) {
    return found;
  }
  const RecordedSchema recorded = parse_recorded_schema(std::string(schema));
  for (const std::span<const SubstituteRow> rows : {lookup_rows(), lookup_update_rows()}) {
    for (const SubstituteRow& row : rows) {
      if (names_operator(row.op, recorded.name)) {
        return bound(row, recorded.arguments);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> not_applicable_reason(std::string_view op, c10::DeviceType device) {
  const std::string_view reason = et_schema::operator_facts(op).not_on_cpu;
  return device == c10::DeviceType::CPU && !reason.empty() ? std::optional(std::string(reason))
                                                           : std::nullopt;
}

}  // namespace understudy::replayer
