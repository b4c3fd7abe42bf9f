#include "document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "cli/pages/bench/bench_document.h"
#include "cli/pages/document/account.h"
#include "cli/pages/document/walked.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/file_name.h"
#include "et_schema/base/json_record.h"
#include "et_schema/model/original_step.h"

namespace understudy::cli {

void members(auto& walk, et_schema::SameAs<KernelsMade::Failure> auto& failure) {
  walk("name", failure.name, "kernel");
  walk("why", failure.why, "why");
  walk("architecture", failure.architecture, "sm", et_schema::CellKind::kId);
}

void members(auto& walk, et_schema::SameAs<KernelsMade> auto& made) {
  walk("compiler", made.compiler, "compiled by");
  walk("kernels", made.kernels, "kernels compiled");
  walk("cubins", made.cubins, "cubins");
  walk("bytes", made.bytes, "bytes of them", et_schema::CellKind::kCount);
  walk("launches", made.launches, "instructions that launch them");
  walk("stubs", made.stubs, "instructions without machine code: stubs");
  walk("failures", made.failures, "Not compiled");
}

namespace {

using Json = nlohmann::ordered_json;
using pages::byte_counts, pages::counts, pages::facts_at, pages::ids, pages::table_at, pages::texts;
using pages::Section;

Json generated_json(const Generated& made) {
  Json document = {{"bench", made.path.empty() ? nullptr : Json(made.path)}, {"bytes", made.bytes}};
  document.update(pages::bench_json(made.bench));
  if (made.kernels) {
    document["kernels"] = et_schema::json_of(*made.kernels);
  }
  add_changes(document, made.changes);
  if (made.chakra) {
    document["chakra"] = chakra_json(*made.chakra);
  }
  return document;
}

/// Says which profiles of the input provided no times.
std::string unlinked_note(const Generated& made) {
  const bool is_of_profiles = made.bench.sources.front().schema.starts_with("kineto");
  return fmt::format("{}: {} beside the traces, first {}{}",
                     is_of_profiles ? "Left out" : "Not linked",
                     et_schema::counted(made.unlinked.size(), "profile"), made.unlinked.front(),
                     is_of_profiles ? ", which records no rank of the job" : "; see --profile");
}

Section kernels_section(const Json& document) {
  return {"kernels", "Kernels", pages::blocks_at<KernelsMade>(document, "/kernels")};
}

Section chakra_section(const Json& document) {
  return {
      "chakra",
      "Chakra traces",
      {table_at(document, "/chakra/ranks", "Chakra traces, and comm_groups.json",
                {texts("file"), ids("rank"), counts("nodes"), counts("on a device", "device_nodes"),
                 counts("communication", "communication_nodes"), counts("data edges", "data_edges"),
                 counts("order edges", "order_edges")}),
       facts_at(document, "/chakra", {byte_counts("of them", "bytes"), texts("in", "folder")}),
       pages::account_table(document, "/chakra/account", "the Chakra traces"),
       table_at(document, "/chakra/left_out", "What a Chakra trace cannot hold",
                {texts("loss", "name"), counts("count", "value")})}};
}

std::string title_of(const Generated& made) {
  const et_schema::Bench& bench = made.bench;
  const std::string ranks = et_schema::counted(bench.world_size(), "rank");
  const std::string partial =
      bench.partial ? fmt::format(" ({} of {}, each to be replayed alone)",
                                  fmt::join(bench.partial->ranks, ", "), bench.partial->world_size)
                    : "";
  const std::string made_of = ranks + partial;
  std::string disturbed = et_schema::disturbance_text(bench.programs);
  disturbed.insert(0, disturbed.empty() ? "" : "; ");
  return made.path.empty()
             ? fmt::format("Traces of {}{}", made_of, disturbed)
             : fmt::format("{}: the benchmark of {}, {}{}", et_schema::file_name(made.path),
                           made_of, et_schema::with_bytes(made.bytes), disturbed);
}

}  // namespace

pages::Page generated_page(const Generated& made) {
  const Json document = generated_json(made);
  pages::Page page;
  page.title = title_of(made);
  const et_schema::Account account = pages::account_of(made.bench);
  page.verdict = pages::verdict_on(account, "The benchmark");
  if (account.whole.host_ms == 0) {
    page.verdict.sentence = pages::bench_verdict(made.bench);
  }
  page.verdict.sentence.insert(0, pages::doubts_of(made.bench));
  std::uint64_t unknown = 0;
  for (const et_schema::Program& program : made.bench.programs) {
    unknown += program.losses[et_schema::Loss::kUnknownCommunication];
  }
  if (unknown > 0) {
    page.verdict.sentence.insert(
        0, fmt::format("Communication is missing: not understood in {} (unknown_communication). ",
                       et_schema::counted(unknown, "place")));
  }
  page.sections = pages::bench_sections(document, made.bench);
  if (!made.unlinked.empty()) {
    page.sections.front().blocks.emplace_back(pages::Notes{{unlinked_note(made)}});
  }
  if (made.chakra) {
    page.sections.push_back(chakra_section(document));
  }
  if (made.kernels) {
    page.sections.push_back(kernels_section(document));
  }
  add_change_sections(page, document, made.changes);
  return made_by("generate", std::move(page), document, "generated.json");
}

}  // namespace understudy::cli
