#pragma once

#include <string>

#include "arguments.h"
#include "cli/platform/chosen_platform.h"
#include "predictor/collectives/models.h"
#include "predictor/embedding/costs.h"
#include "predictor/embedding/plan.h"
#include "predictor/platform/platform.h"

namespace understudy::cli {

/// Source of the costs of a plan.
class ShardPlatform {
 public:
  /// Throws Error (bad input) if the file is not a platform or has another version; Error (usage)
  /// if no card is named and the platform lacks embedding tables or communication.
  explicit ShardPlatform(const ShardArguments& arguments);

  [[nodiscard]] predictor::ShardCosts costs() const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<std::string>& assumptions() const { return chosen_.assumptions; }
  /// Memory of a rank for tables; infinite if unlimited.
  [[nodiscard]] double memory_bytes() const { return memory_bytes_; }

 private:
  void read_embeddings(const std::string& path);

  std::string name_;
  double memory_bytes_ = 0;
  int nodes_ = 1;
  ChosenPlatform chosen_;
  predictor::EmbeddingCosts embedding_;
  predictor::CollectiveModels collectives_;
};

}  // namespace understudy::cli
