#include "common/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "common/run_main.h"
#include "et_schema/support/error.h"
#include "et_schema/support/input_limit.h"
#include "et_schema/support/machine_memory.h"
#include "et_schema/support/version.h"

namespace understudy::cli {
namespace {

/// Number of inserted, deleted and changed characters between two words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

/// The flag that was probably meant; empty if none is near.
std::string nearest_flag(const CLI::App& app, const std::string& flag) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      flags.push_back("--" + name);
    }
  }
  return nearest_word(flag, flags);
}

et_schema::Error usage(const CLI::App& app, std::string summary, std::string field, std::string got,
                       std::string hint) {
  if (hint.empty()) {
    hint = fmt::format("{} --help lists the flags", app.get_name());
  }
  return et_schema::usage_error(
      std::move(summary),
      {.field = std::move(field), .got = std::move(got), .hint = std::move(hint)});
}

void refuse_unknown(const CLI::App& app) {
  for (const std::string& argument : app.remaining()) {
    if (argument.starts_with('-')) {
      const std::string flag = argument.substr(0, argument.find('='));
      const std::string meant = nearest_flag(app, flag);
      throw usage(app, fmt::format("unknown flag {}", flag), {}, {},
                  meant.empty() ? std::string() : fmt::format("did you mean {}?", meant));
    }
  }
  if (!app.remaining().empty()) {
    throw usage(app, "one argument too many", {}, app.remaining().front(), {});
  }
}

/// A type of several words names each value: CLI11's " x 2" behind it would say it again.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::string again = fmt::format(" x {}", option->get_expected());
    const std::size_t at = text.find(again);
    if (option->get_type_name().find(' ') != std::string::npos && at != std::string::npos) {
      text.erase(at, again.size());
    }
    return text;
  }
};

std::string statuses_of(const ProgramText& text) {
  return fmt::format(
      "  0   {}\n"
      "  1   {}\n"
      "  2   usage error: wrong flags, or a world size, benchmark or library that does not match\n"
      "  65  an input file is missing or invalid\n"
      "  70  internal error (a bug)\n"
      "{}",
      text.success, text.failure, text.more_statuses);
}

/// Ranks on this host, as launchers tell it: Open MPI, MPICH and its kin, torchrun.
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

/// --max-input SIZE, which every program has. Without it the limit follows from the memory
/// available to this process and to those that a launcher started beside it.
void add_max_input_option(CLI::App& app) {
  et_schema::set_process_limits(
      et_schema::limits_of_memory(et_schema::available_memory(), local_processes()));
  add_text_option(
      app, "--max-input",
      [](const std::string& text) {
        const auto bytes = et_schema::parse_bytes(text);
        et_schema::ReadLimits limits;
        limits.max_held_bytes = bytes.value_or(0);
        if (bytes) {
          et_schema::set_process_limits(limits);
        }
        return bytes.has_value();
      },
      "no number of bytes, as 8G, 512M or 4096", "BYTES",
      "Refuse inputs that unpack to more than this: 8G, 512M, or a number of bytes (default: a "
      "quarter of the available memory)");
}

}  // namespace

std::string nearest_word(const std::string& word, const std::vector<std::string>& known) {
  constexpr std::size_t kAlwaysNear = 2;
  std::string nearest;
  std::size_t least = std::max(word.size() / 3, kAlwaysNear) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::unique_ptr<CLI::App> make_app(const ProgramText& text) {
  auto app = std::make_unique<CLI::App>(text.description, text.name);
  app->set_version_flag("--version", fmt::format("{} {}", text.name, et_schema::kToolVersion));
  app->footer(fmt::format("\nEXAMPLES\n{}\nEXIT STATUS\n{}", text.examples, statuses_of(text)));
  // Refused by parse_arguments(), which knows what was meant.
  app->allow_extras();
  auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(32);
  app->formatter(formatter);
  return app;
}

void refuse_if(bool is_wrong, const char* summary, const char* field, const char* expected,
               const char* got, const char* hint) {
  if (is_wrong) {
    throw et_schema::usage_error(summary,
                                 {.field = field, .expected = expected, .got = got, .hint = hint});
  }
}

std::optional<double> parse_percent(const std::string& text, double most) {
  const std::string number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  double percent = 0;
  const bool is_number = CLI::detail::lexical_cast(number, percent);
  return is_number && percent > 0 && percent <= most ? std::optional(percent) : std::nullopt;
}

void add_format_option(CLI::App& app, Format& format) {
  static const std::map<std::string, Format> kNames = {{"text", Format::kText},
                                                       {"json", Format::kJson},
                                                       {"csv", Format::kCsv},
                                                       {"html", Format::kHtml}};
  app.add_option_function<std::string>(
         "--format", [&format](const std::string& name) { format = kNames.at(name); },
         "How to print the result: text, json, csv or html (a page in one file)")
      ->check(CLI::IsMember({"text", "json", "csv", "html"}))
      ->type_name("FORMAT")
      ->default_str("text");
}

void add_quiet_option(CLI::App& app, bool& quiet, const std::string& result) {
  app.add_flag("-q,--quiet", quiet, "Nothing on standard error but errors; " + result);
}

void parse_arguments(CLI::App& app, int argc, char** argv) {
  add_max_input_option(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    throw Finished{};
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
    throw Finished{};
  } catch (const CLI::ParseError& error) {
    refuse_unknown(app);
    throw usage(app, "invalid arguments", {}, error.what(), {});
  }
  refuse_unknown(app);
}

}  // namespace understudy::cli
