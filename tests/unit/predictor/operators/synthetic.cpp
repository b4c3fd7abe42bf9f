#include "synthetic.h"

#include <algorithm>
#include <cmath>

namespace understudy::predictor::synthetic {

Card card(const std::string& name, double speed) {
  Card made;
  made.name = name;
  made.flops = 1e13 * speed;
  made.bandwidth_bytes_per_s = 5e11 * speed;
  made.processors = 50;
  made.l2_bytes = 4e6;
  made.clock_hz = 1e9;
  made.source = "made up";
  return made;
}

OperatorCall relu(std::int64_t rows, std::int64_t length) {
  const TensorLayout tensor{et_schema::DType::kFloat32, {rows, length}};
  return {"aten::relu", "", {tensor}, {tensor}};
}

double elementwise_ns(const OperatorCall& call, const Card& on) {
  constexpr double kFloorNs = 20000;
  constexpr double kFixedNs = 5000;
  const double bytes = 2 * stored_bytes(call.inputs[0]);
  const double odd = call.inputs[0].sizes[1] % 2 == 1 ? 1.2 : 1.0;
  const double kernel = kFixedNs + bytes / (0.8 * on.bandwidth_bytes_per_s) * 1e9 * odd;
  return std::max(kFloorNs, kernel);
}

std::vector<MeasuredCall> elementwise(const Card& on, std::size_t count) {
  std::vector<MeasuredCall> calls;
  for (std::size_t i = 0; i < count; ++i) {
    // A low-discrepancy sequence: every size and length, no generator.
    const double u = std::fmod(static_cast<double>(i) * 0.6180339887, 1.0);
    const double v = std::fmod(static_cast<double>(i) * 0.4142135623, 1.0);
    MeasuredCall call;
    call.call = relu(std::llround(std::exp(2 + 7 * u)), std::llround(std::exp(3 + 6 * v)));
    call.device = on.name;
    call.timed_call.emplace().median_ns = elementwise_ns(call.call, on);
    call.source = "made up";
    calls.push_back(call);
  }
  return calls;
}

}  // namespace understudy::predictor::synthetic
