#include "predictor/collectives/fabrics.h"

#include <algorithm>
#include <cmath>

namespace understudy::predictor {
namespace {

constexpr double kGbit = 1e9 / 8;

constexpr Fabric kFabrics[] = {
    {"NDR400x8", 400 * kGbit, kAssumedStepNs, "an InfiniBand NDR adapter a GPU: NVIDIA DGX H100"},
    {"XDR800x8", 800 * kGbit, kAssumedStepNs, "a ConnectX-8 a GPU: NVIDIA DGX B300"},
    {"HDR200x8", 200 * kGbit, kAssumedStepNs, "an InfiniBand HDR adapter a GPU: NVIDIA DGX A100"},
    {"RoCE400x8", 400 * kGbit, 2 * kAssumedStepNs, "Ethernet, 400 Gb/s a GPU: Meta's Llama 3"},
    {"EFA3200", 400 * kGbit, 15'000, "3,200 Gb/s a node of 8: AWS p5, p5en, p6-b200"},
    {"EFA400", 50 * kGbit, 15'000, "400 Gb/s a node of 8: AWS p4d, p4de"},
    {"A3Mega1600", 200 * kGbit, 15'000, "1,600 Gb/s a node of 8: Google Cloud A3 Mega"},
    {"Ethernet100", 12.5 * kGbit, 15'000, "100 Gb/s a node of 8"},
};

}  // namespace

std::span<const Fabric> known_fabrics() {
  return kFabrics;
}

const Fabric* find_fabric(std::string_view name) {
  const auto* const found = std::ranges::find(
      kFabrics, name, [](const Fabric& each) { return std::string_view(each.name); });
  return found == std::end(kFabrics) ? nullptr : found;
}

void add_fabric(const Fabric& fabric, const std::string& device, CollectiveModels& models) {
  using enum CommKind;
  constexpr double kOfLine = 0.85;  // what NCCL reaches of a line's rate
  constexpr double kWidth = 0.3;
  constexpr std::int64_t kBytes = 1 << 28;
  constexpr int kMostOnNode = 64;
  std::vector<Series> between;
  for (const CommKind kind :
       {kAllReduce, kAllGatherBase, kReduceScatterBase, kBroadcast, kAllToAll, kSend, kRecv}) {
    for (int on_node = 1; on_node <= kMostOnNode; on_node *= 2) {
      // Rings pass through all adapters of a node at once; others use a rank's own.
      const int adapters = kind == kAllToAll || kind == kSend || kind == kRecv ? 1 : on_node;
      double ns_per_byte = 1e9 / (kOfLine * fabric.bytes_per_s * adapters);
      if (on_node > 1 && !models.series.empty()) {
        const GroupComm within{{.kind = kind, .bytes = kBytes, .ranks = on_node}};
        ns_per_byte = std::max(ns_per_byte, estimate(models, within, {device, ""}).ns /
                                                link_bytes(kind, kBytes, on_node));
      }
      Series& series =
          between.emplace_back(Series{{kind, true, on_node, DType::kBFloat16, "", fabric.name}});
      series.growth.step_ns = fabric.step_ns;
      series.ranks.beyond = 0.1;
      const double latency_ns =
          series.growth.call_ns + fabric.step_ns * steps_of(kind, 2 * on_node, 2);
      series.curves = {{2 * on_node, {latency_ns, ns_per_byte}, {std::log(kBytes)}, {1}, {kWidth}}};
    }
  }
  models.series.insert(models.series.end(), between.begin(), between.end());
}

}  // namespace understudy::predictor
