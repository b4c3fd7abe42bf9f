#include "requests.h"

#include <fmt/format.h>

#include <algorithm>

#include "et_schema/support/error.h"
#include "mpi_error.h"

namespace understudy::backends {

namespace {

constexpr std::int64_t kLargestMessage = std::int64_t{1} << 30U;

}  // namespace

void Requests::send(const void* data, std::int64_t bytes, int peer, int tag, MPI_Comm comm) {
  const auto* at = static_cast<const std::byte*>(data);
  std::int64_t left = bytes;
  do {
    const int piece = static_cast<int>(std::min(left, kLargestMessage));
    check_mpi(MPI_Isend(at, piece, MPI_BYTE, peer, tag, comm, add()), "MPI_Isend");
    at += piece;
    left -= piece;
  } while (left > 0);
}

void Requests::receive(void* data, std::int64_t bytes, int peer, int tag, MPI_Comm comm) {
  auto* at = static_cast<std::byte*>(data);
  std::int64_t left = bytes;
  do {
    const int piece = static_cast<int>(std::min(left, kLargestMessage));
    check_mpi(MPI_Irecv(at, piece, MPI_BYTE, peer, tag, comm, add()), "MPI_Irecv");
    expected_bytes_.back() = piece;
    at += piece;
    left -= piece;
  } while (left > 0);
}

MPI_Request* Requests::add() {
  requests_.push_back(MPI_REQUEST_NULL);
  expected_bytes_.push_back(kNotReceived);
  return &requests_.back();
}

bool Requests::test() {
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

void Requests::check_sizes() const {
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
