// Writes the inputs from which the fuzzers of bench.et, the report and the predictor's readers
// start. format_seeds bench|report|predictor FOLDER

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "bench_property.h"
#include "et_schema/model/report.h"
#include "et_schema/support/output_file.h"
#include "predictor_property.h"

namespace {

std::vector<std::string> seeds_of(const std::string& target) {
  namespace et = understudy::et_schema;
  if (target == "bench") {
    return et::bench_seeds();
  }
  return target == "report" ? et::report_seeds() : understudy::predictor::predictor_seeds();
}

}  // namespace

int main(int argc, char** argv) {
  namespace et = understudy::et_schema;
  if (argc != 3) {
    std::fputs("usage: format_seeds bench|report|predictor FOLDER\n", stderr);
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
