#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/json_fields.h"
#include "predictor/calls/call.h"
#include "predictor/operators/operator_models.h"
#include "predictor/platform/energy.h"

namespace understudy::predictor {

/// Version of the platform file; docs/formats.md, "platform.json".
inline constexpr int kPlatformVersion = 1;

/// Devices that work can run on: specifications, all measurements, and the models fitted to them.
/// `sections` are parts that other modules read and write.
struct Platform {
  std::vector<MeasuredCall> rows;
  OperatorModels operators;
  std::optional<EnergyModels> energy = {};  ///< set if rows have energies
  /// JSON texts, kept unchanged: "ceilings", "collectives", "embeddings", "host", "overheads".
  std::map<std::string, std::string> sections;
};

/// Writes JSON. Equal platforms give equal bytes.
[[nodiscard]] std::string to_json(const Platform& platform);
/// Parses a platform file. Throws Error (bad input) if the text is not JSON, has another format or
/// version, a field is missing or invalid, or a section is unknown.
[[nodiscard]] Platform parse_platform(std::string_view text, const std::string& file);
/// Reads and parses a file, gzipped or not.
[[nodiscard]] Platform read_platform(const std::string& path);

/// Returns a section as `read` reads it, or nothing if the platform does not have it. Throws Error
/// (bad input) if the section is damaged.
template <typename Model>
[[nodiscard]] std::optional<Model> section_of(const Platform& platform, const std::string& name,
                                              Model (*read)(const et_schema::JsonField&)) {
  const auto found = platform.sections.find(name);
  if (found == platform.sections.end()) {
    return std::nullopt;
  }
  const et_schema::JsonSource source{"sections." + name, "the platform cannot be read",
                                     "make the file again with `calibrate`"};
  const nlohmann::json document = et_schema::parse_json(found->second, source);
  return read(et_schema::JsonField(document, source));
}

/// What a new platform file keeps of others: everything but their models, which are fitted again.
struct PlatformContent {
  std::vector<MeasuredCall> rows;
  std::vector<Card> cards;                      ///< described cards, each name once
  std::optional<Card> host;                     ///< host of the CPU rows, without measured peaks
  std::map<std::string, std::string> sections;  ///< by name: the last file's, as JSON text
};
/// Adds the content of those paths that are platform files, and returns the other paths. Throws
/// Error (bad input) as read_platform() does.
[[nodiscard]] std::vector<std::string> take_platform_files(const std::vector<std::string>& paths,
                                                           PlatformContent& content);

}  // namespace understudy::predictor
