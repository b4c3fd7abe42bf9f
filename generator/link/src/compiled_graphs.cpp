#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "generator/flow/captured_ranges.h"
#include "generator/flow/steps.h"
#include "generator/link/link.h"
#include "generator/link/names.h"

namespace understudy::generator {
namespace {

using Names = std::set<std::string>;

void add_compiled(std::string_view name, Names& names) {
  if (is_graph_call(name) || is_compiled_region(name)) {
    names.insert(as_profiled(name));
  }
}

std::string describe(const Names& names) {
  return names.empty() ? "none" : fmt::format("{}, the first \"{}\"", names.size(), *names.begin());
}

}  // namespace

std::uint64_t compare_regions(const et_schema::Trace& trace, const et_schema::Profile& profile,
                              const std::optional<std::string>& step) {
  Names traced;
  const IdRange ids = choose_step(trace, step).ids;
  for (const et_schema::Node& node : trace.nodes) {
    if (ids.contains(node.id)) {
      add_compiled(node.name, traced);
    }
  }
  Names profiled;
  for (const et_schema::KinetoEvent& event : profile.events) {
    add_compiled(event.name, profiled);
  }
  if (traced.empty() != profiled.empty()) {
    throw et_schema::bad_input(
        "trace and profile were compiled differently",
        {.file = profile.file,
         .rank = trace.rank,
         .field = "compiled regions and graphs",
         .expected = fmt::format("as in the trace's step: {}", describe(traced)),
         .got = describe(profiled),
         .hint = "one of them ran under torch.compile and the other eagerly; capture again, where "
                 "something turns compilation off (a dispatch mode, a limit of recompilations) "
                 "without it, or give --profile none to go without times"});
  }
  std::vector<std::string> other;
  std::ranges::set_symmetric_difference(traced, profiled, std::back_inserter(other));
  return other.size();
}

}  // namespace understudy::generator
