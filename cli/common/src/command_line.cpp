#include "cli/common/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "cli/common/help.h"
#include "cli/common/own_program.h"
#include "cli/common/run_main.h"
#include "et_schema/base/error.h"
#include "et_schema/base/input_limit.h"
#include "et_schema/base/machine_memory.h"
#include "et_schema/base/nearest_word.h"
#include "et_schema/base/version.h"

namespace understudy::cli {
namespace {

/// Returns the flag that was probably meant; empty if none is near.
std::string nearest_flag(const CLI::App& app, const std::string& flag) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      flags.push_back("--" + name);
    }
  }
  return et_schema::nearest_word(flag, flags);
}

et_schema::Error usage(const CLI::App& app, std::string summary, std::string got,
                       const std::string& meant = {}) {
  return et_schema::usage_error(
      std::move(summary),
      {.got = std::move(got),
       .hint = meant.empty() ? fmt::format("{} --help lists the flags", app.get_name())
                             : fmt::format("did you mean {}?", meant)});
}

void refuse_unknown(const CLI::App& app, const std::map<std::string, std::string>& replaced) {
  for (const std::string& argument : app.remaining()) {
    if (argument.starts_with('-')) {
      const std::string flag = argument.substr(0, argument.find('='));
      const auto by = replaced.find(flag);
      throw usage(app, fmt::format("unknown flag {}", flag), {},
                  by == replaced.end() ? nearest_flag(app, flag) : by->second);
    }
  }
  if (!app.remaining().empty()) {
    throw usage(app, "one argument too many", app.remaining().front());
  }
}

std::string statuses_of(const ProgramText& text) {
  return fmt::format(
      "  0   {}\n"
      "  1   {}\n"
      "  2   usage error: wrong flags, or {}\n"
      "  65  an input file is missing or invalid\n"
      "  70  internal error (a bug)\n"
      "  74  an output could not be written\n"
      "{}",
      text.success, text.failure, text.mismatch, text.more_statuses);
}

/// Titles of FlagGroup, and of the flags that every program has.
constexpr std::array kTitles = {"Input", "What runs", "Measurement", "Output", "Trust", "Help"};
constexpr const char* kHelp = kTitles.back();

/// Returns "--profile FILE...", "TRACE...".
std::string flag_text(const CLI::Option& option) {
  const std::string type = option.get_positional() ? "" : option.get_type_name();
  const bool takes_more = option.get_allow_extra_args() && !type.ends_with("…") &&
                          option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
  return fmt::format("{}{}{}{}", option.get_name(option.get_positional(), true),
                     type.empty() ? "" : " ", type, takes_more ? "..." : "");
}

std::string description_of(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) {
    text += fmt::format(" (default: {})", option.get_default_str());
  }
  return option.get_required() && !option.get_positional() ? text + " (required)" : text;
}

std::string usage_line(const CLI::App& app) {
  std::string line = fmt::format("Usage: {} [OPTIONS]", app.get_name());
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      const std::string name = flag_text(*option);
      line += option->get_required() ? " " + name : fmt::format(" [{}]", name);
    }
  }
  return line;
}

/// Returns the number of ranks on this host from the variables of Open MPI, MPICH and torchrun.
int local_processes() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "LOCAL_WORLD_SIZE"}) {
    const char* const text = std::getenv(name);
    const int processes = text == nullptr ? 0 : std::atoi(text);
    if (processes > 0) {
      return processes;
    }
  }
  return 1;
}

/// Sets how much inputs may unpack to: UNDERSTUDY_MAX_INPUT, or else what follows from the memory
/// available to this process and to those that a launcher started beside it.
void limit_input() {
  et_schema::ReadLimits limits =
      et_schema::limits_of_memory(et_schema::available_memory(), local_processes());
  if (const char* text = std::getenv("UNDERSTUDY_MAX_INPUT"); text != nullptr) {
    const auto bytes = et_schema::parse_bytes(text);
    refuse_if(!bytes, "UNDERSTUDY_MAX_INPUT is no size", "UNDERSTUDY_MAX_INPUT",
              "8G, 512M, or a number of bytes", text);
    limits = {.max_held_bytes = *bytes};
  }
  et_schema::set_process_limits(limits);
}

