#include <algorithm>
#include <nlohmann/json.hpp>

#include "et_schema/support/json_fields.h"
#include "predictor/overheads/overlap.h"
#include "predictor/platform/cost_parts.h"

namespace understudy::predictor {

std::vector<DeviceOverlap> read_overlap(const std::string& section, const std::string& file) {
  const et_schema::JsonSource source{file, "the platform cannot be read",
                                     "make the file again with `calibrate`"};
  // So that errors say where in the file it stands.
  const nlohmann::json document = {
      {"sections", {{kOverlapSection, et_schema::parse_json(section, source)}}}};
  const et_schema::JsonField root(document, source);
  return overlap_from_json(root.at("sections").at(kOverlapSection));
}

FoundOverlap find_overlap(const Platform& platform, const std::string& file,
                          const std::string& device) {
  FoundOverlap found;
  const auto section = platform.sections.find(kOverlapSection);
  if (section == platform.sections.end()) {
    return found;
  }
  const std::vector<DeviceOverlap> known = read_overlap(section->second, file);
  for (const DeviceOverlap& one : known) {
    if (one.device == device || known.size() == 1) {
      found.overlap = one;
    }
    found.others.push_back(one.device);
  }
  return found;
}

}  // namespace understudy::predictor
