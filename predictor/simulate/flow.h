#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/open_comms.h"
#include "predictor/calls/costs.h"

namespace understudy::predictor {

inline constexpr std::uint32_t kNoStream = ~std::uint32_t{0};

/// A queue in which work runs one after the other: a stream of a device, or the worker that moves a
/// communicator's data.
struct Stream {
  std::optional<std::int64_t> recorded = {};  ///< its number in the profile
  bool communicates = false;
  et_schema::GroupId group = 0;  ///< of one that communicates and that no profile shows
  /// The peer of sends and receives. Each direction between two ranks is a queue of its own, since
  /// both may send before they receive.
  std::optional<std::int64_t> peer = {};
  bool sends = false;
  bool operator==(const Stream&) const = default;
};

/// All that was issued to a stream, up to an instruction and with it.
struct StreamPoint {
  std::uint32_t stream = 0;
  std::uint32_t instruction = 0;
  bool operator==(const StreamPoint&) const = default;
};

/// Where an instruction runs and what it has to wait for.
struct InstructionFlow {
  std::uint32_t timeline = 0;
  std::uint32_t stream = kNoStream;  ///< where its device work or its communication goes
  bool waits_for_stream = false;     ///< within it the host waits for the stream
  bool is_blocking = false;          ///< a communication: what follows it waits for its end
  /// Instructions of other timelines that have returned before it is issued.
  std::vector<std::uint32_t> after_hosts = {};
  /// What its device work has to wait for on other streams: who wrote what it touches, or read what
  /// it writes. Means nothing where it has no device work.
  std::vector<StreamPoint> after_streams = {};
  /// Communication that its stream has joined: what follows there waits for it, whether or not the
  /// instruction itself has device work.
  std::vector<StreamPoint> stream_joins = {};
  /// What the host itself has to wait for before it is issued: communication on a CPU.
  std::vector<StreamPoint> host_joins = {};
};

/// A program's threads and streams as a simulator plays them.
struct Flow {
  bool on_device = false;
  bool is_one_stream = false;  ///< all of the device's work runs on stream 0
  /// Recorded threads that ran beside each other; the first is the step's own, with all threads
  /// that took turns with it, as autograd's does. Another has a timeline of its own if at least a
  /// tenth of its operators' time overlaps other threads' and it is not the busiest one.
  std::vector<std::uint64_t> timelines = {0};
  std::vector<Stream> streams;  ///< stream 0 is the one with most operators, if on_device
  std::vector<InstructionFlow> instructions;
  /// Communications that nothing in the step waits for: its end does.
  std::vector<StreamPoint> open;
};

/// Linear in the program. Streams and threads are those of the profile if one was linked; else
/// there is one timeline, one stream for operators and one for each group's communication. What
/// waits for what follows from the memory that is read and written, from recorded waits
/// (open_comms.h), and otherwise from the program's order.
[[nodiscard]] Flow flow_of(const Program& program);

/// Whether an operator's host has to wait for its device: it reads a value (`item`), makes a result
/// whose shape depends on values (`nonzero`, an index that is a mask), or copies between a device
/// and the host without `non_blocking` (an index that lies on the host too).
[[nodiscard]] bool waits_for_device(const Program& program, const Instruction& instruction);

/// Whether any of its tensors lies on a device that is no CPU.
[[nodiscard]] bool touches_device(const Program& program, const Instruction& instruction);

/// Whether a communication of a program with a device runs there: a barrier, which has no tensors,
/// does.
[[nodiscard]] bool moves_on_device(const Program& program, const Instruction& call);

}  // namespace understudy::predictor
