#include <fmt/format.h>

#include <algorithm>

#include "cli/compile/compile.h"
#include "et_schema/base/error.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/input_files.h"
#include "et_schema/formats/counted_kernels/counted_kernels.h"
#include "et_schema/formats/json_trace/sniff.h"
#include "generator/link/launch_counters.h"

namespace understudy::cli {

void add_counters(const std::vector<std::string>& files,
                  const std::vector<et_schema::Trace>& traces,
                  const std::optional<std::string>& step, std::vector<generator::Link>& links) {
  if (!files.empty() && (links.empty() || (links.size() > 1 && files.size() != links.size()))) {
    throw et_schema::usage_error(
        "counters are joined to the launches in each rank's profile",
        {.file = files.front(),
         .field = "--counters",
         .expected = links.empty() ? "traces with a profile"
                                   : fmt::format("{} files, in order of ranks", links.size()),
         .got =
             links.empty() ? "traces without a profile" : et_schema::counted(files.size(), "file"),
         .hint = "name the profiles of the same program with --profile, and a file for each rank"});
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::size_t rank = links.size() > 1 ? i : 0;
    generator::Link& link = links[rank];
    const auto add = [&](const et_schema::InputFile& file) {
      if (et_schema::classify_json(file.data) == et_schema::JsonKind::kKineto) {
        const et_schema::Profile counted = et_schema::parse_kineto(file.data, file.name);
        link.kernels = generator::link(traces[rank], counted, {step}).kernels;
      } else {
        generator::add_counters(et_schema::parse_counted_kernels(file.data, file.name), file.name,
                                link);
      }
    };
    et_schema::read_input_files(files[i], et_schema::process_limits(), add);
    if (std::ranges::none_of(link.kernels, &et_schema::Counters::size,
                             &generator::LaunchedKernel::counters)) {
      throw et_schema::bad_input(
          "no counters of the step's kernels",
          {.file = files[i],
           .field = "--counters",
           .expected = "metrics of docs/metrics.md, \"Counters\", of each launch",
           .got = "none of them",
           .hint = "understudy inspect --device-time shows what the file has"});
    }
  }
}

}  // namespace understudy::cli