/// Splits "-o,--output FILE" into "-o,--output" and "FILE".
std::pair<std::string, std::string> name_and_type(const std::string& flag) {
  const std::size_t blank = std::min(flag.find(' '), flag.size());
  return {flag.substr(0, blank), blank == flag.size() ? "" : flag.substr(blank + 1)};
}

/// Sets the name of the value's type. If empty, the variable's type remains: TEXT, INT, FLOAT.
Option named(CLI::Option* option, const std::string& type) {
  if (!type.empty()) {
    option->type_name(type);
  }
  return Option(*option);
}

}  // namespace

Option& Option::required() {
  option_.required();
  return *this;
}
Option& Option::shows_default(const std::string& text) {
  option_.default_str(text);
  return *this;
}
Option& Option::needs(const std::string& flag) {
  option_.needs(flag);
  return *this;
}
Option& Option::excludes(const std::vector<std::string>& flags) {
  for (const std::string& flag : flags) {
    option_.excludes(flag);
  }
  return *this;
}
Option& Option::is_within(int least, int most) {
  option_.check(CLI::Range(least, most).description(""));
  return *this;
}
Option& Option::is_within(double least, double most) {
  option_.check(CLI::Range(least, most).description(""));
  return *this;
}
Option& Option::is_one_of(const std::vector<std::string>& texts) {
  option_.check(CLI::IsMember(texts).description(""));
  return *this;
}
Option& Option::repeats() {
  option_.allow_extra_args(false);
  return *this;
}
Option& Option::takes(int least, int most) {
  option_.expected(least, most);
  return *this;
}
Option& Option::splits_at_commas() {
  option_.delimiter(',');
  return *this;
}

CommandLine::CommandLine(ProgramText text)
    : text_(std::move(text)), app_(std::make_unique<CLI::App>("", text_.name)) {
  app_->set_version_flag("--version", fmt::format("{} {}", text_.name, et_schema::kToolVersion))
      ->group(kHelp);
  app_->set_help_all_flag("--help-all")->group(kHelp);
  app_->get_help_ptr()->group(kHelp);
  // parse() rejects extra arguments, and suggests what was meant.
  app_->allow_extras();
  begin(FlagGroup::kInput);
}
CommandLine::~CommandLine() = default;

void CommandLine::begin(FlagGroup group) {
  app_->option_defaults()->group(kTitles.at(static_cast<std::size_t>(group)));
}

std::string CommandLine::help(bool shows_all) const {
  std::set<const CLI::Option*> common;
  for (const std::string& flag : text_.common) {
    common.insert(app_->get_option(flag));
  }
  std::vector<HelpRow> rows;
  std::size_t hidden = 0;
  for (const CLI::Option* option :
       app_->get_options([](const CLI::Option* one) { return one->get_group() != kHelp; })) {
    if (shows_all || common.empty() || option->get_positional() || common.contains(option)) {
      rows.push_back({option->get_group(), flag_text(*option), description_of(*option)});
    } else {
      ++hidden;
    }
  }
  const std::string more =
      fmt::format("Print {} more {}, too", hidden, hidden == 1 ? "flag" : "flags");
  rows.insert(rows.end(), {{kHelp, "-h,--help", "Print the usual flags, examples, exit statuses"},
                           {kHelp, "--help-all", hidden == 0 ? "Print all flags" : more},
                           {kHelp, "--version", "Print the version"}});
  return fmt::format("{}\n{}\n{}\nEXAMPLES\n{}\n\nEXIT STATUS\n{}", wrapped(text_.description),
                     usage_line(*app_), help_rows(kTitles, rows), text_.examples,
                     statuses_of(text_));
}

template <typename Value>
Option CommandLine::add(const std::string& flag, Value& value, const std::string& help) {
  const auto [name, type] = name_and_type(flag);
  CLI::Option* const option = app_->add_option(name, value, help);
  if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
    if (value != Value()) {
      option->capture_default_str();
    }
  }
  return named(option, type);
}
template Option CommandLine::add(const std::string&, std::string&, const std::string&);
template Option CommandLine::add(const std::string&, std::optional<std::string>&,
                                 const std::string&);
