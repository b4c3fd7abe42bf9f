#include "mpi_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "mpi_error.h"
#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/interface/launcher.h"

namespace understudy::backends {

namespace {

constexpr int kSmallestTagLimit = 32767;  // guaranteed by the standard
constexpr int kLetterTag = 1;

[[nodiscard]] int tag_limit_of_mpi() {
  void* value = nullptr;
  int is_set = 0;
  check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &is_set),
            "MPI_Comm_get_attr");
  return is_set != 0 ? *static_cast<int*>(value) : kSmallestTagLimit;
}

/// Scope of an MPI call that waits for other ranks and cannot be cancelled. If it exceeds the time
/// limit, calls `options.stuck`; a roll call adds which ranks are missing.
class LimitedCall {
 public:
  LimitedCall(const BackendOptions& options, const char* name, const RollCall* roll = nullptr) {
    if (options.stuck) {
      watcher_ = std::thread([this, &options, name, roll] { watch(options, name, roll); });
    }
  }

  LimitedCall(const LimitedCall&) = delete;
  LimitedCall& operator=(const LimitedCall&) = delete;
  ~LimitedCall() {
    if (!watcher_.joinable()) {
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      has_ended_ = true;
    }
    changed_.notify_one();
    watcher_.join();
  }

 private:
  void watch(const BackendOptions& options, const char* name, const RollCall* roll) {
    std::unique_lock lock(mutex_);
    const std::chrono::duration<double> limit(options.time_limit_s);
    if (changed_.wait_for(lock, limit, [this] { return has_ended_; })) {
      return;
    }
    const std::optional<Launch> launch = launched();
    options.stuck(et_schema::run_failed(
        "the ranks did not find each other",
        {.rank = launch && launch->world_size > 0 ? std::optional(launch->rank) : std::nullopt,
         .field = name,
         .expected =
             fmt::format("every rank of the job in this call within {} s", options.time_limit_s),
         .got = roll != nullptr ? roll->missing() : "some rank has not come to it",
         .hint = "a process that was not started, has ended or is stopped never comes: see that as "
                 "many run as there are ranks, on every host; slow starts need a higher time limit "
                 "(--timeout)"}));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_ended_ = false;
  std::thread watcher_;
};

/// MPI requests that complete together. Messages of any size are cut into pieces that MPI can
/// count.
class MpiTransfers : public Transfers {
 public:
  /// `comms` is indexed by channel, and must outlive the transfers.
  explicit MpiTransfers(const std::vector<MPI_Comm>& comms) : comms_(comms) {}

  void send(const Buffer& buffer, int peer, int tag, Channel channel) override {
    for_each_piece(buffer, [&](void* at, int bytes) {
      check_mpi(MPI_Isend(at, bytes, MPI_BYTE, peer, tag, comms_[channel], add(kNotReceived)),
                "MPI_Isend");
    });
  }

