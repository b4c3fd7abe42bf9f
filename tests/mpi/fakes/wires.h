#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace understudy::tests {

/// Sockets between the ranks of a fake communicator, from each to each, itself included.
class Wires {
 public:
  Wires(std::string name, int size, int rank);
  Wires(const Wires&) = delete;
  Wires& operator=(const Wires&) = delete;
  ~Wires();

  /// Connects to the others, who give the same name. False: it was aborted.
  [[nodiscard]] bool connect();
  [[nodiscard]] const std::string& name() const { return name_; }

  struct Transfer {
    int peer = 0;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool is_send = false;
  };
  /// Moves all of them at once, those of one peer and direction in order. False: it was aborted, or
  /// a peer has gone.
  [[nodiscard]] bool move(const std::vector<Transfer>& transfers);
  void abort() { is_aborted_ = true; }
  [[nodiscard]] bool has_lost_peer() const { return has_lost_peer_; }

 private:
  struct Ends {
    int out = -1;
    int in = -1;
  };
  std::string name_;
  int rank_;
  std::vector<Ends> ends_;  ///< by peer
  std::atomic<bool> is_aborted_ = false;
  std::atomic<bool> has_lost_peer_ = false;
};

}  // namespace understudy::tests
