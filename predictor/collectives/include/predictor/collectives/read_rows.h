#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "predictor/collectives/rows.h"

namespace understudy::predictor {

/// What files of other tools do not say.
struct RowDefaults {
  bool on_device = true;
  int nodes = 1;
};

/// What a file held.
struct ReadCollectives {
  std::vector<CollectiveRow> rows;
  /// Lines that are no usable measurement, by reason (docs/formats.md, "Collective rows").
  std::map<std::string, std::uint64_t> left_out = {};
};

/// True of a file that parse_collective_rows() reads, told by its content.
[[nodiscard]] bool is_collective_rows(std::string_view text);

/// Reads measured communication, told by content:
/// - rows of our own (rows.h);
/// - nccl-tests' text and its JSON (`-J`): the out-of-place time, in-place where there is no other;
/// - PARAM's comm_replay, `replayed_trace/*.json` of one rank: the median of a call's repetitions;
///   run it with --blocking, or it holds times of posting;
/// - CSV tables of all-reduce whose first column is `size(B)`, times in ns, the number of ranks
///   told by their own bus bandwidth.
/// Throws Error (bad input): none of these, a damaged file, no usable row, NaN.
[[nodiscard]] ReadCollectives parse_collective_rows(std::string_view text, const std::string& file,
                                                    const RowDefaults& defaults = {});

}  // namespace understudy::predictor
