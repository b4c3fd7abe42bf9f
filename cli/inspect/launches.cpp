#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "cli/pages/document/from_json.h"
#include "documents.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/file_name.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::KinetoEvent;
using pages::counts, pages::facts_at, pages::shortened, pages::table_at, pages::texts;

/// Returns what stands in the `place`-th brackets of "[512,1,1][32,4,1]".
std::string_view in_brackets(std::string_view shape, int place) {
  std::size_t begin = shape.find('[');
  for (; place > 0 && begin != std::string_view::npos; --place) {
    begin = shape.find('[', begin + 1);
  }
  return begin == std::string_view::npos
             ? std::string_view()
             : shape.substr(begin + 1, shape.find(']', begin) - begin - 1);
}

/// Every kernel has registers: what has none is a library's call, recorded by its name and sizes.
bool is_call(const KinetoEvent& event) {
  return event.category == et_schema::KinetoCategory::kKernel && event.registers <= 0;
}

}  // namespace

Json launches_document(const et_schema::Profile& profile,
                       const et_schema::DeviceTimeline& timeline) {
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::size_t> places;
  Json rows = Json::array();
  Json calls = Json::array();
  for (const et_schema::DeviceEvent& launched : timeline.events) {
    if (launched.step == et_schema::kUnknownEvent) {
      continue;
    }
    const KinetoEvent& event = profile.events[launched.source];
    const std::string_view launcher = launched.launcher == et_schema::kUnknownEvent
                                          ? std::string_view()
                                          : profile.events[launched.launcher].name;
    Json& list = is_call(event) ? calls : rows;
    const auto [place, is_new] =
        places.try_emplace({launcher, event.name, event.shape}, list.size());
    if (is_new) {
      Json& row =
          list.emplace_back(Json{{"launcher", launcher}, {"name", event.name}, {"count", 0}});
      if (event.registers > 0) {
        row.update({{"grid", in_brackets(event.shape, 0)},
                    {"block", in_brackets(event.shape, 1)},
                    {"registers", event.registers},
                    {"shared_bytes", event.shared_bytes}});
      }
    }
    Json& count = list[place->second]["count"];
    count = count.get<std::uint64_t>() + 1;
  }
  return {{"file", profile.file}, {"kernels", std::move(rows)}, {"calls", std::move(calls)}};
}

pages::Section launches_section(const Json& document, std::size_t place) {
  const std::string at = fmt::format("/launches/{}", place);
  const std::string file = document["launches"][place]["file"].get<std::string>();
  return {fmt::format("launches-{}", place),
          std::string(et_schema::file_name(file)),
          {table_at(document, at + "/kernels", "Kernels, copies and fills, in order of launch",
                    {texts("launcher"), counts("count"), texts("grid"), texts("block"),
                     counts("registers"), counts("shared bytes", "shared_bytes"),
                     shortened(texts("kernel", "name"))}),
           table_at(document, at + "/calls",
                    "Calls of libraries: which of its kernels a library takes is not known",
                    {texts("launcher"), counts("count"), texts("call", "name")})}};
}

}  // namespace understudy::cli
