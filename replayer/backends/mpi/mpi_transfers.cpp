#include "mpi_transfers.h"

#include <fmt/format.h>

#include <algorithm>

#include "et_schema/base/error.h"
#include "mpi_error.h"
#include "replayer/backends/interface/check_call.h"

namespace understudy::backends {

namespace {

constexpr std::int64_t kLargestPiece = std::int64_t{1} << 30U;

/// Calls post(data, count) for pieces of at most kLargestPiece numbers; once if `count` is 0.
template <typename Post>
void for_each_piece(void* data, std::int64_t count, std::int64_t number_bytes, Post&& post) {
  std::int64_t at = 0;
  do {
    post(static_cast<std::byte*>(data) + at * number_bytes,
         static_cast<int>(std::min(kLargestPiece, count - at)));
    at += kLargestPiece;
  } while (at < count);
}

/// MPI requests that complete together. Messages and reductions of any size are cut into pieces
/// that MPI can count; all ranks cut in the same way.
class MpiTransfers : public Transfers {
 public:
  /// `comms` is indexed by channel. Both arguments must outlive the transfers.
  MpiTransfers(const std::vector<MPI_Comm>& comms, MpiReductions& reductions)
      : comms_(comms), reductions_(reductions) {}

  // Casting away const is safe: a send only reads the data.
  void send(const void* data, std::int64_t bytes, int peer, int tag, Channel channel) override {
    for_each_piece(const_cast<void*>(data), bytes, 1, [&](void* at, int piece) {
      check_mpi(MPI_Isend(at, piece, MPI_BYTE, peer, tag, comms_[channel], add()), "MPI_Isend");
    });
  }

  void receive(void* data, std::int64_t bytes, int peer, int tag, Channel channel) override {
    for_each_piece(data, bytes, 1, [&](void* at, int piece) {
      check_mpi(MPI_Irecv(at, piece, MPI_BYTE, peer, tag, comms_[channel], add()), "MPI_Irecv");
      expected_bytes_.back() = piece;
    });
  }

  [[nodiscard]] bool test() override {
    if (requests_.empty()) {
      return true;
    }
    statuses_.resize(requests_.size());
    int all_done = 0;
    const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all_done,
                                 statuses_.data());
    if (code == MPI_ERR_IN_STATUS) {
      const auto failed =
          std::find_if(statuses_.begin(), statuses_.end(), [](const MPI_Status& status) {
            return status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING;
          });
      check_mpi(failed == statuses_.end() ? code : failed->MPI_ERROR, "a transfer");
    }
    check_mpi(code, "MPI_Testall");
    if (all_done == 0) {
      return false;
    }
    check_sizes();
    requests_.clear();
    expected_bytes_.clear();
    return true;
  }

  void all_reduce(const Buffer& buffer, ReduceOp op, Channel channel) override {
    const ReductionType type = reductions_.get(buffer.dtype, op);
    for_each_piece(
        buffer.data, buffer.count * type.per_element,
        et_schema::item_size(buffer.dtype) / type.per_element, [&](void* data, int count) {
          check_mpi(
              MPI_Iallreduce(MPI_IN_PLACE, data, count, type.type, type.op, comms_[channel], add()),
              "MPI_Iallreduce");
        });
  }

  void reduce(const Buffer& buffer, ReduceOp op, int root, Channel channel) override {
    const ReductionType type = reductions_.get(buffer.dtype, op);
    int self = 0;
    check_mpi(MPI_Comm_rank(comms_[channel], &self), "MPI_Comm_rank");
    for_each_piece(
        buffer.data, buffer.count * type.per_element,
        et_schema::item_size(buffer.dtype) / type.per_element, [&](void* data, int count) {
          check_mpi(MPI_Ireduce(self == root ? MPI_IN_PLACE : data, self == root ? data : nullptr,
                                count, type.type, type.op, root, comms_[channel], add()),
                    "MPI_Ireduce");
        });
  }

  void broadcast(const Buffer& buffer, int root, Channel channel) override {
    for_each_piece(buffer.data, size_bytes(buffer), 1, [&](void* data, int bytes) {
      check_mpi(MPI_Ibcast(data, bytes, MPI_BYTE, root, comms_[channel], add()), "MPI_Ibcast");
    });
  }

  void all_gather(const Buffer& buffer, std::int64_t own_bytes, Channel channel) override {
    check_mpi(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer.data,
                             static_cast<int>(own_bytes), MPI_BYTE, comms_[channel], add()),
              "MPI_Iallgather");
  }

  void all_to_all(const Buffer& from, const Buffer& to, std::int64_t part_bytes,
                  Channel channel) override {
    const int bytes = static_cast<int>(part_bytes);
    check_mpi(
        MPI_Ialltoall(from.data, bytes, MPI_BYTE, to.data, bytes, MPI_BYTE, comms_[channel], add()),
        "MPI_Ialltoall");
  }

  void barrier(Channel channel) override {
    check_mpi(MPI_Ibarrier(comms_[channel], add()), "MPI_Ibarrier");
  }

 private:
  /// Adds a request, which must be filled at once: the pointer is valid until the next call.
  [[nodiscard]] MPI_Request* add() {
    requests_.push_back(MPI_REQUEST_NULL);
    expected_bytes_.push_back(kNotReceived);
    return &requests_.back();
  }

  void check_sizes() const {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (expected_bytes_[i] == kNotReceived) {
        continue;
      }
      int received = 0;
      check_mpi(MPI_Get_count(&statuses_[i], MPI_BYTE, &received), "MPI_Get_count");
      if (received != expected_bytes_[i]) {
        throw et_schema::run_failed(
            "a message of another size",
            {.expected = fmt::format("{} bytes from rank {} of the group", expected_bytes_[i],
                                     statuses_[i].MPI_SOURCE),
             .got = fmt::format("{}", received)});
      }
    }
  }

  static constexpr int kNotReceived = -1;
  const std::vector<MPI_Comm>& comms_;
  MpiReductions& reductions_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> expected_bytes_;  ///< size of receives; kNotReceived for other requests
};

}  // namespace

std::unique_ptr<Transfers> make_mpi_transfers(const std::vector<MPI_Comm>& comms,
                                              MpiReductions& reductions) {
  return std::make_unique<MpiTransfers>(comms, reductions);
}

}  // namespace understudy::backends
