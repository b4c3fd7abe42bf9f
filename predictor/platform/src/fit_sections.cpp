#include "predictor/platform/fit_sections.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/formats/kineto/kineto.h"
#include "predictor/calls/measured_files.h"
#include "predictor/collectives/models.h"
#include "predictor/embedding/fitted.h"

namespace understudy::predictor {
namespace {

void fit(const std::vector<CollectiveRow>& rows, FittedSections& sections) {
  const CollectiveModels models = fit_collectives(rows);
  sections.json["collectives"] = to_json(models);
  for (const Series& series : models.series) {
    std::vector<int> ranks;
    std::size_t sizes = 0;
    for (const SizeCurve& curve : series.curves) {
      ranks.push_back(curve.ranks);
      sizes += curve.ln_bytes.size();
    }
    const SeriesKey& key = series.key;
    sections.models.push_back(
        {"collectives",
         fmt::format(
             "{} {} on {}, {}{}, {} ranks", et_schema::to_string(key.kind),
             et_schema::to_string(key.dtype),
             !key.device.empty() ? key.device
             : key.on_device     ? "a device"
                                 : "hosts",
             key.ranks_per_node == 0 ? "1 node" : fmt::format("{} a node", key.ranks_per_node),
             key.network.empty() ? "" : " by " + key.network, fmt::join(ranks, " ")),
         "alpha_beta+residual", sizes, series.left_out});
  }
}

void fit(const std::vector<EmbeddingRow>& rows, FittedSections& sections) {
  const EmbeddingModel model = fit_embedding(rows);
  sections.json["embeddings"] = to_json(model);
  for (const auto& [name, fit] :
       {std::pair("forward", &model.forward), std::pair("backward", &model.backward)}) {
    sections.models.push_back(
        {"embeddings",
         fmt::format("{}, a cache of {:.3g} MiB", name, fit->cache_bytes / (1U << 20U)),
         "terms by reuse", fit->left_out.n, fit->left_out});
  }
}

void fit(const OverheadSamples& samples, FittedSections& sections) {
  const HostOverheads host = summarize(samples);
  sections.json["overheads"] = to_json(host);
  sections.models.push_back({"overheads",
                             fmt::format("{} operators", host.operators.size()),
                             fmt::format("gaps of {:.2f} us", host.gap.mean_ns / 1e3),
                             host.gap.n,
                             {}});
}

/// Reads a file or archive. Returns true if all of it holds rows of sections.
bool take_file(const std::string& path, SectionRows& rows, const SeeProfile& see_profile) {
  std::size_t taken = 0;
  std::size_t left = 0;
  et_schema::read_input_files(path, et_schema::process_limits(), [&](et_schema::InputFile&& file) {
    ++(add_section_file(file, rows, see_profile) ? taken : left);
  });
  if (taken > 0 && left > 0) {
    throw et_schema::bad_input("an archive of several kinds of measurements",
                               {.file = path,
                                .expected = "files of one kind",
                                .got = "rows of operators beside others",
                                .hint = "unpack it and give the files"});
  }
  return taken > 0;
}

/// Reads the section files below a folder. Operator tables are added to `others`, unknown files are
/// counted. A folder without section files is added to `others` as a whole.
void take_folder(const std::string& path, SectionRows& rows, const SeeProfile& see_profile,
                 std::vector<std::string>& others) {
  std::vector<std::string> tables;
  std::uint64_t unknown = 0;
  bool has_taken = false;
  for (const std::string& name : files_below(path)) {
    if (take_file(name, rows, see_profile)) {
      has_taken = true;
    } else if (is_named_table(name)) {
      tables.push_back(name);
    } else {
      ++unknown;
    }
  }
  if (!has_taken) {
    others.push_back(path);
    return;
  }
  others.insert(others.end(), tables.begin(), tables.end());
  if (unknown > 0) {
    rows.left_out["files that are no measurements"] += unknown;
  }
}

}  // namespace

bool SectionRows::empty() const {
  return collectives.empty() && embeddings.empty() && overheads.empty();
}

void add_collectives(ReadCollectives&& read, SectionRows& rows) {
  if (const auto alone =
          std::erase_if(read.rows, [](const CollectiveRow& row) { return row.ranks < 2; })) {
    rows.left_out["calls of one rank"] += alone;
  }
  rows.collectives.insert(rows.collectives.end(), read.rows.begin(), read.rows.end());
  for (const auto& [reason, count] : read.left_out) {
    rows.left_out[reason] += count;
  }
}

bool add_section_file(const et_schema::InputFile& file, SectionRows& rows,
                      const SeeProfile& see_profile) {
  if (names_format(file.data, "understudy-embedding-rows")) {
    const std::vector<EmbeddingRow> read = parse_embedding_rows(file.data, file.name);
    rows.embeddings.insert(rows.embeddings.end(), read.begin(), read.end());
  } else if (is_collective_rows(file.data)) {
    add_collectives(parse_collective_rows(file.data, file.name), rows);
  } else if (file.data.find("\"traceEvents\"") != std::string::npos) {
    const et_schema::Profile profile =
        et_schema::parse_kineto(file.data, file.name, et_schema::KinetoDetail::kArguments);
    merge(rows.overheads, observe(profile));
    rows.profiled.add(profile);
    if (see_profile) {
      see_profile(profile);
    }
  } else {
    return false;
  }
  return true;
}

std::vector<std::string> take_section_files(const std::vector<std::string>& paths,
                                            SectionRows& rows, int ranks_per_node,
                                            const SeeProfile& see_profile) {
  std::vector<std::string> others;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      take_folder(path, rows, see_profile, others);
    } else if (!take_file(path, rows, see_profile)) {
      others.push_back(path);
    }
  }
  add_collectives(std::exchange(rows.profiled, {}).rows(ranks_per_node), rows);
  return others;
}

FittedSections fit_sections(const SectionRows& rows) {
  FittedSections sections;
  if (!rows.collectives.empty()) {
    fit(rows.collectives, sections);
  }
  if (!rows.embeddings.empty()) {
    fit(rows.embeddings, sections);
  }
  if (!rows.overheads.empty()) {
    fit(rows.overheads, sections);
  }
  return sections;
}

}  // namespace understudy::predictor
