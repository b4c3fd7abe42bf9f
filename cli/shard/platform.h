#pragma once

#include <string>

#include "arguments.h"
#include "predictor/collectives/models.h"
#include "predictor/embedding/costs.h"
#include "predictor/embedding/plan.h"
#include "predictor/platform/platform.h"

namespace understudy::cli {

/// What the costs of a plan come from.
class ShardPlatform {
 public:
  /// Published figures of a V100 where no file is named. Throws Error: bad input (no platform file,
  /// or of another version), usage (a platform without embedding tables or communication).
  explicit ShardPlatform(const ShardArguments& arguments);

  [[nodiscard]] predictor::ShardCosts costs() const;
  [[nodiscard]] const std::string& name() const { return name_; }
  /// What a rank has for tables; infinite where nothing bounds it.
  [[nodiscard]] double memory_bytes() const { return memory_bytes_; }

 private:
  void read(const ShardArguments& arguments);
  void read_embeddings(const std::string& path);

  std::string name_;
  double memory_bytes_ = 0;
  int nodes_ = 1;
  predictor::Platform platform_;
  predictor::EmbeddingCosts embedding_;
  predictor::CollectiveModels collectives_;  ///< none: published all-to-alls
};

}  // namespace understudy::cli
