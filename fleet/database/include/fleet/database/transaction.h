#pragma once

#include <functional>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// How long a database may be locked, or its server gone, before a program gives up.
inline constexpr double kPatienceSeconds = 180;

/// Runs `body` in a transaction, whole or not at all. What may pass is tried again, for
/// `patience_s` by this process' own clock: `body` may run several times, the last time alone
/// counts. Throws Error (failed) when patience is over.
void in_transaction(Connection& connection, const std::function<void()>& body,
                    double patience_s = kPatienceSeconds);

}  // namespace understudy::fleet
