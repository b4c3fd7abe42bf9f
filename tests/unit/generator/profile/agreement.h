#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"

namespace understudy {

/// The parts of a training step, by the labels that a node of a trace lies below.
enum class StepPart : std::uint8_t { kForward, kBackward, kOptimizer };
inline constexpr std::size_t kStepPartCount = 3;

/// How many of `all` agree.
struct Share {
  std::uint64_t agree = 0;
  std::uint64_t all = 0;

  void add(bool agrees) {
    agree += agrees ? 1 : 0;
    ++all;
  }
  void add(const Share& other) {
    agree += other.agree;
    all += other.all;
  }
  [[nodiscard]] bool whole() const { return agree == all; }
};

/// The tensors among operators' arguments, or among their results. A tensor that one side lacks
/// agrees in nothing.
struct TensorShares {
  Share dtype;
  Share sizes;
  Share strides;
  Share device;
  Share all_four;
};

/// What a benchmark takes of memory.
struct MemoryFigures {
  std::uint64_t externals = 0;  ///< storages that are made before the run
  std::uint64_t external_bytes = 0;
  std::uint64_t peak_bytes = 0;  ///< by the lifetimes of slots, externals included
};

/// How far the benchmark of a made trace agrees with that of the true trace of the same step.
/// Operators are the true benchmark's instructions, communication included; they are joined by
/// rf_id.
struct Agreement {
  Share operators;             ///< those that the made benchmark replays too
  std::uint64_t not_made = 0;  ///< operators of the made benchmark that the true one has not
  Share schemas;               ///< of the joined ones, the whole text but for "Sym"
  TensorShares inputs;
  TensorShares outputs;
  Share numbers;  ///< arguments that are no tensors, to six decimals, and Python's numbers made
                  ///< tensors
  /// Tensors among all operators' arguments, by the part of the step: those whose memory the same
  /// operator wrote last (or one below or above it, where one side opened it), or none in both.
  std::array<Share, kStepPartCount> edges;
  Share externals;       ///< of the tensors that nothing wrote before: those that have no writer
  Share same_externals;  ///< of these: those whose memory the same operator was the first to read
  MemoryFigures true_memory;
  MemoryFigures made_memory;
  /// What disagrees: "aten::mm: writer of argument 0 (expected aten::t, got none)" → how often.
  std::map<std::string, std::uint64_t> disagreements;

  void add(const Agreement& other);
  [[nodiscard]] bool whole() const;
};

/// A benchmark of one rank beside the trace that it was made of.
struct MadeFrom {
  const et_schema::Trace& trace;
  const et_schema::Program& program;
};

[[nodiscard]] Agreement agreement_of(const MadeFrom& truth, const MadeFrom& made);

}  // namespace understudy
