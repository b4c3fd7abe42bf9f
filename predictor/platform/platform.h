#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "predictor/calls/call.h"
#include "predictor/operators/operator_models.h"
#include "predictor/platform/energy.h"

namespace understudy::predictor {

/// Version of the platform file; docs/formats.md, "platform.json".
inline constexpr int kPlatformVersion = 1;

/// What is known of the devices that work could run on: specifications, everything measured, the
/// models fitted to it. One of the file's sections is this room's; `sections` are those of others.
struct Platform {
  std::vector<MeasuredCall> rows;
  OperatorModels operators;
  std::optional<EnergyModels> energy = {};  ///< where rows told energies
  /// "collectives", "embeddings", "host", "overheads", "overlap": JSON texts, kept as they are.
  std::map<std::string, std::string> sections;
};

/// JSON text. Equal platforms give equal bytes.
[[nodiscard]] std::string to_json(const Platform& platform);
/// Throws Error (bad input): no JSON, another format or version, a field that is missing or wrong,
/// a section that nobody reads.
[[nodiscard]] Platform parse_platform(std::string_view text, const std::string& file);
/// The same of a file, gzipped or not.
[[nodiscard]] Platform read_platform(const std::string& path);

/// A section of a file, as JSON.
struct KnownSection {
  std::string file;
  std::string text;
};

/// What a new platform file keeps of others: all but their models, which are fitted again.
struct PlatformContent {
  std::vector<MeasuredCall> rows;
  std::vector<Card> cards;   ///< described ones, each name once
  std::optional<Card> host;  ///< of a CPU's rows, without what calls measured
  std::map<std::string, std::vector<KnownSection>> sections;  ///< of each file that has one
};
/// Adds what those of the paths hold that are platform files, and returns
/// the others. Throws Error (bad input) as read_platform() does.
[[nodiscard]] std::vector<std::string> take_platform_files(const std::vector<std::string>& paths,
                                                           PlatformContent& content);

}  // namespace understudy::predictor
