#include "replayer/calibrator/measure/collective_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "collective_calls.h"
#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"
#include "replayer/device/device.h"

namespace understudy::calibrator {
namespace {

using et_schema::CommKind;

class Sweep {
 public:
  Sweep(backends::Job& job, CollectiveRoute route, const SweepOptions& options)
      : job_(job), route_(route), options_(options), maker_(route.device) {}

  /// Returns true if all ranks' communicators accept such calls, and opens their connections.
  bool connect(const CollectiveCall& collective, CallPlace place) {
    const backends::Call call = maker_.make(collective, 0, job_.rank(), place);
    const std::string refused =
        takes_part(collective) && !route_.communicator.takes(call) ? "no" : "";
    const bool is_taken = std::ranges::all_of(job_.all_gather_text(refused), &std::string::empty);
    if (is_taken && takes_part(collective)) {
      route_.communicator.prepare(std::span(&call, 1));
    } else if (is_taken) {
      route_.communicator.prepare({});
    }
    return is_taken;
  }

  SweptPlace measure(const CollectiveCall& collective, CallPlace place) {
    const bool takes_part = this->takes_part(collective);
    const backends::Call call =
        takes_part ? maker_.make(collective, 0, job_.rank(), place) : backends::Call();
    std::int64_t wrong = 0;
    if (takes_part) {
      fill_inputs(call, job_.rank(), route_.device);
    }
    static_cast<void>(time_together_ns(job_, route_, call, takes_part, 1));
    if (takes_part) {
      replayer::synchronize(route_.device);
      wrong = count_wrong(call, collective, job_.rank(), route_.device);
    }
    static_cast<void>(time_together_ns(job_, route_, call, takes_part, count_of(options_.warmup)));
    const double own_ns =
        time_together_ns(job_, route_, call, takes_part, count_of(options_.iterations));
    return of_all(own_ns, wrong);
  }

 private:
  static std::size_t count_of(int number) { return static_cast<std::size_t>(number); }

  [[nodiscard]] bool takes_part(const CollectiveCall& collective) const {
    return !et_schema::is_message(collective.kind) || job_.rank() < 2;
  }

  SweptPlace of_all(double own_ns, std::int64_t wrong) {
    double sum_ns = 0;
    int timed = 0;
    SweptPlace place;
    for (const std::string& text : job_.all_gather_text(fmt::format("{} {}", own_ns, wrong))) {
      std::istringstream in(text);
      double of_rank_ns = 0;
      std::int64_t of_rank_wrong = 0;
      in >> of_rank_ns >> of_rank_wrong;
      sum_ns += of_rank_ns;
      timed += of_rank_ns > 0 ? 1 : 0;
      place.wrong += of_rank_wrong;
    }
    place.ns = std::max(sum_ns / std::max(timed, 1), 1.0);
    return place;
  }

  backends::Job& job_;
  CollectiveRoute route_;
  const SweepOptions& options_;
  CallMaker maker_;
};

}  // namespace

std::vector<std::int64_t> sweep_sizes(const SweepOptions& options, std::int64_t fitting_bytes) {
  std::vector<std::int64_t> sizes;
  const std::int64_t most = std::min(options.most_bytes, fitting_bytes);
  for (std::int64_t bytes = options.least_bytes; bytes <= most; bytes *= options.factor) {
    sizes.push_back(bytes);
    if (bytes > most / options.factor) {
      break;
    }
  }
  return sizes;
}

std::vector<SweptSize> sweep_collectives(backends::Job& job, CollectiveRoute route,
                                         const SweepOptions& options,
                                         const std::function<bool()>& is_interrupted,
                                         const CollectiveProgress& progress) {
  const std::int64_t fitting = fitting_bytes(job, route.device);
  const std::vector<std::int64_t> sizes = sweep_sizes(options, fitting);
  if (sizes.empty()) {
    throw et_schema::usage_error("no size of the sweep fits into memory",
                                 {.field = "--sizes",
                                  .expected = fmt::format("at most {} bytes", fitting),
                                  .got = fmt::format("{} and more", options.least_bytes)});
  }
  Sweep sweep(job, route, options);
  std::vector<SweptSize> swept;
  CollectiveCall call{.ranks = job.world_size(), .on_device = !route.device.is_cpu()};
  const std::int64_t each = item_size(call.dtype) * call.ranks;
  for (const CommKind kind : options.kinds) {
    call.kind = kind;
    call.bytes = each;
    const bool is_taken = sweep.connect(call, CallPlace::kOutOfPlace);
    const bool is_taken_in_place = has_in_place(kind) && sweep.connect(call, CallPlace::kInPlace);
    for (const std::int64_t bytes : sizes) {
      progress(swept.size(), fmt::format("{}, {} bytes", to_string(kind), bytes), 0);
      call.bytes = std::max<std::int64_t>(bytes / each, 1) * each;
      SweptSize size{call, {}, {}};
      if (is_taken) {
        size.out_of_place = sweep.measure(call, CallPlace::kOutOfPlace);
      }
      if (is_taken_in_place) {
        size.in_place = sweep.measure(call, CallPlace::kInPlace);
      }
      const std::vector<std::string> stops = job.all_gather_text(is_interrupted() ? "stop" : "");
      swept.push_back(size);
      if (!std::ranges::all_of(stops, &std::string::empty)) {
        return swept;
      }
    }
  }
  return swept;
}

}  // namespace understudy::calibrator