template Option CommandLine::add(const std::string&, std::vector<std::string>&, const std::string&);
template Option CommandLine::add(const std::string&, int&, const std::string&);
template Option CommandLine::add(const std::string&, std::optional<int>&, const std::string&);
template Option CommandLine::add(const std::string&, std::vector<int>&, const std::string&);
template Option CommandLine::add(const std::string&, std::optional<std::int64_t>&,
                                 const std::string&);
template Option CommandLine::add(const std::string&, std::uint64_t&, const std::string&);
template Option CommandLine::add(const std::string&, double&, const std::string&);
template Option CommandLine::add(const std::string&, std::optional<double>&, const std::string&);

Option CommandLine::add_text(const std::string& flag, const Read& read, const std::string& wrong,
                             const std::string& help) {
  const auto [name, type] = name_and_type(flag);
  const auto take = [name = name, read, wrong](const std::string& text) {
    if (!read(text)) {
      throw CLI::ValidationError(name, text + " is " + wrong);
    }
  };
  return named(app_->add_option_function<std::string>(name, take, help), type);
}

Option CommandLine::add_list(const std::string& flag, const ReadList& read,
                             const std::string& help) {
  const auto [name, type] = name_and_type(flag);
  const auto take = [name = name, read](const std::vector<std::string>& texts) {
    if (const std::string wrong = read(texts); !wrong.empty()) {
      throw CLI::ValidationError(name, wrong);
    }
  };
  return named(app_->add_option_function<std::vector<std::string>>(name, take, help), type);
}

Option CommandLine::add_flag(const std::string& flag, bool& is_given, const std::string& help) {
  return Option(*app_->add_flag(flag, is_given, help));
}
Option CommandLine::add_flag(const std::string& flag, const std::function<void()>& set,
                             const std::string& help) {
  return Option(*app_->add_flag_callback(flag, set, help));
}

void CommandLine::add_format(Format& format) {
  begin(FlagGroup::kOutput);
  add_choice("--format FORMAT",
             {{"text", Format::kText},
              {"json", Format::kJson},
              {"csv", Format::kCsv},
              {"html", Format::kHtml}},
             format, "How to print the result: text, json, csv or html (a page in one file)");
}

void CommandLine::add_quiet(bool& quiet, const std::string& result) {
  begin(FlagGroup::kOutput);
  add_flag("-q,--quiet", quiet, "Nothing on standard error but errors; " + result);
}

bool CommandLine::is_given(const std::string& flag) const {
  return app_->count(flag) > 0;
}

std::string CommandLine::first_given(std::initializer_list<const char*> flags) const {
  const auto* const given =
      std::ranges::find_if(flags, [this](const char* flag) { return is_given(flag); });
  return given == flags.end() ? "" : *given;
}

void CommandLine::parse(int argc, char** argv) {
  limit_input();
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print_output(as_found_here(help(false)));
    throw Finished{};
  } catch (const CLI::CallForAllHelp&) {
    print_output(as_found_here(help(true)));
    throw Finished{};
  } catch (const CLI::CallForVersion& version) {
    print_output(fmt::format("{}\n", version.what()));
    throw Finished{};
  } catch (const CLI::ParseError& error) {
    refuse_unknown(*app_, replaced_);
    throw usage(*app_, "invalid arguments", error.what());
  }
  refuse_unknown(*app_, replaced_);
}

void refuse_if(bool is_wrong, const std::string& summary, const std::string& field,
               const std::string& expected, const std::string& got, const std::string& hint,
               const std::string& file) {
  if (is_wrong) {
    throw et_schema::usage_error(
        summary, {.file = file, .field = field, .expected = expected, .got = got, .hint = hint});
  }
}

std::optional<double> parse_number(const std::string& text) {
  double number = 0;
  return CLI::detail::lexical_cast(text, number) ? std::optional(number) : std::nullopt;
}

std::optional<double> parse_percent(const std::string& text, double most) {
  const std::optional<double> percent =
      parse_number(text.ends_with('%') ? text.substr(0, text.size() - 1) : text);
  return percent && *percent > 0 && *percent <= most ? percent : std::nullopt;
}

}  // namespace understudy::cli
