#include "cli/common/command_line.h"

#include <gtest/gtest.h>

#include "cli/common/run_main.h"
#include "testing/error_text.h"

namespace understudy::cli {
namespace {

struct Parsed {
  std::vector<std::string> paths;
  Format format{};
  bool verbose = false;
};

Parsed parse(std::vector<std::string> arguments) {
  Parsed parsed;
  CommandLine line({.name = "tool",
                    .description = "Does a thing.",
                    .examples = "  tool x",
                    .common = {"--format"}});
  line.add("PATH", parsed.paths, "Where").required();
  line.begin(FlagGroup::kRuns);
  line.add_flag("--verbose", parsed.verbose, "More");
  line.add_format(parsed.format);
  arguments.insert(arguments.begin(), "tool");
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  line.parse(static_cast<int>(argv.size()), argv.data());
  return parsed;
}

std::string error_of(const std::vector<std::string>& arguments) {
  return testing_errors::error_of(et_schema::ErrorKind::kUsage, [&] { return parse(arguments); });
}

TEST(CommandLine, ReadsFlagsAndPaths) {
  const Parsed parsed = parse({"a", "--format", "csv", "b", "--verbose"});
  EXPECT_EQ(parsed.paths, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parsed.format, Format::kCsv);
  EXPECT_TRUE(parsed.verbose);
  EXPECT_EQ(parse({"a", "--format=json"}).format, Format::kJson);
}

TEST(CommandLine, UnknownFlagsNameTheNearestOne) {
  EXPECT_EQ(error_of({"a", "--verbos"}),
            "unknown flag --verbos\n"
            "  hint:     did you mean --verbose?");
  EXPECT_EQ(error_of({"a", "--fromat=json"}),
            "unknown flag --fromat\n  hint:     did you mean --format?");
  EXPECT_EQ(error_of({"a", "--xyzzy-plugh"}),
            "unknown flag --xyzzy-plugh\n"
            "  hint:     tool --help lists the flags");
  EXPECT_EQ(error_of({"--verbos"}), error_of({"a", "--verbos"}));  // PATH is missing, too
}

TEST(CommandLine, ValuesThatDoNotFit) {
  EXPECT_EQ(error_of({}),
            "invalid arguments\n"
            "  got:      PATH is required\n"
            "  hint:     tool --help lists the flags");
  EXPECT_EQ(error_of({"a", "--format", "xml"}),
            "invalid arguments\n"
            "  got:      --format: xml not in {text,json,csv,html}\n"
            "  hint:     tool --help lists the flags");
}

std::string output_of(const std::string& flag) {
  testing::internal::CaptureStdout();
  EXPECT_THROW(static_cast<void>(parse({flag})), Finished);
  return testing::internal::GetCapturedStdout();
}

TEST(CommandLine, HelpShowsTheUsualFlagsByGroup) {
  EXPECT_TRUE(output_of("--help").starts_with(
      "Does a thing.\nUsage: tool [OPTIONS] PATH...\n\n"
      "Input\n  PATH...                     Where\n\n"
      "Output\n  --format FORMAT             How to print the result: text, json, csv or html (a "
      "page in one file)\n                              (default: text)\n\n"
      "Help\n  -h,--help                   Print the usual flags, examples, exit statuses\n"
      "  --help-all                  Print 1 more flag, too\n"
      "  --version                   Print the version\n\nEXAMPLES\n  tool x\n"));
  EXPECT_NE(output_of("--help-all").find("\nWhat runs\n  --verbose                   More\n"),
            std::string::npos);
  EXPECT_EQ(output_of("--version"), "tool " UNDERSTUDY_VERSION "\n");
}

}  // namespace
}  // namespace understudy::cli
