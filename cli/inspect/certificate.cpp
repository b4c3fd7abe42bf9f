#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/pages/document/from_json.h"
#include "documents.h"
#include "et_schema/base/digest.h"
#include "et_schema/base/error.h"
#include "et_schema/base/file_name.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/read_file.h"
#include "et_schema/base/zip.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/open_comms.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using et_schema::InstructionKind;
using et_schema::Program;
using pages::CellKind;
using pages::counts, pages::fact_at, pages::facts_at, pages::ids, pages::losses_at, pages::table_at,
    pages::texts;

constexpr int kCertificateVersion = 1;

/// Counts of the instructions of all ranks by kind.
struct Contents {
  std::uint64_t operators = 0;  ///< number of selected operators
  std::uint64_t with_body = 0;  ///< operators that a recorded body can replace
  std::uint64_t pinned = 0;     ///< operators whose results were made before the run
  std::uint64_t native = 0;     ///< labels that launched work
  std::uint64_t kernels = 0;
  std::uint64_t communication = 0;
  std::map<std::string, std::uint64_t> opened;  ///< by reason
  et_schema::Losses losses;
};

Contents contents_of(const Bench& bench) {
  Contents contents;
  for (const Program& program : bench.programs) {
    contents.operators += program.selection.operators;
    contents.losses += program.losses;
    for (const et_schema::Opened& opened : program.selection.opened) {
      contents.opened[opened.reason] += opened.count;
    }
    for (const et_schema::Instruction& instruction : program.instructions) {
      contents.with_body += instruction.body.empty() ? 0U : 1U;
      contents.pinned += instruction.pinned ? 1U : 0U;
      contents.native += instruction.kind == InstructionKind::kNative ? 1U : 0U;
      contents.kernels += instruction.kind == InstructionKind::kKernel ? 1U : 0U;
      contents.communication += is_communication(instruction) ? 1U : 0U;
    }
  }
  return contents;
}

Json sources_of(const Bench& bench) {
  Json list = Json::array();
  for (std::size_t rank = 0; rank < bench.sources.size(); ++rank) {
    const et_schema::Source& source = bench.sources[rank];
    Json entry = {{"rank", bench.recorded_rank(rank)},
                  {"file", source.file},
                  {"bytes", source.bytes},
                  {"content_hash", fmt::format("{:016x}", source.content_hash)},
                  {"schema", source.schema}};
    if (rank < bench.programs.size() && bench.programs[rank].profile) {
      const et_schema::RecordedProfile& profile = *bench.programs[rank].profile;
      entry["profile"] = {{"file", profile.file},
                          {"bytes", profile.bytes},
                          {"content_hash", fmt::format("{:016x}", profile.content_hash)}};
    }
    list.push_back(std::move(entry));
  }
  return list;
}

/// Returns the selection. All ranks have the same unless they were compiled separately.
Json selection_of(const Bench& bench) {
  const et_schema::Selection& first = bench.programs.front().selection;
  return {{"step", first.step}, {"filters", first.filters}};
}

Json certificate_document(const std::string& path, const std::optional<CertifiedReport>& report,
                          const std::optional<std::string>& licence) {
  const std::string bytes = et_schema::read_file(path, et_schema::process_limits());
  const Bench bench = et_schema::read_bench_bytes(bytes, path);
  const Contents contents = contents_of(bench);
  const auto members = et_schema::unzip(bytes, path, et_schema::process_limits());
  const Json manifest = Json::parse(members.at("manifest.json"));
  const std::string benchmark_hash = et_schema::benchmark_hash(bench);
  return {{"format", "understudy-certificate"},
          {"version", kCertificateVersion},
          {"file", et_schema::file_name(path)},
          {"bytes", bytes.size()},
          {"sha256", et_schema::digest_of(bytes)},
          {"benchmark_hash", benchmark_hash},
          {"tool_version", bench.tool_version},
          {"format_version", manifest.at("version")},
          {"world_size", bench.world_size()},
          {"recorded_world_size", bench.recorded_world_size()},
          {"licence", licence ? Json(*licence) : Json(nullptr)},
          {"sources", sources_of(bench)},
          {"selection", selection_of(bench)},
          {"operators", contents.operators},
          {"communication", contents.communication},
          {"replaceable_by_body", contents.with_body},
          {"pinned_results", contents.pinned},
          {"native_labels", contents.native},
          {"kernels", contents.kernels},
          {"opened", contents.opened},
          {"losses", contents.losses.nonzero()},
          {"measured", report ? measured_by(*report, bench, benchmark_hash) : Json(nullptr)}};
}

/// Returns a fact for each member.
pages::Facts facts_of(const Json& document, const std::string& at,
                      const std::vector<std::string>& keys) {
  pages::Facts facts;
  for (const std::string& key : keys) {
    std::string name = key;
    std::ranges::replace(name, '_', ' ');
    const bool is_count = document.at(Json::json_pointer(at + key)).is_number_integer();
    const bool is_number = document.at(Json::json_pointer(at + key)).is_number();
    facts.push_back(fact_at(document, at + key, name,
                            is_count    ? CellKind::kCount
                            : is_number ? CellKind::kFigure
                                        : CellKind::kText));
  }
  return facts;
}

pages::Section measured_section(const Json& document) {
  pages::Section section{
      "measured", "As the report says, unchecked but for ranges and what its ranks add up to", {}};
  if (document["measured"].is_null()) {
    section.title = "Measured";
    section.blocks.emplace_back(
        pages::Notes{{"Nothing is stated; --report adds what a replay measured."}});
    return section;
  }
  std::vector<std::string> keys;
  for (const auto& [key, value] : document["measured"].items()) {
    keys.push_back(key);
  }
  section.blocks.emplace_back(facts_of(document, "/measured/", keys));
  return section;
}

pages::Section contents_section(const Json& document) {
  return {"contents",
          "Contents, all ranks",
          {facts_of(document, "/",
                    {"operators", "communication", "replaceable_by_body", "pinned_results",
                     "native_labels", "kernels"}),
           facts_at(document, "/selection",
                    {texts("step (none: the whole trace)", "step"), texts("filters")}),
           table_at(document, "/opened", "Operators that were opened",
                    {texts("reason", "name"), counts("count", "value")}),
           losses_at(document, "/losses")}};
}

pages::Section sources_section(const Json& document) {
  pages::Table sources =
      table_at(document, "/sources", "Sources",
               {texts("file"), ids("rank"), counts("bytes"), texts("content hash", "content_hash"),
                texts("schema"), texts("profile", "profile/file"),
                texts("its hash", "profile/content_hash")});
  return {"sources",
          "Sources",
          {sources.rows.empty() ? pages::Block(pages::Notes{{"None is stated."}})
                                : pages::Block(std::move(sources))}};
}

}  // namespace

pages::Page certificate_page(const std::string& path, const std::optional<CertifiedReport>& report,
                             const std::optional<std::string>& licence) {
  const Json document = certificate_document(path, report, licence);
  pages::Page page;
  page.title = "Certificate of a benchmark";
  page.verdict.sentence = "It says what is in the file, not who made it.";
  page.sections = {{"file",
                    "The file",
                    {facts_of(document, "/",
                              {"file", "bytes", "sha256", "benchmark_hash", "tool_version",
                               "format_version", "world_size", "recorded_world_size", "licence"})}},
                   sources_section(document),
                   contents_section(document),
                   measured_section(document)};
  return made_by("inspect", std::move(page), document, "certificate.json");
}

}  // namespace understudy::cli
