#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/open_comms.h"
#include "predictor/calls/costs.h"

namespace understudy::predictor {

inline constexpr std::uint32_t kNoStream = ~std::uint32_t{0};

/// A queue that runs work sequentially: a stream of a device, or the worker that moves a
/// communicator's data.
struct Stream {
  std::optional<std::int64_t> recorded = {};  ///< number of the stream in the profile
  bool communicates = false;
  et_schema::GroupId group = 0;  ///< set for a communication stream that no profile shows
  /// The peer of sends and receives. Each direction between two ranks has its own queue, because
  /// both ranks may send before they receive.
  std::optional<std::int64_t> peer = {};
  bool sends = false;
  bool operator==(const Stream&) const = default;
};

/// All work issued to a stream up to and including an instruction.
struct StreamPoint {
  std::uint32_t stream = 0;
  std::uint32_t instruction = 0;
  bool operator==(const StreamPoint&) const = default;
};

/// Where an instruction runs, and its dependencies.
struct InstructionFlow {
  std::uint32_t timeline = 0;
  std::uint32_t stream = kNoStream;  ///< stream of its device work or communication
  bool waits_for_stream = false;     ///< the host waits for the stream within the instruction
  bool is_blocking = false;          ///< communication: its successors wait for its end
  /// Instructions of other timelines that must return before this one is issued.
  std::vector<std::uint32_t> after_hosts = {};
  /// Work on other streams that its device work must wait for: writers of memory that it uses, and
  /// readers of memory that it writes. Unused without device work.
  std::vector<StreamPoint> after_streams = {};
  /// Communication that the instruction's stream has joined. Later work of the stream waits for it,
  /// even if this instruction has no device work.
  std::vector<StreamPoint> stream_joins = {};
  /// Communication on a CPU that the host must wait for before the instruction is issued.
  std::vector<StreamPoint> host_joins = {};
};

/// A program's threads and streams for the simulator.
struct Flow {
  bool on_device = false;
  /// Recorded threads that ran concurrently. The first is the step's own, merged with all threads
  /// that alternate with it, such as autograd's. Another thread gets its own timeline if at least a
  /// tenth of its operators' time overlaps other threads and it is not the busiest one.
  std::vector<std::uint64_t> timelines = {0};
  std::vector<Stream> streams;  ///< if on_device, stream 0 has the most operators
  std::vector<InstructionFlow> instructions;
  /// Communications that only the end of the step waits for.
  std::vector<StreamPoint> open;
};

/// Builds a program's flow in linear time. Streams and threads come from the profile if one is
/// linked; otherwise there is one timeline, one stream for operators and one for each group's
/// communication. Dependencies follow from memory reads and writes, from recorded waits
/// (open_comms.h), and otherwise from the program's order.
[[nodiscard]] Flow flow_of(const Program& program);

/// Returns true if the operator makes its host wait for the device: it reads a value (`item`),
/// makes a result whose shape depends on values (`nonzero`, an index that is a mask), or copies
/// between device and host without `non_blocking` (an index on the host also does).
[[nodiscard]] bool waits_for_device(const Program& program, const Instruction& instruction);

/// Returns true if any tensor of the instruction is on a device other than a CPU.
[[nodiscard]] bool touches_device(const Program& program, const Instruction& instruction);

/// Returns the bytes of all tensors of an argument; 0 if the instruction does not have it.
[[nodiscard]] std::int64_t argument_bytes(const Program& program, const Instruction& instruction,
                                          std::size_t argument);

/// Returns true if a communication, which may be a barrier without tensors, runs on the device.
[[nodiscard]] bool moves_on_device(const Program& program, const Instruction& call);

}  // namespace understudy::predictor
