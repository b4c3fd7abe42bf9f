#pragma once

#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <utility>
#include <vector>

#include "replayer/backends/interface/backend.h"

namespace understudy::backends {

/// The store in which PyTorch's groups leave the ids of their communicators: the first rank of one
/// makes its id and the others wait for it. It travels as all else between the ranks, by messages
/// of the host's backend, so that it needs no address or port and is as safe as they are.
class IdStore : public c10d::HashStore {
 public:
  explicit IdStore(Backend& host) : host_(host) {}

  /// Sets the world ranks of the communicator that is opened next.
  void set_members(std::vector<int> members) { members_ = std::move(members); }

  void set(const std::string& /*key*/, const std::vector<std::uint8_t>& id) override {
    std::vector<std::uint8_t> sent = id;
    for (const int rank : members_) {
      if (rank != host_.rank()) {
        host_.run(message(et_schema::CommKind::kSend, rank, sent));
      }
    }
  }

  std::vector<std::uint8_t> get(const std::string& /*key*/) override {
    constexpr std::size_t kIdBytes = 128;  // NCCL_UNIQUE_ID_BYTES
    std::vector<std::uint8_t> id(kIdBytes);
    host_.run(message(et_schema::CommKind::kRecv, members_.front(), id));
    return id;
  }

 private:
  [[nodiscard]] static Call message(et_schema::CommKind kind, int peer,
                                    std::vector<std::uint8_t>& bytes) {
    Call call{.kind = kind, .root_or_peer = peer};
    (kind == et_schema::CommKind::kSend ? call.inputs : call.outputs) = {
        {bytes.data(), static_cast<std::int64_t>(bytes.size()), et_schema::DType::kUInt8}};
    return call;
  }

  Backend& host_;
  std::vector<int> members_;
};

}  // namespace understudy::backends
