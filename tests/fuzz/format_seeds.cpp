// Writes the inputs from which the fuzzers of bench.et and the report start.
// format_seeds bench|report FOLDER

#include <cstdio>
#include <filesystem>
#include <string>

#include "bench_property.h"
#include "et_schema/model/report.h"
#include "et_schema/support/output_file.h"

int main(int argc, char** argv) {
  namespace et = understudy::et_schema;
  if (argc != 3) {
    std::fputs("usage: format_seeds bench|report FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder(argv[2]);
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed :
       std::string(argv[1]) == "bench" ? et::bench_seeds() : et::report_seeds()) {
    et::write_file_atomically(folder / std::to_string(number), seed);
    ++number;
  }
  return 0;
}
