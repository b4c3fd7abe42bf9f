#include "cli/common/command_line.h"

#include <gtest/gtest.h>

#include "cli/common/run_main.h"
#include "testing/error_text.h"

namespace understudy::cli {
namespace {

struct Parsed {
  std::vector<std::string> paths;
  Format format = Format::kText;
  bool verbose = false;
};

Parsed parse(std::vector<std::string> arguments) {
  Parsed parsed;
  CommandLine line(
      {.name = "tool", .description = "Does a thing.", .examples = "  tool x   does it to x\n"});
  line.add("PATH", parsed.paths, "Where").required();
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
            "unknown flag --fromat\n"
            "  hint:     did you mean --format?");
  EXPECT_EQ(error_of({"a", "--xyzzy-plugh"}),
            "unknown flag --xyzzy-plugh\n"
            "  hint:     tool --help lists the flags");
}

TEST(CommandLine, UnknownFlagIsToldEvenIfSomethingElseIsMissing) {
  EXPECT_EQ(error_of({"--verbos"}),
            "unknown flag --verbos\n"
            "  hint:     did you mean --verbose?");
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

TEST(CommandLine, HelpAndVersionGoToStandardOutput) {
  testing::internal::CaptureStdout();
  EXPECT_THROW(static_cast<void>(parse({"--help"})), Finished);
  const std::string help = testing::internal::GetCapturedStdout();
  const std::string end =
      "\nEXAMPLES\n"
      "  tool x   does it to x\n"
      "\n"
      "EXIT STATUS\n"
      "  0   success\n"
      "  1   the run failed\n"
      "  2   usage error: wrong flags, or a world size, benchmark or library that does not match\n"
      "  65  an input file is missing or invalid\n"
      "  70  internal error (a bug)\n\n";
  EXPECT_TRUE(help.ends_with(end)) << help;
  testing::internal::CaptureStdout();
  EXPECT_THROW(static_cast<void>(parse({"--version"})), Finished);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "tool " UNDERSTUDY_VERSION "\n");
}

}  // namespace
}  // namespace understudy::cli
