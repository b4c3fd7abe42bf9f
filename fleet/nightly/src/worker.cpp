#include "fleet/nightly/worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <thread>

#include "et_schema/base/error.h"
#include "et_schema/base/zip.h"
#include "et_schema/formats/report/report_json.h"
#include "fleet/database/schema.h"
#include "fleet/process/node.h"
#include "fleet/records/events.h"

namespace understudy::fleet {
namespace {

constexpr std::chrono::milliseconds kWaitForOthers(250);
constexpr double kBeatsALease = 5;

/// A worker's folder. The destructor removes it with all its files.
class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  /// Creates the folder again if it was empty for so long that it was removed as a leftover.
  void keep() const {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
  }
  [[nodiscard]] std::string text() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string job_names(Connection& connection, const WorkItem& item) {
  if (item.kind == kGenerateWork) {
    const std::optional<Job> job = find_job(connection, item.subject);
    return job ? job->name : "";
  }
  const std::vector<Job> jobs = jobs_of_benchmark(connection, item.subject);
  return jobs.empty() ? "" : jobs.front().name;
}

/// Returns true if the last attempt at the same work failed.
bool was_broken(Connection& connection, const WorkItem& item) {
  const Rows rows = connection.query(
      "SELECT outcome FROM work WHERE kind = $1 AND subject = $2 AND platform = $3 AND "
      "night < $4 ORDER BY night DESC LIMIT 1",
      {item.kind, item.subject, item.platform, item.night});
  return !rows.empty() &&
         (rows.front().text(0) == kWasBroken || rows.front().text(0) == kStayedBroken);
}

/// Ends an item that failed. Reports the failure unless the last attempt failed, too.
void finish_broken(StepContext& context, const WorkItem& item, const std::string& why) {
  const bool is_new = !was_broken(context.connection, item);
  const char* const outcome = is_new ? kWasBroken : kStayedBroken;
  context.finish(item, outcome, why, [&] {
    if (item.kind == kGenerateWork) {
      if (const std::optional<Job> job = find_job(context.connection, item.subject)) {
        set_broken(context.connection, *job, why, "", item.night, "");
        add_replays_of_broken(context, item, *job);
      }
    }
    if (is_new) {
      put_event(context.connection, {.night = item.night,
                                     .kind = kBroken,
                                     .job = job_names(context.connection, item),
                                     .platform = item.platform,
                                     .text = why});
    }
  });
}

void do_item(StepContext& context, const WorkItem& item) {
  if (item.attempts > kMostAttempts) {
    finish_broken(context, item,
                  fmt::format("given up: it was begun {} times and ended its worker each time",
                              item.attempts - 1));
    return;
  }
  try {
    item.kind == kGenerateWork ? generate_step(context, item) : replay_step(context, item);
  } catch (const et_schema::Error& error) {
    finish_broken(context, item, in_one_line(et_schema::to_text(error)));
  } catch (const std::exception& error) {  // of this job only: the night continues
    finish_broken(context, item, in_one_line(error.what()));
  }
}

constexpr const char* kMember = "report.json";

}  // namespace

std::string in_one_line(const std::string& text) {
  constexpr std::size_t kMost = 600;
  std::string line;
  for (const char letter : text) {
    if (letter == '\n') {
      while (!line.empty() && line.back() == ' ') {
        line.pop_back();
      }
      line += line.empty() ? "" : "; ";
    } else if (letter != ' ' || (!line.empty() && line.back() != ' ')) {
      line += letter;
    }
  }
  while (line.ends_with(' ') || line.ends_with(';')) {
    line.pop_back();
  }
  return line.size() <= kMost ? line : line.substr(0, kMost) + " …";
}

void work(const NightOptions& options, std::int64_t night, const std::vector<std::string>& kinds,
          const std::string& part) {
  const std::unique_ptr<Connection> connection = open_fleet(options.url, Opening::kExisting);
  const ObjectStore store(options.store, setting(*connection, "id"));
  WorkQueue queue(this_owner(part), options.lease_s);
  const Heartbeat heartbeat(options.url, {queue.owner(), night, options.platform},
                            options.lease_s / kBeatsALease);
  const Folder folder(store.work_folder(fmt::format("{}-{}", ::getpid(), part)));
  StepContext context{*connection, queue, store, options, folder.text()};
  for (;;) {
    if (const std::optional<WorkItem> item =
            queue.claim(*connection, night, kinds, options.platform)) {
      folder.keep();
      do_item(context, *item);
    } else if (count_work(*connection, night, kinds, options.platform).left == 0) {
      return;
    } else {
      std::this_thread::sleep_for(kWaitForOthers);
    }
  }
}

std::vector<FailingReplay> failing_replays(Connection& connection) {
  // Nights that skipped the replay or did not run it are ignored.
  const Rows rows = connection.query(
      "SELECT w.subject, w.platform, COALESCE((SELECT MAX(b.night) FROM work b WHERE b.kind = "
      "w.kind AND b.subject = w.subject AND b.platform = w.platform AND b.outcome = $2), 0), "
      "w.night, w.detail FROM work w WHERE w.kind = $1 AND w.outcome IN ($2, $3) AND w.id = "
      "(SELECT MAX(x.id) FROM work x WHERE "
      "x.kind = w.kind AND x.subject = w.subject AND x.platform = w.platform AND x.outcome IN "
      "($2, $3, $4)) ORDER BY w.subject, w.platform",
      {kReplayWork, kWasBroken, kStayedBroken, kWasReplayed});
  return each_of(rows, [](const Row& row) {
    return FailingReplay{row.integer(0), row.text(1), row.integer(2), row.integer(3), row.text(4)};
  });
}

std::string put_report(const ObjectStore& store, const std::string& json) {
  return store.put(et_schema::zip_bytes({{kMember, json}}));
}

et_schema::Report read_report(const ObjectStore& store, const std::string& hash) {
  const std::string file = store.path_of(hash).string();
  const auto members = et_schema::unzip(store.read(hash), file, et_schema::process_limits());
  const auto found = members.find(kMember);
  if (found == members.end()) {
    throw et_schema::run_failed("an object of the store is no report", {.file = file});
  }
  return et_schema::parse_report(found->second, file);
}

}  // namespace understudy::fleet
