#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What must hold for every input of a reader: it gives a valid result or throws Error (bad input)
/// with a message, and nothing else. Each property is a fuzz target, and a unit test over seeds and
/// seeded mutations of them. A violation throws std::logic_error or ends the process.
namespace understudy::fuzz {

void check_trace(std::string_view input);
void check_input_files(std::string_view input);
void check_kineto(std::string_view input);
/// Profiles as traces: what is made of one is a whole tree, and joins the profile again.
void check_profile_import(std::string_view input);
/// What other profilers counted in kernels: names can be shown, values are finite.
void check_counters(std::string_view input);
void check_capture(std::string_view input);
void check_chakra(std::string_view input);
void check_indices(std::string_view input);

/// Plans: an error has a sentence and a line of the file.
void check_plan(std::string_view input);

/// A trace to compile: the program made of it is written and read again as the same. Options and
/// number of ranks are chosen by the content.
void check_program(std::string_view input);
/// Texts of traces, for mutations: operator schemas that the rules on values know, names of labels
/// and collectives, types, devices.
[[nodiscard]] const std::vector<std::string_view>& trace_texts();

/// Operator maps: every row has a source that LibTorch's compiler has stack for, and names of
/// operators can be looked for.
void check_operator_map(std::string_view input);

/// Tables of operators: what is written of one reads back as the same calls.
void check_operator_table(std::string_view input);
/// Platform files: what is written of one reads back, and each of its devices predicts calls with
/// an interval around them.
void check_platform(std::string_view input);
/// A small platform file with every kind of model.
[[nodiscard]] std::vector<std::string> platform_seeds();

/// By the input's first byte: a question, a batch size, or a program of a few calls made of the
/// other bytes. Of a program with another batch size every size is the recorded one or has grown
/// with the batch, and lies within its storage.
void check_what_if(std::string_view input);

}  // namespace understudy::fuzz

namespace understudy::et_schema {

/// Benchmarks: what was read is written and read again as the same. The first byte chooses the
/// part: the whole file, the manifest, a program, or both packed into a zip.
void check_bench_property(std::string_view input);
[[nodiscard]] std::vector<std::string> bench_seeds();
/// The same for reports: of a job, or of one rank.
void check_report_property(std::string_view input);
[[nodiscard]] std::vector<std::string> report_seeds();

}  // namespace understudy::et_schema

namespace understudy::predictor {

/// The readers of what predictions are made from: by the input's first byte rows of collectives (of
/// any tool), rows of embedding tables, tables to place, sections of a platform, or profiles. What
/// is read comes back as written, and models fitted to it answer with finite times.
void check_predictor_property(std::string_view input);
[[nodiscard]] std::vector<std::string> predictor_seeds();

}  // namespace understudy::predictor

namespace understudy::pages {

/// A page's tags are of ours alone, none with a handler of events, its scripts those that every
/// page has, its data JSON.
void check_html(const std::string& html);
/// So is the page of any bytes that are read as a report. False: the bytes were refused.
bool check_page_property(std::string_view input);

}  // namespace understudy::pages

namespace understudy::cli {

/// What a fleet asks of `judge`, by the first byte: changes, drift, a page (g), platforms, a few
/// that stand for all (w), or a site. Tasks that read more files, and programs, are not tried.
void check_judge_property(std::string_view input);

}  // namespace understudy::cli
