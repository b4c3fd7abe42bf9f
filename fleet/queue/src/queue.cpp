#include "fleet/queue/queue.h"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <utility>

#include "fleet/process/node.h"

namespace understudy::fleet {
namespace {

constexpr const char* kColumns = "id, night, kind, subject, platform, attempts";

WorkItem item_of(const Row& row) {
  return {row.integer(0), row.integer(1), row.text(2), row.integer(3), row.text(4), row.integer(5)};
}

/// SQL condition for a night and a platform, parameters $1 and $2. Kinds are trusted constants.
std::string condition(const std::vector<std::string>& kinds) {
  std::string list;
  for (const std::string& kind : kinds) {
    list += fmt::format("{}'{}'", list.empty() ? "" : ", ", kind);
  }
  return fmt::format("night = $1 AND (platform = '' OR platform = $2) AND kind IN ({})", list);
}

}  // namespace

void add_work(Connection& connection, std::int64_t night, const std::string& kind,
              std::int64_t subject, const std::string& platform) {
  connection.execute(
      "INSERT INTO work (night, kind, subject, platform, state, beat, attempts) "
      "VALUES ($1, $2, $3, $4, 'ready', 0, 0) "
      "ON CONFLICT (night, kind, subject, platform) DO NOTHING",
      {night, kind, subject, platform});
}

WorkQueue::WorkQueue(std::string owner, double lease_s, Clock clock)
    : owner_(std::move(owner)), lease_s_(lease_s), clock_(std::move(clock)) {}

std::optional<WorkItem> WorkQueue::claim(Connection& connection, std::int64_t night,
                                         const std::vector<std::string>& kinds,
                                         const std::string& platform) {
  const std::string where = condition(kinds);
  const Values parameters = {night, platform};
  std::optional<WorkItem> item;
  in_transaction(connection, [&] {
    item = claim_ready(connection, where, parameters);
    if (!item) {
      item = claim_orphan(connection, where, parameters);
    }
  });
  if (item) {
    item->since = clock_();
  }
  return item;
}

std::optional<WorkItem> WorkQueue::claim_ready(Connection& connection, const std::string& where,
                                               const Values& parameters) {
  const char* const skip =
      connection.dialect() == Dialect::kPostgres ? " FOR UPDATE SKIP LOCKED" : "";
  Values all = parameters;
  all.emplace_back(owner_);
  const Rows rows = connection.query(
      fmt::format("UPDATE work SET state = 'running', owner = $3, beat = beat + 1, "
                  "attempts = attempts + 1 WHERE id = (SELECT id FROM work WHERE {} AND "
                  "state = 'ready' ORDER BY kind, id LIMIT 1{}) RETURNING {}",
                  where, skip, kColumns),
      all);
  return rows.empty() ? std::nullopt : std::optional(item_of(rows.front()));
}

std::optional<WorkItem> WorkQueue::claim_orphan(Connection& connection, const std::string& where,
                                                const Values& parameters) {
  const Rows held = connection.query(
      fmt::format("SELECT id, owner, beat FROM work WHERE {} AND state = 'running' ORDER BY id",
                  where),
      parameters);
  for (const Row& row : held) {
    const std::string owner = row.text(1);
    if (!has_run_out(row.integer(0), owner, row.integer(2))) {
      continue;
    }
    const Rows rows = connection.query(
        fmt::format("UPDATE work SET owner = $4, beat = beat + 1, attempts = attempts + 1 WHERE "
                    "id = $1 AND owner = $2 AND beat = $3 AND state = 'running' RETURNING {}",
                    kColumns),
        {row.integer(0), owner, row.integer(2), owner_});
    if (!rows.empty()) {
      return item_of(rows.front());
    }
  }
  return std::nullopt;
}

bool WorkQueue::has_run_out(std::int64_t id, const std::string& owner, std::int64_t beat) {
  if (owner == owner_) {
    return false;
  }
  if (is_certainly_gone(owner)) {
    return true;
  }
  const auto now = clock_();
  const auto [place, is_new] = seen_.try_emplace(id, Seen{owner, beat, now});
  Seen& seen = place->second;
  if (seen.owner != owner || seen.beat != beat) {
    seen = {owner, beat, now};
  }
  return std::chrono::duration<double>(now - seen.since).count() >= lease_s_;
}

bool WorkQueue::finish(Connection& connection, const WorkItem& item, const std::string& outcome,
                       const std::string& detail, const std::function<void()>& consequences) {
  const double seconds = std::chrono::duration<double>(clock_() - item.since).count();
  bool is_ours = false;
  in_transaction(connection, [&] {
    is_ours = connection.execute(
                  "UPDATE work SET state = 'done', outcome = $3, detail = $4, seconds = $5 WHERE "
                  "id = $1 AND owner = $2 AND state = 'running'",
                  {item.id, owner_, outcome, detail, seconds}) > 0;
    if (is_ours) {
      consequences();
    }
  });
  return is_ours;
}

WorkCounts count_work(Connection& connection, std::int64_t night,
                      const std::vector<std::string>& kinds, const std::string& platform) {
  WorkCounts counts;
  for (const Row& row :
       connection.query(fmt::format("SELECT state, COUNT(*) FROM work WHERE {} GROUP BY state",
                                    condition(kinds)),
                        {night, platform})) {
    const auto number = static_cast<std::size_t>(row.integer(1));
    counts.total += number;
    (row.text(0) == "done" ? counts.done : counts.left) += number;
  }
  return counts;
}

void give_up_work(Connection& connection, std::int64_t night, const std::string& platform,
                  const std::string& outcome, const std::string& detail) {
  connection.execute(
      "UPDATE work SET state = 'done', outcome = $3, detail = $4 WHERE night = $1 AND "
      "platform = $2 AND state <> 'done'",
      {night, platform, outcome, detail});
}

std::vector<FinishedWork> finished_work(Connection& connection, std::int64_t night) {
  return each_of(
      connection.query(
          "SELECT kind, subject, platform, outcome, detail, attempts, seconds FROM work WHERE "
          "night = $1 AND state = 'done' ORDER BY id",
          {night}),
      [](const Row& row) {
        FinishedWork work;
        row.into(work.kind, work.subject, work.platform, work.outcome, work.detail, work.attempts,
                 work.seconds);
        return work;
      });
}

bool is_all_done(Connection& connection, std::int64_t night) {
  return connection
      .query("SELECT 1 FROM work WHERE night = $1 AND state <> 'done' LIMIT 1", {night})
      .empty();
}

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
