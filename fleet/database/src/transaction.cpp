#include "fleet/database/transaction.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "et_schema/support/error.h"

namespace understudy::fleet {
namespace {

constexpr std::chrono::milliseconds kFirstWait(20);
constexpr std::chrono::milliseconds kLongestWait(2000);

void run_once(Connection& connection, const std::function<void()>& body) {
  connection.begin();
  try {
    body();
    connection.commit();
  } catch (...) {
    connection.roll_back();
    throw;
  }
}

}  // namespace

void in_transaction(Connection& connection, const std::function<void()>& body, double patience_s) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(patience_s);
  std::chrono::milliseconds wait = kFirstWait;
  for (;;) {
    try {
      run_once(connection, body);
      return;
    } catch (const TransientError& error) {
      if (Clock::now() >= end) {
        throw et_schema::run_failed(
            "the fleet's database does not answer",
            {.got = error.what(),
             .hint = "see what holds it; what was finished is kept, run the command again"});
      }
    }
    std::this_thread::sleep_for(wait);
    wait = std::min(2 * wait, kLongestWait);
    try {
      connection.reconnect();
    } catch (const TransientError&) {
      // Still gone: begin() says so, too.
    }
  }
}

}  // namespace understudy::fleet
