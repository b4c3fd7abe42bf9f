#include "fleet/database/transaction.h"

#include "et_schema/support/error.h"
#include "patience.h"

namespace understudy::fleet {
namespace {

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
  Patience patience(patience_s);
  for (;;) {
    try {
      run_once(connection, body);
      return;
    } catch (const TransientError& error) {
      if (patience.is_over()) {
        throw et_schema::run_failed(
            "the fleet's database does not answer",
            {.got = error.what(),
             .hint = "see what holds it; what was finished is kept, run the command again"});
      }
    }
    patience.wait();
    try {
      connection.reconnect();
    } catch (const TransientError&) {
      // Still gone: begin() says so, too.
    }
  }
}

}  // namespace understudy::fleet
