#include "inspect/certificate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/json_csv.h"
#include "common/table.h"
#include "et_schema/bench/signature.h"
#include "et_schema/model/losses.h"
#include "et_schema/support/content_hash.h"
#include "et_schema/support/error.h"
#include "et_schema/support/file_name.h"
#include "et_schema/support/input_files.h"
#include "et_schema/support/read_file.h"
#include "et_schema/support/zip.h"
#include "inspect/certified_report.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using et_schema::InstructionKind;
using et_schema::Program;

constexpr int kCertificateVersion = 1;

/// What the instructions of all ranks are.
struct Contents {
  std::uint64_t operators = 0;  ///< selected
  std::uint64_t with_body = 0;  ///< that a recorded body can replace
  std::uint64_t pinned = 0;     ///< whose results were made before the run
  std::uint64_t native = 0;     ///< labels that did work
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
      contents.communication += instruction.kind == InstructionKind::kCollective ||
                                        instruction.kind == InstructionKind::kP2p
                                    ? 1U
                                    : 0U;
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
                  {"content_hash", hash_text(source.content_hash)},
                  {"schema", source.schema}};
    if (rank < bench.programs.size() && bench.programs[rank].profile) {
      const et_schema::RecordedProfile& profile = *bench.programs[rank].profile;
      entry["profile"] = {{"file", profile.file},
                          {"bytes", profile.bytes},
                          {"content_hash", hash_text(profile.content_hash)}};
    }
    list.push_back(std::move(entry));
  }
  return list;
}

/// Of all ranks they are the same but where ranks were compiled apart.
Json selection_of(const Bench& bench) {
  const et_schema::Selection& first = bench.programs.front().selection;
  return {{"step", first.step}, {"filters", first.filters}};
}

Json signed_by(const std::string& bytes, const std::string& path) {
  const std::optional<et_schema::PublicKey> signer = et_schema::find_signer(bytes, path);
  return signer ? Json(signer->hex()) : Json(nullptr);
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
          {"content_hash", hash_text(et_schema::content_hash(bytes))},
          {"benchmark_hash", benchmark_hash},
          {"tool_version", bench.tool_version},
          {"format_version", manifest.at("version")},
          {"world_size", bench.world_size()},
          {"recorded_world_size", bench.recorded_world_size()},
          {"licence", licence ? Json(*licence) : Json(nullptr)},
          {"signed_by", signed_by(bytes, path)},
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

std::string text_of(const Json& value) {
  return value.is_null()           ? "not stated"
         : value.is_string()       ? value.get<std::string>()
         : value.is_number_float() ? fmt::format("{:.6g}", value.get<double>())
                                   : value.dump();
}

void add_rows(TextTable& table, const Json& document, const std::vector<const char*>& keys) {
  for (const char* key : keys) {
    table.add({key, text_of(document.at(key))});
  }
}

std::string certificate_text(const Json& document) {
  TextTable head({{""}, {""}});
  add_rows(head, document,
           {"file", "bytes", "content_hash", "benchmark_hash", "tool_version", "format_version",
            "world_size", "recorded_world_size", "licence"});
  std::string text = "Certificate of a benchmark\n" + head.to_text();
  const Json& signer = document["signed_by"];
  text += signer.is_null() ? "\nNobody signed it: it says what is in the file, not who made it\n"
                           : fmt::format("\nSigned, all of it, by the owner of key\n  {}\n",
                                         signer.get<std::string>());
  text += document["sources"].empty() ? "\nSources: none stated\n" : "\nSources\n";
  TextTable sources({{"rank", Alignment::kRight},
                     {"file"},
                     {"bytes", Alignment::kRight},
                     {"content_hash"},
                     {"schema"},
                     {"profile"},
                     {"its hash"}});
  for (const Json& source : document["sources"]) {
    const bool has_profile = source.contains("profile");
    sources.add({text_of(source["rank"]), text_of(source["file"]), text_of(source["bytes"]),
                 text_of(source["content_hash"]), text_of(source["schema"]),
                 has_profile ? text_of(source["profile"]["file"]) : "-",
                 has_profile ? text_of(source["profile"]["content_hash"]) : "-"});
  }
  text += sources.empty() ? "" : sources.to_text();
  text += "\nContents, all ranks\n";
  TextTable contents({{""}, {"", Alignment::kRight}});
  add_rows(contents, document,
           {"operators", "communication", "replaceable_by_body", "pinned_results", "native_labels",
            "kernels"});
  text += contents.to_text();
  const Json& selection = document["selection"];
  text += fmt::format("\nStep: {}; filters: {}\n",
                      selection["step"].get<std::string>().empty()
                          ? "the whole trace"
                          : selection["step"].get<std::string>(),
                      selection["filters"].empty() ? "none" : selection["filters"].dump());
  for (const char* list : {"opened", "losses"}) {
    TextTable table({{list}, {"count", Alignment::kRight}});
    for (const auto& [name, count] : document[list].items()) {
      table.add({name, text_of(count)});
    }
    text += table.empty() ? "" : "\n" + table.to_text();
  }
  if (document["measured"].is_null()) {
    return text + "\nMeasured: nothing stated; --report adds what a replay measured\n";
  }
  text += "\nAs the report says, unchecked but for ranges and what its ranks add up to\n";
  TextTable measured({{""}, {""}});
  for (const auto& [name, value] : document["measured"].items()) {
    measured.add({name, text_of(value)});
  }
  return text + measured.to_text();
}

}  // namespace

std::string render_certificate(const std::string& path,
                               const std::optional<CertifiedReport>& report,
                               const std::optional<std::string>& licence, Format format) {
  const Json document = certificate_document(path, report, licence);
  return as_asked(format, document, [&] { return certificate_text(document); });
}

}  // namespace understudy::cli
