#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/read_file.h"
#include "et_schema/formats/bench/bench.h"
#include "fleet/fingerprint/fingerprint.h"
#include "fleet/nightly/inputs.h"
#include "fleet/nightly/options.h"
#include "fleet/nightly/worker.h"
#include "fleet/process/node.h"
#include "fleet/process/run_program.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/events.h"
#include "fleet/records/jobs.h"
#include "fleet/records/nights.h"

namespace understudy::fleet {
namespace {

/// Exit statuses for a bad trace and bad flags, which would fail again.
constexpr int kBadInput = 65;
constexpr int kUsage = 2;

class GenerateStep {
 public:
  GenerateStep(StepContext& context, const WorkItem& item, Job job)
      : context_(context), item_(item), job_(std::move(job)) {}

  void run() {
    if (const std::string word = refused_generate_flag(job_.flags); !word.empty()) {
      // A fleet's database is not trusted: docs/trust.md.
      throw et_schema::bad_input("flags that a job cannot have",
                                 {.expected = allowed_generate_flags(),
                                  .got = word,
                                  .hint = "understudy fleet add with other --flags"});
    }
    const InputState state = input_state(job_.path);
    stat_ = state.is_recent ? "" : state.stat;
    hash_ = input_hash(job_.path);
    key_ = benchmark_key(hash_, context_.options.tools.generator, job_.flags);
    if (!context_.options.regenerates && is_known()) {
      return;
    }
    const NodeLock lock(NodeUse::kComputing);
    const std::string path = context_.folder + "/bench.et";
    const ProgramEnd end = run_program({.words = words(path),
                                        .variables = {"UNDERSTUDY_PROGRESS=off"},
                                        .timeout_s = context_.options.generate_timeout_s});
    if (end.status != 0) {
      finish_broken(end);
      return;
    }
    if (input_state(job_.path).stat != state.stat) {
      throw et_schema::run_failed("the traces changed while they were read",
                                  {.file = job_.path, .hint = "the next night reads them again"});
    }
    finish_made(path);
  }

 private:
  [[nodiscard]] std::vector<std::string> words(const std::string& path) const {
    // An absolute path: the database could name a path that reads as a flag.
    std::vector<std::string> all = {context_.options.tools.generate,
                                    std::filesystem::absolute(job_.path).string(), "-o", path,
                                    "--quiet"};
    all.insert(all.end(), job_.flags.begin(), job_.flags.end());
    return all;
  }

  /// Ends the item if a benchmark of this key exists, or if this key failed before for good.
  bool is_known() {
    const std::optional<Benchmark> found = find_benchmark_by_key(context_.connection, key_);
    std::error_code error;
    if (found && std::filesystem::is_regular_file(context_.store.path_of(found->object), error)) {
      finish_with(*found, found->id);
      return true;
    }
    if (job_.broken_key != key_ || job_.broken.empty()) {
      return false;
    }
    context_.finish(item_, kStayedBroken, job_.broken, [&] {
      set_broken(context_.connection, job_, job_.broken, key_, item_.night, stat_);
      add_replays_of_broken(context_, item_, job_);
    });
    return true;
  }

  void finish_broken(const ProgramEnd& end) {
    const bool comes_again = end.status == kBadInput || end.status == kUsage;
    std::string why = in_one_line(end.errors);
    if (end.timed_out) {
      why = fmt::format("not done within {:.0f} s", context_.options.generate_timeout_s);
    } else if (why.empty()) {
      why = fmt::format("generate ended with status {}", end.status);
    }
    // Failures that may pass are retried each night, and reported when their reason changes.
    const bool is_new =
        job_.broken.empty() || (comes_again ? job_.broken_key != key_ : job_.broken != why);
    const char* const outcome = is_new ? kWasBroken : kStayedBroken;
    context_.finish(item_, outcome, why, [&] {
      context_.connection.execute("UPDATE job SET input_hash = $2 WHERE id = $1", {job_.id, hash_});
      set_broken(context_.connection, job_, why, comes_again ? key_ : "", item_.night,
                 comes_again ? stat_ : "");
      add_replays_of_broken(context_, item_, job_);
      if (is_new) {
        put_event(context_.connection,
                  {.night = item_.night, .kind = kBroken, .job = job_.name, .text = why});
      }
    });
  }

