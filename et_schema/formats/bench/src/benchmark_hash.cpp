#include <fmt/format.h>

#include <string>

#include "et_schema/bench/bench.h"
#include "et_schema/bench/program_text.h"
#include "et_schema/support/content_hash.h"

namespace understudy::et_schema {

std::string benchmark_hash(const Bench& bench) {
  std::string hashes;
  for (const ProcessGroup& group : bench.groups) {
    hashes += fmt::format("{} {}", group.name, group.size);
    for (const auto rank : group.ranks) {
      hashes += fmt::format(" {}", rank);
    }
    hashes += '\n';
  }
  // One rank's text at a time: together they can be larger than the benchmark in memory.
  for (const Program& program : bench.programs) {
    hashes += fmt::format("{:016x}\n", content_hash(program_to_text(program)));
  }
  return fmt::format("{:016x}", content_hash(hashes));
}

}  // namespace understudy::et_schema
