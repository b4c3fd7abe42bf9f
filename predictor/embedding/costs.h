#pragma once

#include <functional>

#include "predictor/calls/costs.h"
#include "predictor/embedding/tables.h"
#include "predictor/operators/operator_models.h"

namespace understudy::predictor {

/// Times of calls over embedding tables on one platform. A call's time is a function of the sum of
/// its tables' loads, so that a planner can add and remove tables one at a time.
struct EmbeddingCosts {
  /// Returns a table's load: 0 or more, in a unit of the model.
  std::function<double(const EmbeddingTable& table, double batch, Direction direction)> load;
  /// Returns the time of a load, which grows with it. A load of 0 means no call and no time.
  std::function<Estimate(double load, Direction direction)> time;
};

/// Returns costs by a platform's operator models, for platforms without rows of embedding calls.
/// Each table is one call, as in PyTorch's modules: forward `_embedding_bag`; backward its sparse
/// gradient and the addition to the table. Lookups repeat as in the measured calls. Loads are
/// nanoseconds. `models` must outlive the result.
[[nodiscard]] EmbeddingCosts operator_embedding_costs(const OperatorModels& models,
                                                      DeviceKey device);
/// Returns true if calls over embedding tables were measured on the device.
[[nodiscard]] bool has_embedding_calls(const OperatorModels& models, const DeviceKey& device);

/// Bandwidth over size by Lin et al. (arXiv 2404.12674; owensgroup/ml_perf_model,
/// memory_bw_utils.py): log10(GB/s) = L / (1 + exp(-k (log2(bytes) - x0))) + b, between a region of
/// constant time and one of maximum bandwidth.
struct BandwidthSigmoid {
  double start_log2 = 0;       ///< up to this size a call takes `overhead_us`
  double saturation_log2 = 0;  ///< beyond this size the bandwidth is max_gb_per_s
  double max_gb_per_s = 0;
  double overhead_us = 0;
  double l = 0, x0 = 0, k = 0, b = 0;
};

/// Returns the time of a call of `bytes`. Like the published code, adds the overhead to saturated
/// calls, although their bandwidth already includes it.
[[nodiscard]] double sigmoid_us(const BandwidthSigmoid& sigmoid, double bytes);

/// A card as defined by owensgroup/ml_perf_model (analysis/utils.py, inference.py; FP32).
struct PublishedCard {
  double peak_gflops = 0;
  double dram_gb_per_s = 0;
  BandwidthSigmoid dram;  ///< achieved bandwidth over bytes
};
[[nodiscard]] PublishedCard published_v100();

/// Returns the bytes that lookups move. A warp handles each bag and reads sectors of 32 bytes.
[[nodiscard]] double published_forward_bytes(const EmbeddingTable& table, double batch);
[[nodiscard]] double published_backward_bytes(const EmbeddingTable& table, double batch);

/// Returns costs by the published simple formulas: all lookups miss the cache, and the backward
/// pass takes at least the time of its arithmetic.
[[nodiscard]] EmbeddingCosts published_embedding_costs(const PublishedCard& card);

}  // namespace understudy::predictor
