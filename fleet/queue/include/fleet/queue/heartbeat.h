#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace understudy::fleet {

/// A worker that shows signs of life, and where.
struct Pulse {
  std::string owner;
  std::int64_t night = 0;
  std::string platform;
};

/// Counts up the rows that an owner holds, and its platform's row of the night, on its own thread
/// and connection, as long as it lives. It retries what fails: a lease that is lost meanwhile is
/// noticed when the work is finished.
class Heartbeat {
 public:
  Heartbeat(std::string url, Pulse pulse, double every_s);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void run();

  std::string url_;
  Pulse pulse_;
  double every_s_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace understudy::fleet
