#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "et_schema/model/reuse.h"

namespace understudy::replayer {

/// The elements of an index tensor whose numbers repeat as often as a Reuse says: a pure
/// function of (key, element). A tensor of another size than the draws fill evenly has them in the
/// same proportions.
class ReuseDraws {
 public:
  /// `reuse` has no problem (et_schema::find_problem).
  ReuseDraws(const et_schema::Reuse& reuse, std::uint64_t key, std::int64_t numel);

  [[nodiscard]] std::int64_t at(std::int64_t element) const;

 private:
  /// Numbers of one bin that occur equally often.
  struct Group {
    std::int64_t first_draw = 0;
    std::int64_t times = 0;
    std::int64_t first_ordinal = 0;  ///< among the numbers that the bin has
    std::size_t bin = 0;
  };

  [[nodiscard]] std::int64_t draw_of(std::int64_t element) const;
  [[nodiscard]] std::int64_t number(std::int64_t draw) const;

  const et_schema::Reuse& reuse_;
  std::uint64_t key_;
  std::int64_t runs_;   ///< in the tensor
  std::int64_t draws_;  ///< in the list
  std::vector<Group> groups_;
  std::vector<std::int64_t> in_order_;  ///< all draws, where they must not fall
};

}  // namespace understudy::replayer
