#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace understudy::backends {

/// MPI requests that are complete together. Messages of any size are cut into pieces that MPI can
/// count; both sides cut in the same way.
class Requests {
 public:
  void send(const void* data, std::int64_t bytes, int peer, int tag, MPI_Comm comm);
  /// If the message that arrives has another size, test() throws.
  void receive(void* data, std::int64_t bytes, int peer, int tag, MPI_Comm comm);
  /// A request that a non-blocking collective fills at once; the pointer is valid until the next
  /// call.
  [[nodiscard]] MPI_Request* add();

  /// True once all are complete; the set is empty then. Throws Error (failed) with MPI's text if
  /// one failed, or if a message was of another size.
  [[nodiscard]] bool test();

 private:
  void check_sizes() const;

  static constexpr int kNotReceived = -1;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> expected_bytes_;  ///< the size for receives, kNotReceived for other requests
};

}  // namespace understudy::backends
