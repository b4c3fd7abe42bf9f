#include <csignal>
#include <iostream>
#include <iterator>
#include <sstream>

#include "cli/common/command_line.h"
#include "cli/common/verb.h"
#include "et_schema/base/processor.h"
#include "et_schema/base/version.h"
#include "fleet/analysis/change_points.h"
#include "fleet/process/node.h"
#include "tasks.h"

namespace understudy::cli {
namespace {

int judge(int argc, char** argv) {
  // If the parent process ignored SIGCHLD, the kernel would discard the exit status of Otava.
  std::signal(SIGCHLD, SIG_DFL);
  Task* task = nullptr;
  TaskOptions options;
  bool is_quiet = false;
  bool is_each_line = false;
  CommandLine line({.name = "understudy judge",
                    .description = "Answers what `understudy fleet` asks of a night, of jobs, of "
                                   "platforms: a JSON document on standard input "
                                   "(docs/formats.md, \"judge\").",
                    .examples = "  understudy judge platforms --format json <request.json",
                    .failure = "the page tells of an alarm, or a file cannot be used"});
  line.add_choice<Task*>("TASK",
                         {{"benchmarks", benchmarks_task},
                          {"changes", changes_task},
                          {"drift", drift_task},
                          {"night", night_task},
                          {"node", node_task},
                          {"page", page_task},
                          {"platforms", platforms_task},
                          {"results", results_task},
                          {"select", select_task},
                          {"site", site_task}},
                         task,
                         "What is asked: benchmarks, changes, drift, night, node, page, platforms, "
                         "results, select or site")
      .required();
  line.add("--otava PYTHON", options.otava, "A Python that has apache-otava, for `changes`");
  line.add("-o,--output PATH", options.output, "The file of `select`, the folder of `site`");
  line.add_flag("--lines", is_each_line, "Answer each line of standard input, as it comes");
  line.add_format(options.format);
  line.add_quiet(is_quiet, "no text on standard output");
  line.parse(argc, argv);
  if (options.otava.empty()) {
    options.otava = fleet::find_otava();
  }
  for (std::string text; is_each_line && std::getline(std::cin, text);) {
    std::istringstream request(text);
    print_output(task(request, options).text);
  }
  if (is_each_line) {
    return kStatusOk;
  }
  const Answer answer = task(std::cin, options);
  if (!is_quiet || options.format != Format::kText) {
    print_output(answer.text);
  }
  if (answer.error) {
    throw et_schema::Error(*answer.error);
  }
  return answer.status;
}

// Without a summary, --help does not list it: it is the fleet's, not the user's.
const Verb kJudge("judge", "", judge);

}  // namespace

Answer node_task(std::istream& /*request*/, const TaskOptions& /*options*/) {
  return json_answer({{"platform", fleet::default_platform()},
                      {"cores", et_schema::usable_cores()},
                      {"version", et_schema::kToolVersion}});
}

const et_schema::JsonSource& request_source() {
  static const et_schema::JsonSource kSource = {
      "standard input", "the request cannot be read",
      "docs/formats.md, \"judge\", has what each task reads"};
  return kSource;
}

std::string all_of(std::istream& request) {
  return {std::istreambuf_iterator<char>(request), {}};
}

nlohmann::ordered_json document_in(const std::string& text) {
  static_cast<void>(et_schema::parse_json(text, request_source()));
  return nlohmann::ordered_json::parse(text);
}

void of_document(const std::function<void()>& draw) {
  try {
    draw();
  } catch (const nlohmann::json::exception& error) {
    const et_schema::JsonSource& source = request_source();
    const std::string what = error.what();  // "[json.exception.…] key 'night' not found"
    throw et_schema::bad_input(source.summary, {.file = source.file,
                                                .expected = "a document of a fleet",
                                                .got = what.substr(what.find(' ') + 1),
                                                .hint = source.hint});
  }
}

Answer json_answer(const nlohmann::ordered_json& json) {
  return {et_schema::dump_lines(json, 0) + "\n"};
}

}  // namespace understudy::cli
