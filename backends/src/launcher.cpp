#include "backends/launcher.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace understudy::backends {

namespace {

struct Launcher {
  const char* rank;
  const char* size;
};

// SLURM_STEP_NUM_TASKS and not SLURM_NTASKS: a batch script that has not called srun has the latter
// too, and so would every program in it that was started by hand.
constexpr std::array<Launcher, 4> kLaunchers = {{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                 {"PMI_RANK", "PMI_SIZE"},
                                                 {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                                 {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}}};

/// The number of a process among those of its host; torchrun's variable last, since a shell that
/// torchrun started may have started mpirun.
constexpr std::array<const char*, 7> kLocalRanks = {"OMPI_COMM_WORLD_LOCAL_RANK",
                                                    "MPI_LOCALRANKID",
                                                    "MV2_COMM_WORLD_LOCAL_RANK",
                                                    "PALS_LOCAL_RANKID",
                                                    "FLUX_TASK_LOCAL_ID",
                                                    "SLURM_LOCALID",
                                                    "LOCAL_RANK"};

constexpr const char* kPmixRank = "PMIX_RANK";

[[nodiscard]] std::optional<int> environment_number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) {
    return std::nullopt;
  }
  const std::string_view view(text);
  int number = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), number);
  if (error != std::errc() || end != view.data() + view.size() || number < 0) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::optional<int> launched_world_size() {
  for (const Launcher& launcher : kLaunchers) {
    const std::optional<int> size = environment_number(launcher.size);
    if (size.has_value() && environment_number(launcher.rank).has_value()) {
      return size;
    }
  }
  return environment_number(kPmixRank).has_value() ? std::optional<int>(0) : std::nullopt;
}

std::optional<int> launched_local_rank() {
  for (const char* const name : kLocalRanks) {
    if (const std::optional<int> rank = environment_number(name)) {
      return rank;
    }
  }
  return std::nullopt;
}

std::string module_directory() {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (program.parent_path().parent_path() / "lib" / "understudy").string();
}

}  // namespace understudy::backends
