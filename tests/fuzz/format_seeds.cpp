// Writes the inputs from which the fuzzers of bench.et, the report, its page and the predictor's
// readers start. format_seeds bench|report|page|predictor FOLDER

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "et_schema/base/output_file.h"
#include "et_schema/model/report.h"
#include "properties.h"

namespace {

/// A report's first byte chooses between a job and a rank: pages are of jobs.
std::vector<std::string> page_seeds() {
  std::vector<std::string> seeds;
  for (const std::string& seed : understudy::et_schema::report_seeds()) {
    if (seed.front() == '\0') {
      seeds.push_back(seed.substr(1));
    }
  }
  return seeds;
}

std::vector<std::string> seeds_of(const std::string& target) {
  namespace et = understudy::et_schema;
  if (target == "bench") {
    return et::bench_seeds();
  }
  if (target == "page") {
    return page_seeds();
  }
  return target == "report" ? et::report_seeds() : understudy::predictor::predictor_seeds();
}

}  // namespace

int main(int argc, char** argv) {
  namespace et = understudy::et_schema;
  if (argc != 3) {
    std::fputs("usage: format_seeds bench|report|page|predictor FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder(argv[2]);
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : seeds_of(argv[1])) {
    et::write_file_atomically(folder / std::to_string(number), seed);
    ++number;
  }
  return 0;
}
