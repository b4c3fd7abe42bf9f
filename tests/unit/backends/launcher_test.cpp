#include "backends/launcher.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace understudy::backends {
namespace {

/// Without what a launcher of the tests themselves may have set.
class Launched : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
          "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
          "SLURM_NTASKS", "PMIX_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
          "MV2_COMM_WORLD_LOCAL_RANK", "PALS_LOCAL_RANKID", "FLUX_TASK_LOCAL_ID", "SLURM_LOCALID",
          "LOCAL_RANK"}) {
      unsetenv(name);
    }
  }
  static void set(const char* name, const char* value) { setenv(name, value, 1); }
};

TEST_F(Launched, ByHand) {
  EXPECT_FALSE(launched_world_size().has_value());
}

TEST_F(Launched, ByOpenMpi) {
  set("OMPI_COMM_WORLD_RANK", "3");
  set("OMPI_COMM_WORLD_SIZE", "8");
  set("PMIX_RANK", "3");
  EXPECT_EQ(launched_world_size(), 8);
}

TEST_F(Launched, ByMpich) {
  set("PMI_RANK", "0");
  set("PMI_SIZE", "2");
  EXPECT_EQ(launched_world_size(), 2);
}

TEST_F(Launched, BySrun) {
  set("SLURM_PROCID", "1");
  set("SLURM_NTASKS", "16");
  set("SLURM_STEP_NUM_TASKS", "4");
  EXPECT_EQ(launched_world_size(), 4);
}

TEST_F(Launched, BatchScriptThatHasNotCalledSrunIsNoLauncher) {
  set("SLURM_PROCID", "0");
  set("SLURM_NTASKS", "16");
  EXPECT_FALSE(launched_world_size().has_value());
}

TEST_F(Launched, ByPmixAloneTheSizeIsNotTold) {
  set("PMIX_RANK", "5");
  EXPECT_EQ(launched_world_size(), 0);
}

TEST_F(Launched, TextThatIsNoNumberDoesNotCount) {
  set("OMPI_COMM_WORLD_RANK", "0");
  set("OMPI_COMM_WORLD_SIZE", "8x");
  EXPECT_FALSE(launched_world_size().has_value());
  set("OMPI_COMM_WORLD_SIZE", "-1");
  EXPECT_FALSE(launched_world_size().has_value());
}

TEST_F(Launched, NumberOnTheHost) {
  EXPECT_FALSE(launched_local_rank().has_value());
  set("LOCAL_RANK", "5");
  EXPECT_EQ(launched_local_rank(), 5);
  set("SLURM_LOCALID", "2");
  EXPECT_EQ(launched_local_rank(), 2);
  set("OMPI_COMM_WORLD_LOCAL_RANK", "1");
  EXPECT_EQ(launched_local_rank(), 1);
  set("OMPI_COMM_WORLD_LOCAL_RANK", "one");
  EXPECT_EQ(launched_local_rank(), 2);
}

TEST(ModuleDirectory, IsBesideTheProgramsFolder) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(module_directory(),
            (program.parent_path().parent_path() / "lib" / "understudy").string());
}

}  // namespace
}  // namespace understudy::backends
