#pragma once

#include <functional>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "cli/pages/document/page.h"
#include "et_schema/base/error.h"
#include "et_schema/base/json_record.h"
#include "et_schema/model/report.h"

namespace understudy::cli {

// A task of `judge` reads one JSON document, its request, and answers (docs/formats.md, "judge").
// Requests are made of a fleet's database, which somebody else may have written.

/// What the command line alone says.
struct TaskOptions {
  Format format = Format::kText;
  std::string output = {};  ///< a file for `select`, a folder for `site`
  std::string otava = {};   ///< a Python that has Otava; empty: none
};

struct Answer {
  std::string text = {};
  int status = kStatusOk;
  std::optional<et_schema::Error> error = {};  ///< to be told after the text
};

using Task = Answer(std::istream& request, const TaskOptions& options);
Task benchmarks_task, changes_task, drift_task, night_task, node_task, page_task, platforms_task,
    results_task, select_task, site_task;

/// What `site` asks for, page by page, without the folder.
using TakePage = std::function<void(const std::string& file, const pages::Page& page)>;
void draw_site(std::istream& lines, const TakePage& take);

/// Where a request comes from, for errors.
[[nodiscard]] const et_schema::JsonSource& request_source();

[[nodiscard]] std::string all_of(std::istream& request);

/// Reads the request. Throws Error (bad input) with the field that is wrong.
template <typename Request>
[[nodiscard]] Request request_in(const std::string& text) {
  const nlohmann::json document = et_schema::parse_json(text, request_source());
  return et_schema::read_json<Request>(et_schema::JsonField(document, request_source()));
}

/// Reads the list `key` of a request. Throws as request_in() does.
template <typename Row>
[[nodiscard]] std::vector<Row> list_in(const std::string& text, const char* key,
                                       const auto&... how) {
  const nlohmann::json document = et_schema::parse_json(text, request_source());
  const et_schema::JsonField request(document, request_source());
  return et_schema::read_json<std::vector<Row>>(request.at(key), how...);
}

/// Returns a document that is shown, so its keys keep their order. Throws Error (bad input) if it
/// is no JSON, or nested deeper than any of the project's formats.
[[nodiscard]] nlohmann::ordered_json document_in(const std::string& text);

/// Calls `draw`, which reads a fleet's document. Throws Error (bad input) where it is none.
void of_document(const std::function<void()>& draw);

/// Returns an answer of one line.
[[nodiscard]] Answer json_answer(const nlohmann::ordered_json& json);

/// Reads a report, or the zip that a fleet's store holds of one. Throws Error (bad input) if the
/// file is neither.
[[nodiscard]] et_schema::Report read_stored_report(const std::string& file);

/// Returns true if something broke or got slower that no earlier night reported. `night`: the
/// summary of a night ("understudy-night").
[[nodiscard]] bool has_alarm(const nlohmann::ordered_json& night);

/// Returns the summary as a document. A site adds `work` to the summary: the night's work, item by
/// item.
[[nodiscard]] pages::Page night_page(const nlohmann::ordered_json& night);

/// Completes a job's history ("understudy-fleet-history"): turns the events of each series into its
/// changes, and the name of each replay into the file of its page.
void complete_history(nlohmann::ordered_json& history);

}  // namespace understudy::cli
