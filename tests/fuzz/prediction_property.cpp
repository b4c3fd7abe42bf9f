#include <optional>
#include <stdexcept>

#include "et_schema/base/error.h"
#include "predictor/calls/measured_files.h"
#include "predictor/platform/platform.h"
#include "properties.h"

namespace understudy::fuzz {
namespace {

using predictor::Card;
using predictor::MeasuredCall;

void require(bool holds, const char* what) {
  if (!holds) {
    throw std::logic_error(what);
  }
}

Card card(const std::string& name, double speed) {
  Card made;
  made.name = name;
  made.flops = 1e13 * speed;
  made.bandwidth_bytes_per_s = 5e11 * speed;
  made.processors = 40;
  made.l2_bytes = 4e6;
  return made;
}

MeasuredCall call(const std::string& device, std::int64_t rows, std::int64_t length, double speed) {
  const predictor::TensorLayout tensor{et_schema::DType::kFloat32, {rows, length}};
  MeasuredCall made;
  made.call = {"aten::relu", "", {tensor}, {tensor}};
  made.device = device;
  made.timed_call.emplace().median_ns = 20000 + static_cast<double>(rows * length) / speed;
  made.source = "made up";
  made.counters["energy_j"] = 1;
  return made;
}

}  // namespace

void check_operator_table(std::string_view input) {
  std::vector<MeasuredCall> calls;
  try {
    calls = predictor::calls_of(et_schema::parse_csv(input, "t.csv"), predictor::Times::kRequired);
  } catch (const et_schema::Error&) {
    return;  // refused: as right an outcome as reading it
  }
  const std::string written = predictor::to_csv(calls);
  const std::vector<MeasuredCall> again =
      predictor::calls_of(et_schema::parse_csv(written, "t.csv"), predictor::Times::kRequired);
  require(predictor::to_csv(again) == written, "a table reads back as another");
}

void check_platform(std::string_view input) {
  std::optional<predictor::Platform> platform;
  try {
    platform = predictor::parse_platform(input, "p.json");
  } catch (const et_schema::Error&) {
    return;  // refused: as right an outcome as reading it
  }
  const std::string written = predictor::to_json(*platform);
  require(predictor::to_json(predictor::parse_platform(written, "p.json")) == written,
          "a platform reads back as another");
  for (const auto& [key, device] : platform->operators.devices()) {
    for (const std::int64_t rows : {1, 1000, 1000000}) {
      const predictor::Prediction p =
          platform->operators.predict(call(key.device, rows, 333, 1).call, key);
      require(p.low_ns <= p.ns && p.ns <= p.high_ns, "a time outside of its interval");
    }
  }
}

std::vector<std::string> platform_seeds() {
  std::vector<MeasuredCall> calls;
  for (std::int64_t i = 1; i <= 320; ++i) {
    calls.push_back(call("A", 8 * i, 7 + i * i % 900, 1));
    calls.push_back(call("B", 8 * i, 7 + i * i % 900, 2));
  }
  for (std::int64_t i = 1; i <= 30; ++i) {
    calls.push_back(call("C", 80 * i, 7 + i * i % 900, 3));
  }
  predictor::ModelsOptions options;
  options.most_rows = 40;
  predictor::Platform platform;
  platform.operators =
      predictor::fit_operator_models(calls, {card("A", 1), card("B", 2), card("C", 3)}, options);
  calls.resize(3);
  platform.rows = calls;
  platform.sections["overheads"] = "[1,2]";
  return {predictor::to_json(platform)};
}

}  // namespace understudy::fuzz
