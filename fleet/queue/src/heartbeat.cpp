#include "fleet/queue/heartbeat.h"

#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "fleet/database/connection.h"

namespace understudy::fleet {

Heartbeat::Heartbeat(std::string url, Pulse pulse, double every_s)
    : url_(std::move(url)),
      pulse_(std::move(pulse)),
      every_s_(every_s),
      thread_([this] { run(); }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ending_.notify_all();
  thread_.join();
}

void Heartbeat::run() {
  std::unique_ptr<Connection> connection;
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, std::chrono::duration<double>(every_s_),
                           [this] { return is_ending_; })) {
    lock.unlock();
    try {
      if (!connection) {
        connection = connect(url_, Opening::kExisting, every_s_);
      }
      connection->execute("UPDATE work SET beat = beat + 1 WHERE state = 'running' AND owner = $1",
                          {pulse_.owner});
      connection->execute(
          "UPDATE night_platform SET beat = beat + 1 WHERE night = $1 AND platform = $2",
          {pulse_.night, pulse_.platform});
    } catch (const std::exception&) {
      connection.reset();
    }
    lock.lock();
  }
}

}  // namespace understudy::fleet
