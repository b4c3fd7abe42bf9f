#include "small_profile.h"

#include <utility>

#include "et_schema/formats/kineto/profile_files.h"
#include "et_schema/formats/pytorch_et/trace_files.h"

namespace understudy::generator {

using test::kRelu;
using test::tensor;

KinetoEvent event(const char* name, std::int64_t start, std::int64_t length,
                  KinetoCategory category) {
  KinetoEvent event;
  event.name = name;
  event.category = category;
  event.ts_ns = start;
  event.dur_ns = length;
  event.pid = 1;
  event.tid = 1;
  return event;
}

Profile profile_of(std::vector<KinetoEvent> events) {
  Profile profile;
  profile.file = "kineto.json";
  profile.events = std::move(events);
  return profile;
}

KinetoEvent device_event(const char* name, std::int64_t correlation, std::int64_t external_id) {
  KinetoEvent kernel = event(name, 900, 40, KinetoCategory::kKernel);
  kernel.pid = 0;
  kernel.tid = 7;
  kernel.correlation = correlation;
  kernel.external_id = external_id;
  return kernel;
}

KinetoEvent launch(std::int64_t start, std::int64_t correlation) {
  KinetoEvent call = event("cudaLaunchKernel", start, 5, KinetoCategory::kRuntime);
  call.correlation = correlation;
  return call;
}

test::TraceBuilder small_trace() {
  test::TraceBuilder builder;
  const std::uint64_t label = builder.add(2, "forward", "", {}, {});
  const auto x = tensor(1, 11, {4});
  const std::uint64_t relu = builder.add(label, "aten::relu", kRelu, {x}, {tensor(2, 12, {4})});
  builder.add(relu, "aten::clamp_min", "aten::clamp_min(Tensor self, Scalar min) -> Tensor",
              {x, test::integer(0)}, {tensor(2, 12, {4})});
  builder.add(label, "aten::relu", kRelu, {tensor(2, 12, {4})}, {tensor(3, 13, {4})});
  return builder;
}

std::vector<KinetoEvent> small_step(std::int64_t begin, std::int64_t gap) {
  return {event("ProfilerStep#4", begin, 2000 + gap, KinetoCategory::kUserAnnotation),
          event("forward", begin + 100, 1500 + gap, KinetoCategory::kUserAnnotation),
          event("aten::relu", begin + 200, 500), event("aten::clamp_min", begin + 300, 300),
          event("aten::relu", begin + 800 + gap, 400)};
}

et_schema::Trace one_trace(const std::string& path) {
  return std::move(et_schema::read_traces({path}).front());
}

Profile one_profile(const std::string& path) {
  Profile profile;
  et_schema::read_profiles({path}, 1, [&](int, Profile&& read) { profile = std::move(read); });
  return profile;
}

std::int64_t operators_ns(const Link& link) {
  std::int64_t sum = 0;
  for (const std::optional<NodeTimes>& times : link.nodes) {
    sum += times && times->is_summed ? times->self_ns : 0;
  }
  return sum;
}

}  // namespace understudy::generator
