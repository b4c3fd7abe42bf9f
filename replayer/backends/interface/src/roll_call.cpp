#include "replayer/backends/interface/roll_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace understudy::backends {
namespace {

/// A socket name in the abstract namespace: a leading zero byte makes the kernel create no file.
struct Name {
  Name(const std::string& job, int rank) {
    const std::string text = fmt::format("understudy/{}/{}/{}", getuid(), job, rank);
    const std::size_t length = std::min(text.size(), sizeof(address.sun_path) - 1);
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, text.data(), length);
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t bytes = 0;
};

[[nodiscard]] int make_socket() {
  return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

}  // namespace

RollCall::RollCall() : launch_(launched()), job_(launched_job()) {
  if (!launch_ || launch_->world_size == 0 || !job_) {
    return;
  }
  name_ = make_socket();
  const Name own(*job_, launch_->rank);
  if (name_ >= 0 && bind(name_, own.get(), own.bytes) != 0) {
    close(std::exchange(name_, -1));
  }
}

RollCall::~RollCall() {
  if (name_ >= 0) {
    close(name_);
  }
}

bool RollCall::has_come(int rank) const {
  const int caller = make_socket();
  const Name name(*job_, rank);
  const bool is_there = caller >= 0 && connect(caller, name.get(), name.bytes) == 0;
  if (caller >= 0) {
    close(caller);
  }
  return is_there;
}

std::string RollCall::missing() const {
  if (name_ < 0) {
    return "some rank has not come to it";
  }
  std::vector<int> here;
  std::vector<int> absent;
  for (int rank = 0; rank < launch_->world_size; ++rank) {
    (has_come(rank) ? here : absent).push_back(rank);
  }
  const int local = launched_local_size().value_or(0);
  if (absent.empty()) {
    return "all ranks have come to it, and it does not end";
  }
  if (local == launch_->world_size) {
    return fmt::format("rank{} {} {} not come to it", absent.size() == 1 ? "" : "s",
                       fmt::join(absent, ", "), absent.size() == 1 ? "has" : "have");
  }
  if (local > static_cast<int>(here.size())) {
    return fmt::format("of the {} ranks on this host {} {} come to it", local,
                       fmt::join(here, ", "), here.size() == 1 ? "has" : "have");
  }
  return local > 0 ? fmt::format(
                         "some rank of another host has not come to it, all {} of this one "
                         "have",
                         local)
                   : "some rank has not come to it";
}

}  // namespace understudy::backends
