#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "cli/pages/document/from_json.h"
#include "documents.h"
#include "et_schema/base/digest.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using pages::counts, pages::facts_at, pages::ids, pages::table_at, pages::texts;

Json source_of(const Bench& bench, std::size_t rank) {
  const et_schema::Source& source = bench.sources[rank];
  Json entry = {{"rank", bench.recorded_rank(rank)},
                {"file", source.file},
                {"bytes", source.bytes},
                {"content_hash", fmt::format("{:016x}", source.content_hash)},
                {"filters", bench.programs[rank].selection.filters}};
  if (const auto& profile = bench.programs[rank].profile) {
    entry["profile"] = {{"file", profile->file},
                        {"bytes", profile->bytes},
                        {"content_hash", fmt::format("{:016x}", profile->content_hash)}};
  }
  return entry;
}

}  // namespace

pages::Section add_certificate(const Bench& bench, const std::string& path, Json& document) {
  Json sources = Json::array();
  for (std::size_t rank = 0; rank < bench.sources.size(); ++rank) {
    sources.push_back(source_of(bench, rank));
  }
  document["certificate"] = {{"bytes", std::filesystem::file_size(path)},
                             {"sha256", et_schema::digest_of_file(path)},
                             {"benchmark_hash", et_schema::benchmark_hash(bench)},
                             {"format_version", et_schema::kBenchVersion},
                             {"sources", std::move(sources)}};
  return {
      "certificate",
      "Certificate: what is in the file, not who made it",
      {facts_at(document, "/certificate",
                {counts("bytes"), texts("sha256"), texts("benchmark hash", "benchmark_hash"),
                 ids("format version", "format_version")}),
       table_at(document, "/certificate/sources", "Sources",
                {texts("file"), ids("rank"), counts("bytes"), texts("content hash", "content_hash"),
                 texts("filters"), texts("profile", "profile/file"),
                 texts("its hash", "profile/content_hash")})}};
}

}  // namespace understudy::cli
