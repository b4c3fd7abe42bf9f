#include <algorithm>
#include <string>

#include "cli/pages/document/from_json.h"
#include "job.h"
#include "replayer/backends/interface/launcher.h"
#include "replayer/counters/source.h"
#include "replayer/device/device.h"

namespace understudy::cli {

void ReplayJob::list_counters() const {
  if (!is_alone() && !is_first()) {
    return;
  }
  const c10::Device device =
      replayer::open_device(arguments_.options.device, backends::launched_local_rank());
  nlohmann::ordered_json sources = nlohmann::ordered_json::array();
  const auto add = [&sources](const replayer::OpenedSource& opened) {
    nlohmann::ordered_json& row = sources.emplace_back();
    row = {{"source", opened.name},
           {"state", opened.why_not.empty() ? "it counts" : opened.why_not},
           {"counters", nlohmann::ordered_json::array()}};
    for (const std::string& name :
         opened.source == nullptr ? std::vector<std::string>() : opened.source->names()) {
      row["counters"].push_back({{"name", name}, {"text", et_schema::counter_fact(name).text}});
    }
  };
  std::ranges::for_each(replayer::open_counter_sources(device), add);
  const nlohmann::ordered_json document = {{"sources", std::move(sources)}};
  using pages::texts;
  pages::Page page;
  page.title = "Counters of " + replayer::device_text(device);
  page.sections = {
      {"sources",
       "Sources",
       {pages::table_at(document, "/sources", "Sources", {texts("source"), texts("state")}),
        pages::table_at(document, "/sources/*/counters", "Counters, for replay --counters",
                        {texts("counter", "name"), texts("source"), texts("meaning", "text")})}}};
  pages::show(pages::made_by("replay", std::move(page), document, "counters.json", 1),
              arguments_.format);
}

}  // namespace understudy::cli
