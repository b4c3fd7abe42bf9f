#pragma once

#include <functional>

#include "predictor/calls/costs.h"
#include "predictor/embedding/tables.h"
#include "predictor/operators/operator_models.h"

namespace understudy::predictor {

/// What calls over embedding tables take on one platform. A call's time is a function of the sum of
/// its tables' loads, so that who places tables can add and take away one at a time.
struct EmbeddingCosts {
  /// 0 or more, in a unit of the model's own.
  std::function<double(const EmbeddingTable& table, double batch, Direction direction)> load;
  /// Grows with the load. Of no load: no call.
  std::function<Estimate(double load, Direction direction)> time;
};

/// By a platform's models of operators, where it has no rows of whole tables: a call a table, as
/// PyTorch's own modules make it. Forward `_embedding_bag`; backward its sparse gradient, and that
/// added to the table. What repeats among the lookups is as in the measured calls. A load is
/// nanoseconds. `models` must outlive it.
[[nodiscard]] EmbeddingCosts operator_embedding_costs(const OperatorModels& models,
                                                      DeviceKey device);
/// Whether calls over embedding tables were measured on the device.
[[nodiscard]] bool has_embedding_calls(const OperatorModels& models, const DeviceKey& device);

/// Bandwidth over size as Lin et al. model it (arXiv 2404.12674; owensgroup/ml_perf_model,
/// memory_bw_utils.py): log10(GB/s) = L / (1 + exp(-k (log2(bytes) - x0))) + b between a region
/// where the time is flat and one where the bandwidth is the highest.
struct BandwidthSigmoid {
  double start_log2 = 0;       ///< up to here a call takes `overhead_us`
  double saturation_log2 = 0;  ///< beyond it the bandwidth is max_gb_per_s
  double max_gb_per_s = 0;
  double overhead_us = 0;
  double l = 0, x0 = 0, k = 0, b = 0;
};

/// Time of a call of `bytes`. The published code adds the overhead to saturated calls, too, though
/// their bandwidth holds it.
[[nodiscard]] double sigmoid_us(const BandwidthSigmoid& sigmoid, double bytes);

/// A card as owensgroup/ml_perf_model has it (analysis/utils.py, inference.py; FP32).
struct PublishedCard {
  double peak_gflops = 0;
  double dram_gb_per_s = 0;
  BandwidthSigmoid dram;  ///< achieved over bytes
};
[[nodiscard]] PublishedCard published_v100();

/// Bytes that one table's lookups move, each bag by a warp that reads in pieces of 32 bytes.
[[nodiscard]] double published_forward_bytes(const EmbeddingTable& table, double batch);
[[nodiscard]] double published_backward_bytes(const EmbeddingTable& table, double batch);

/// The simple formulas: all lookups go to memory; backward no faster than its arithmetic.
[[nodiscard]] EmbeddingCosts published_embedding_costs(const PublishedCard& card);

}  // namespace understudy::predictor