  void finish_made(const std::string& path) {
    const std::string bytes = et_schema::read_file(path, et_schema::process_limits());
    const et_schema::Bench bench = et_schema::read_bench_bytes(bytes, path);
    Benchmark made;
    made.key = key_;
    made.object = context_.store.put(bytes);
    made.bytes = static_cast<std::int64_t>(bytes.size());
    made.benchmark_hash = et_schema::benchmark_hash(bench);
    made.world_size = bench.world_size();
    made.generator = context_.options.tools.generator;
    made.flags = job_.flags;
    made.input_hash = hash_;
    made.fingerprint = to_json(fingerprint_of(bench));
    made.made_utc = now_utc();
    finish_with(made, 0);
  }

  /// `id` is the benchmark's, or 0 if it must be added.
  void finish_with(const Benchmark& benchmark, std::int64_t id) {
    const std::optional<Benchmark> before =
        job_.benchmark == 0 ? std::nullopt : find_benchmark(context_.connection, job_.benchmark);
    const bool is_as_before = before && before->object == benchmark.object;
    const char* const outcome = is_as_before ? kWasUnchanged : kWasMade;
    context_.finish(item_, outcome, job_.name, [&] {
      const std::int64_t known = id != 0 ? id : put_benchmark(context_.connection, benchmark);
      set_benchmark(context_.connection, job_, known, stat_, hash_);
      if (before && !is_as_before) {
        add_change_events(*before, benchmark);
      }
      add_replays(context_.connection, item_.night, known);
    });
  }

  void add_change_events(const Benchmark& before, const Benchmark& now) {
    const Drift drift = drift_between(parse_fingerprint(before.fingerprint, job_.name),
                                      parse_fingerprint(now.fingerprint, job_.name));
    Event event{.night = item_.night,
                .kind = kChanged,
                .job = job_.name,
                .benchmark_hash = now.benchmark_hash,
                .text = sentence_of(drift),
                .detail = fmt::format(R"({{"distance":{:.4f},"before":"{}"}})", drift.distance,
                                      before.benchmark_hash)};
    put_event(context_.connection, event);
    if (drift.distance > context_.options.drift_above) {
      event.kind = kDrifted;
      put_event(context_.connection, event);
    }
  }

  StepContext& context_;
  const WorkItem& item_;
  Job job_;
  std::string stat_, hash_, key_;
};

}  // namespace

void add_replay(Connection& connection, std::int64_t night, std::int64_t benchmark,
                const std::string& platform) {
  const Rows others = connection.query(
      "SELECT 1 FROM work w JOIN benchmark other ON other.id = w.subject JOIN benchmark own ON "
      "own.benchmark_hash = other.benchmark_hash WHERE w.night = $1 AND w.kind = $2 AND "
      "w.platform = $3 AND own.id = $4 AND other.id <> $4 LIMIT 1",
      {night, kReplayWork, platform, benchmark});
  if (others.empty()) {
    add_work(connection, night, kReplayWork, benchmark, platform);
  }
}

void add_replays(Connection& connection, std::int64_t night, std::int64_t benchmark) {
  lock_nights(connection);
  for (const NightPlatform& row : platforms_of_night(connection, night)) {
    add_replay(connection, night, benchmark, row.platform);
  }
}

void add_replays_of_broken(StepContext& context, const WorkItem& item, const Job& job) {
  const std::optional<Benchmark> kept =
      job.benchmark == 0 ? std::nullopt : find_benchmark(context.connection, job.benchmark);
  std::error_code error;
  if (kept && std::filesystem::is_regular_file(context.store.path_of(kept->object), error)) {
    add_replays(context.connection, item.night, kept->id);
  }
}

void generate_step(StepContext& context, const WorkItem& item) {
  const std::optional<Job> job = find_job(context.connection, item.subject);
  if (!job) {  // removed meanwhile
    context.finish(item, kWasSkipped, "the job was removed");
    return;
  }
  GenerateStep(context, item, *job).run();
}

}  // namespace understudy::fleet
