#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "backends/wire.h"
#include "mpi_types.h"

namespace understudy::backends {

/// MPI requests that are complete together. Messages and reductions of any size are cut into pieces
/// that MPI can count; all ranks cut in the same way.
class MpiTransfers : public Transfers {
 public:
  /// `comms`: by channel. Both must outlive the transfers.
  MpiTransfers(const std::vector<MPI_Comm>& comms, MpiReductions& reductions)
      : comms_(comms), reductions_(reductions) {}

  void send(const void* data, std::int64_t bytes, int peer, int tag, Channel channel) override;
  void receive(void* data, std::int64_t bytes, int peer, int tag, Channel channel) override;
  [[nodiscard]] bool test() override;

  void all_reduce(const Buffer& buffer, ReduceOp op, Channel channel) override;
  void reduce(const Buffer& buffer, ReduceOp op, int root, Channel channel) override;
  void broadcast(const Buffer& buffer, int root, Channel channel) override;
  void all_gather(const Buffer& buffer, std::int64_t own_bytes, Channel channel) override;
  void all_to_all(const Buffer& from, const Buffer& to, std::int64_t part_bytes,
                  Channel channel) override;
  void barrier(Channel channel) override;

 private:
  /// A request that MPI fills at once; the pointer is valid until the next call.
  [[nodiscard]] MPI_Request* add();
  void check_sizes() const;

  static constexpr int kNotReceived = -1;
  const std::vector<MPI_Comm>& comms_;
  MpiReductions& reductions_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> expected_bytes_;  ///< the size for receives, kNotReceived for other requests
};

}  // namespace understudy::backends
