#include "common/input_limit.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "et_schema/support/input_limit.h"
#include "et_schema/support/machine_memory.h"

namespace understudy::cli {
namespace {

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

}  // namespace

void add_max_input_option(CLI::App& app) {
  et_schema::set_process_limits(
      et_schema::limits_of_memory(et_schema::available_memory(), local_processes()));
  app.add_option_function<std::string>(
         "--max-input",
         [](const std::string& text) {
           const auto bytes = et_schema::parse_bytes(text);
           if (!bytes) {
             throw CLI::ValidationError(
                 "--max-input", fmt::format("{} is no number of bytes, as 8G, 512M or 4096", text));
           }
           et_schema::ReadLimits limits;
           limits.max_held_bytes = *bytes;
           et_schema::set_process_limits(limits);
         },
         "Refuse inputs that unpack to more than this: 8G, 512M, or a number of bytes (default: a "
         "quarter of the available memory)")
      ->type_name("BYTES");
}

}  // namespace understudy::cli
