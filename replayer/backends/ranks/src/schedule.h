#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "group.h"
#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/ranks/wire.h"

namespace understudy::backends {

/// A call as a sequence of steps: work of this rank, then messages that are under way together. The
/// next step begins when they are complete.
///
/// All messages of a call have its tag. So what two ranks send each other in several steps must
/// have the same order on both.
class Schedule {
 public:
  /// Begins the first step. Ranks of messages are those of the channel's group.
  Schedule(std::unique_ptr<Transfers> transfers, Channel channel, int tag)
      : channel_(channel), tag_(tag), transfers_(std::move(transfers)) {}

  /// Begins the next step.
  void then(std::function<void()> work = nullptr) { steps_.push_back({std::move(work), {}}); }
  /// Add a message to the last step; its buffer is read or written when the step has begun.
  void send(const Buffer& buffer, int peer) { add({buffer, peer, /*is_send=*/true}); }
  void receive(const Buffer& buffer, int peer) { add({buffer, peer, /*is_send=*/false}); }
  /// Allocates memory that lives as long as the schedule.
  [[nodiscard]] std::byte* scratch(std::int64_t bytes) {
    return scratch_
        .emplace_back(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes)))
        .get();
  }

  /// Continues without waiting. Returns true once all steps are complete. Throws what Transfers
  /// throw.
  [[nodiscard]] bool advance() {
    while (transfers_->test()) {
      if (next_ == steps_.size()) {
        return true;
      }
      begin(steps_[next_++]);
    }
    return false;
  }

 private:
  struct Message {
    Buffer buffer;
    int peer;
    bool is_send;
  };
  struct Step {
    std::function<void()> work = nullptr;
    std::vector<Message> messages = {};
  };

  void add(const Message& message) { steps_.back().messages.push_back(message); }
  void begin(const Step& step) {
    if (step.work) {
      step.work();
    }
    for (const auto& [buffer, peer, is_send] : step.messages) {
      if (is_send) {
        transfers_->send(buffer, peer, tag_, channel_);
      } else {
        transfers_->receive(buffer, peer, tag_, channel_);
      }
    }
  }

  Channel channel_;
  int tag_;
  std::vector<Step> steps_ = std::vector<Step>(1);
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> scratch_;
  std::unique_ptr<Transfers> transfers_;  // the last member: it uses scratch memory
};

/// Adds a checked call's steps to a schedule. The steps keep references to `call` and `group`,
/// which must outlive the schedule.
void add_steps(const Call& call, const Group& group, Schedule& schedule);

}  // namespace understudy::backends