  void receive(const Buffer& buffer, int peer, int tag, Channel channel) override {
    for_each_piece(buffer, [&](void* at, int bytes) {
      check_mpi(MPI_Irecv(at, bytes, MPI_BYTE, peer, tag, comms_[channel], add(bytes)),
                "MPI_Irecv");
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

 private:
  /// Calls post(data, bytes) for pieces of at most kLargestPiece; once if the buffer is empty.
  template <typename Post>
  static void for_each_piece(const Buffer& buffer, const Post& post) {
    std::int64_t at = 0;
    do {
      post(static_cast<std::byte*>(buffer.data) + at,
           static_cast<int>(std::min(kLargestPiece, size_bytes(buffer) - at)));
      at += kLargestPiece;
    } while (at < size_bytes(buffer));
  }

  /// Adds a request, which must be filled at once: the pointer is valid until the next call.
  [[nodiscard]] MPI_Request* add(int expected_bytes) {
    requests_.push_back(MPI_REQUEST_NULL);
    expected_bytes_.push_back(expected_bytes);
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

  static constexpr std::int64_t kLargestPiece = std::int64_t{1} << 30U;
  static constexpr int kNotReceived = -1;
  const std::vector<MPI_Comm>& comms_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> expected_bytes_;  ///< size of receives; kNotReceived of sends
};

}  // namespace

MpiSession::MpiSession(const BackendOptions& options) : options_(options) {
  int is_initialized = 0;
  check_mpi(MPI_Initialized(&is_initialized), "MPI_Initialized");
  int provided = MPI_THREAD_SINGLE;
  if (is_initialized != 0) {
    check_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
  } else {
    // Not MPI_THREAD_MULTIPLE: only one thread at a time calls MPI, and MPI's locks would slow down
    // every call.
    const LimitedCall limited(options_, "MPI_Init_thread", &roll_);
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
              "MPI_Init_thread");
    finalize_ = true;
  }
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  if (provided < MPI_THREAD_SERIALIZED) {
    throw et_schema::usage_error("the MPI library cannot be called from threads",
                                 {.expected = "MPI_THREAD_SERIALIZED",
                                  .got = fmt::format("thread level {}", provided),
                                  .hint = "use an MPI library that was built with thread support"});
  }
}

MpiSession::~MpiSession() {
  if (finalize_) {
    const LimitedCall limited(options_, "MPI_Finalize");
    MPI_Finalize();
  }
}

MpiWire::MpiWire(const BackendOptions& options)
    : options_(options), session_(options), tag_limit_(tag_limit_of_mpi()) {
  const LimitedCall limited(options_, "MPI_Comm_dup");
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &world_size_), "MPI_Comm_size");
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &letters_), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(letters_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  listen();
}

MpiWire::~MpiWire() {
  if (is_unfinished_) {
    return;
  }
  MPI_Cancel(&listening_);
  MPI_Wait(&listening_, MPI_STATUS_IGNORE);
  for (Posted& letter : posted_) {
    MPI_Request_free(&letter.sending);  // the rank may have ended; MPI_Finalize sends what it can
  }
  for (MPI_Comm& comm : comms_) {
    MPI_Comm_free(&comm);
  }
  MPI_Comm_free(&letters_);
}

std::string MpiWire::version() const {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check_mpi(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string_view whole(text.data(), static_cast<std::size_t>(length));
  return std::string(whole.substr(0, whole.find_first_of(",\n")));
}

std::string MpiWire::host() const {
  std::array<char, MPI_MAX_PROCESSOR_NAME> text{};
  int length = 0;
  check_mpi(MPI_Get_processor_name(text.data(), &length), "MPI_Get_processor_name");
  return std::string(text.data(), static_cast<std::size_t>(length));
}

Channel MpiWire::open(std::uint32_t id, std::span<const int> ranks) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  check_mpi(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &members),
            "MPI_Group_incl");
  const LimitedCall limited(options_, "MPI_Comm_create_group");
  const int tag = static_cast<int>(id % static_cast<std::uint32_t>(kSmallestTagLimit));
  check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, members, tag, &comm), "MPI_Comm_create_group");
  check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Group_free(&members), "MPI_Group_free");
  check_mpi(MPI_Group_free(&world), "MPI_Group_free");
  comms_.push_back(comm);
  return static_cast<Channel>(comms_.size() - 1);
}

std::unique_ptr<Transfers> MpiWire::make_transfers() {
  return std::make_unique<MpiTransfers>(comms_);
}

void MpiWire::listen() {
  check_mpi(MPI_Irecv(incoming_.data(), static_cast<int>(incoming_.size()), MPI_BYTE,
                      MPI_ANY_SOURCE, kLetterTag, letters_, &listening_),
            "MPI_Irecv");
}

void MpiWire::post(int world_rank, std::span<const std::byte> letter) {
  UNDERSTUDY_ASSERT(letter.size() <= kLargestLetter);
  free_sent();
  Posted& kept = posted_.emplace_back(Posted{{letter.begin(), letter.end()}, MPI_REQUEST_NULL});
  check_mpi(MPI_Isend(kept.bytes.data(), static_cast<int>(kept.bytes.size()), MPI_BYTE, world_rank,
                      kLetterTag, letters_, &kept.sending),
            "MPI_Isend");
}

void MpiWire::free_sent() {
  std::erase_if(posted_, [](Posted& letter) {
    int is_sent = 0;
    check_mpi(MPI_Test(&letter.sending, &is_sent, MPI_STATUS_IGNORE), "MPI_Test");
    return is_sent != 0;
  });
}

std::optional<Letter> MpiWire::next_letter() {
  int arrived = 0;
  MPI_Status status;
  check_mpi(MPI_Test(&listening_, &arrived, &status), "MPI_Test");
  if (arrived == 0) {
    return std::nullopt;
  }
  int bytes = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  Letter letter{status.MPI_SOURCE, {incoming_.begin(), incoming_.begin() + bytes}};
  listen();
  return letter;
}

void MpiWire::leave_unfinished() {
  is_unfinished_ = true;
  session_.leave_unfinished();
}

void MpiWire::abort_others(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
}

}  // namespace understudy::backends
