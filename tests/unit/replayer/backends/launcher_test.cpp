#include "replayer/backends/interface/launcher.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "et_schema/base/shared_library.h"
#include "replayer/backends/interface/roll_call.h"

namespace understudy::backends {
namespace {

/// Without what a launcher of the tests themselves may have set.
class Launched : public testing::Test {
 protected:
  void SetUp() override {
    std::istringstream names(
        "OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE MV2_COMM_WORLD_RANK "
        "MV2_COMM_WORLD_SIZE SLURM_PROCID SLURM_STEP_NUM_TASKS SLURM_NTASKS "
        "SLURM_STEP_NODELIST SLURM_JOB_ID SLURM_STEP_ID RANK WORLD_SIZE MASTER_ADDR "
        "MASTER_PORT PMIX_RANK OMPI_COMM_WORLD_LOCAL_RANK MPI_LOCALRANKID "
        "MV2_COMM_WORLD_LOCAL_RANK PALS_LOCAL_RANKID FLUX_TASK_LOCAL_ID SLURM_LOCALID "
        "LOCAL_RANK OMPI_COMM_WORLD_LOCAL_SIZE MPI_LOCALNRANKS MV2_COMM_WORLD_LOCAL_SIZE "
        "PALS_LOCAL_SIZE PMIX_NAMESPACE");
    for (std::string name; names >> name;) {
      unsetenv(name.c_str());
    }
  }
  static void set(const char* name, const char* value) { setenv(name, value, 1); }
};

TEST_F(Launched, ByHand) {
  EXPECT_FALSE(launched().has_value());
}

TEST_F(Launched, ByOpenMpi) {
  set("OMPI_COMM_WORLD_RANK", "3");
  set("OMPI_COMM_WORLD_SIZE", "8");
  set("PMIX_RANK", "3");
  EXPECT_EQ(launched()->world_size, 8);
  EXPECT_EQ(launched()->meeting, Launch::Meeting::kMpi);
}

TEST_F(Launched, TheRollCallNamesWhoIsMissing) {
  const auto come = [&](const char* rank) {
    set("OMPI_COMM_WORLD_RANK", rank);
    return std::make_unique<RollCall>();
  };
  set("OMPI_COMM_WORLD_SIZE", "4");
  EXPECT_EQ(come("0")->missing(), "some rank has not come to it") << "no job is named";
  set("PMIX_NAMESPACE", std::to_string(getpid()).c_str());
  EXPECT_EQ(come("0")->missing(), "some rank has not come to it") << "its hosts are not told";
  set("OMPI_COMM_WORLD_LOCAL_SIZE", "4");
  const auto first = come("0");
  EXPECT_EQ(first->missing(), "ranks 1, 2, 3 have not come to it");
  const auto second = come("1");
  EXPECT_EQ(come("3")->missing(), "rank 2 has not come to it");
  EXPECT_EQ(first->missing(), "ranks 2, 3 have not come to it") << "rank 3 has gone";
  set("OMPI_COMM_WORLD_LOCAL_SIZE", "3");
  EXPECT_EQ(first->missing(), "of the 3 ranks on this host 0, 1 have come to it");
  set("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
  EXPECT_EQ(first->missing(),
            "some rank of another host has not come to it, all 2 of this one have");
  const auto third = come("2");
  const auto last = come("3");
  EXPECT_EQ(first->missing(), "all ranks have come to it, and it does not end");
}

TEST_F(Launched, ByMpich) {
  set("PMI_RANK", "0");
  set("PMI_SIZE", "2");
  EXPECT_EQ(launched()->world_size, 2);
  EXPECT_EQ(launched()->meeting, Launch::Meeting::kMpi);
}

TEST_F(Launched, BySrunWithPmix) {
  set("SLURM_PROCID", "1");
  set("SLURM_NTASKS", "16");
  set("SLURM_STEP_NUM_TASKS", "4");
  set("PMIX_RANK", "1");
  EXPECT_EQ(launched()->world_size, 4);
  EXPECT_EQ(launched()->meeting, Launch::Meeting::kMpi);
}

TEST_F(Launched, BySrunWithoutPmiTheStepsFirstHostHoldsTheStore) {
  set("SLURM_PROCID", "1");
  set("SLURM_STEP_NUM_TASKS", "4");
  set("SLURM_JOB_ID", "123456");
  set("SLURM_STEP_ID", "2");
  for (const auto& [hosts, first] : {std::pair("gpu07", "gpu07"),
                                     {"a1,b2", "a1"},
                                     {"gpu[03-05,9],login", "gpu03"},
                                     {"x,gpu[1-2]", "x"}}) {
    set("SLURM_STEP_NODELIST", hosts);
    EXPECT_EQ(launched()->address, first);
  }
  EXPECT_EQ(launched()->meeting, Launch::Meeting::kStore);
  EXPECT_EQ(launched()->port, 23458);
  EXPECT_EQ(launched()->rank, 1);
  set("MASTER_ADDR", "head");
  set("MASTER_PORT", "29500");
  EXPECT_EQ(launched()->address, "head");
  EXPECT_EQ(launched()->port, 29500);
}

TEST_F(Launched, ByTorchrun) {
  set("RANK", "1");
  set("WORLD_SIZE", "2");
  EXPECT_EQ(launched()->address, "");
  set("MASTER_ADDR", "10.0.0.7");
  set("MASTER_PORT", "29500");
  EXPECT_EQ(launched()->meeting, Launch::Meeting::kStore);
  EXPECT_EQ(launched()->world_size, 2);
  EXPECT_EQ(launched()->rank, 1);
  EXPECT_EQ(launched()->address, "10.0.0.7");
  EXPECT_EQ(launched()->port, 29500);
  set("OMPI_COMM_WORLD_RANK", "0");
  set("OMPI_COMM_WORLD_SIZE", "4");
  EXPECT_EQ(launched()->world_size, 4) << "mpirun in a script of torchrun's";
}

TEST_F(Launched, BatchScriptThatHasNotCalledSrunIsNoLauncher) {
  set("SLURM_PROCID", "0");
  set("SLURM_NTASKS", "16");
  EXPECT_FALSE(launched().has_value());
}

TEST_F(Launched, ByPmixAloneTheSizeIsNotTold) {
  set("PMIX_RANK", "5");
  EXPECT_EQ(launched()->world_size, 0);
  EXPECT_EQ(launched()->meeting, Launch::Meeting::kMpi);
}

TEST_F(Launched, TextThatIsNoNumberDoesNotCount) {
  set("OMPI_COMM_WORLD_RANK", "0");
  set("OMPI_COMM_WORLD_SIZE", "8x");
  EXPECT_FALSE(launched().has_value());
  set("OMPI_COMM_WORLD_SIZE", "-1");
  EXPECT_FALSE(launched().has_value());
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
  EXPECT_EQ(et_schema::module_directory(),
            (program.parent_path().parent_path() / "lib" / "understudy").string());
}

}  // namespace
}  // namespace understudy::backends
