#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "et_schema/base/arena.h"
#include "et_schema/formats/chakra/chakra.h"
#include "et_schema/model/comms.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Converts communication nodes with only a kind and a size to record_param_comms with buffers of
/// that size. Synthetic Chakra files for simulators consist of such nodes.
class ChakraBuffers {
 public:
  ChakraBuffers(Arena& arena, std::int64_t world_size, std::int64_t rank,
                const std::vector<ProcessGroup>& groups)
      : arena_(arena), world_size_(world_size), rank_(rank), groups_(groups) {}

  /// Sets a node's name, inputs and outputs. Throws Error (bad input) with the field if a kind or
  /// size is out of range.
  [[nodiscard]] Node call_of(const ChakraNode& from, Node node);

  [[nodiscard]] Value buffer(std::int64_t bytes);

 private:
  struct Buffers {
    std::span<const Value> inputs;
    std::span<const Value> outputs;
  };
  std::span<const Value> buffers(std::int64_t count, std::int64_t bytes);
  void choose_group(std::string_view name);
  [[nodiscard]] std::int64_t times_group(std::int64_t bytes) const;
  [[nodiscard]] Buffers buffers_of(CommKind kind, std::int64_t bytes);

  Arena& arena_;
  std::int64_t world_size_;
  std::int64_t rank_;
  const std::vector<ProcessGroup>& groups_;
  std::int64_t group_size_ = 0;  ///< of the current call
  std::int64_t root_ = 0;
  std::int64_t next_id_ = std::int64_t{1} << 62U;  ///< above the ids of files
};

}  // namespace understudy::et_schema
