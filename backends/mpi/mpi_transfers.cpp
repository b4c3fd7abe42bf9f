#include "mpi_transfers.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/check_call.h"
#include "et_schema/support/error.h"
#include "mpi_error.h"

namespace understudy::backends {

namespace {

constexpr std::int64_t kLargestPiece = std::int64_t{1} << 30U;

/// Calls post(data, count) for pieces of `count` numbers of `number_bytes`.
template <typename Post>
void for_each_piece(void* data, std::int64_t count, std::int64_t number_bytes, Post&& post) {
  for (std::int64_t at = 0; at < count; at += kLargestPiece) {
    post(static_cast<std::byte*>(data) + at * number_bytes,
         static_cast<int>(std::min(kLargestPiece, count - at)));
  }
}

}  // namespace

void MpiTransfers::send(const void* data, std::int64_t bytes, int peer, int tag, Channel channel) {
  const auto* at = static_cast<const std::byte*>(data);
  std::int64_t left = bytes;
  do {
    const int piece = static_cast<int>(std::min(left, kLargestPiece));
    check_mpi(MPI_Isend(at, piece, MPI_BYTE, peer, tag, comms_[channel], add()), "MPI_Isend");
    at += piece;
    left -= piece;
  } while (left > 0);
}

void MpiTransfers::receive(void* data, std::int64_t bytes, int peer, int tag, Channel channel) {
  auto* at = static_cast<std::byte*>(data);
  std::int64_t left = bytes;
  do {
    const int piece = static_cast<int>(std::min(left, kLargestPiece));
    check_mpi(MPI_Irecv(at, piece, MPI_BYTE, peer, tag, comms_[channel], add()), "MPI_Irecv");
    expected_bytes_.back() = piece;
    at += piece;
    left -= piece;
  } while (left > 0);
}

void MpiTransfers::all_reduce(const Buffer& buffer, ReduceOp op, Channel channel) {
  const ReductionType type = reductions_.get(buffer.dtype, op);
  for_each_piece(buffer.data, buffer.count * type.per_element,
                 et_schema::item_size(buffer.dtype) / type.per_element, [&](void* data, int count) {
                   check_mpi(MPI_Iallreduce(MPI_IN_PLACE, data, count, type.type, type.op,
                                            comms_[channel], add()),
                             "MPI_Iallreduce");
                 });
}

void MpiTransfers::reduce(const Buffer& buffer, ReduceOp op, int root, Channel channel) {
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

void MpiTransfers::broadcast(const Buffer& buffer, int root, Channel channel) {
  for_each_piece(buffer.data, size_bytes(buffer), 1, [&](void* data, int bytes) {
    check_mpi(MPI_Ibcast(data, bytes, MPI_BYTE, root, comms_[channel], add()), "MPI_Ibcast");
  });
}

void MpiTransfers::all_gather(const Buffer& buffer, std::int64_t own_bytes, Channel channel) {
  check_mpi(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer.data,
                           static_cast<int>(own_bytes), MPI_BYTE, comms_[channel], add()),
            "MPI_Iallgather");
}

void MpiTransfers::all_to_all(const Buffer& from, const Buffer& to, std::int64_t part_bytes,
                              Channel channel) {
  const int bytes = static_cast<int>(part_bytes);
  check_mpi(
      MPI_Ialltoall(from.data, bytes, MPI_BYTE, to.data, bytes, MPI_BYTE, comms_[channel], add()),
      "MPI_Ialltoall");
}

void MpiTransfers::barrier(Channel channel) {
  check_mpi(MPI_Ibarrier(comms_[channel], add()), "MPI_Ibarrier");
}

MPI_Request* MpiTransfers::add() {
  requests_.push_back(MPI_REQUEST_NULL);
  expected_bytes_.push_back(kNotReceived);
  return &requests_.back();
}

bool MpiTransfers::test() {
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

void MpiTransfers::check_sizes() const {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (expected_bytes_[i] == kNotReceived) {
      continue;
    }
    int received = 0;
    check_mpi(MPI_Get_count(&statuses_[i], MPI_BYTE, &received), "MPI_Get_count");
    if (received != expected_bytes_[i]) {
      et_schema::ErrorContext context;
      context.expected = fmt::format("{} bytes from rank {} of the group", expected_bytes_[i],
                                     statuses_[i].MPI_SOURCE);
      context.got = fmt::format("{}", received);
      throw et_schema::run_failed("a message of another size", std::move(context));
    }
  }
}

}  // namespace understudy::backends
