// What decides kernels: recorded, set, and read back.

#include "replayer/device/kernel_settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace understudy::replayer {
namespace {

class KernelSettingsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    static_cast<void>(apply_kernel_settings({{"cudnn.benchmark", "off"},
                                             {"sdp.flash", "on"},
                                             {"cudnn.benchmark_limit", "10"},
                                             {"bf16_reduction", "on"},
                                             {"float32_matmul_precision", "highest"},
                                             {"deterministic_algorithms", "off"}}));
    unsetenv("CUBLAS_WORKSPACE_CONFIG");
  }
};

TEST_F(KernelSettingsTest, AreSetAndReadBack) {
  const Settings recorded = {{"cudnn.benchmark", "on"},
                             {"sdp.flash", "off"},
                             {"cudnn.benchmark_limit", "3"},
                             {"bf16_reduction", "off without split-k"},
                             {"float32_matmul_precision", "high"},
                             {"deterministic_algorithms", "warn"}};
  EXPECT_EQ(apply_kernel_settings(recorded), recorded);
  EXPECT_TRUE(at::globalContext().benchmarkCuDNN());
  EXPECT_FALSE(at::globalContext().userEnabledFlashSDP());
  EXPECT_EQ(at::globalContext().benchmarkLimitCuDNN(), 3);
  EXPECT_EQ(at::globalContext().float32MatmulPrecision(), at::Float32MatmulPrecision::HIGH);
  EXPECT_TRUE(at::globalContext().deterministicAlgorithmsWarnOnly());
}

TEST_F(KernelSettingsTest, WhatIsNotKnownIsShown) {
  EXPECT_EQ(apply_kernel_settings({{"warp_speed", "on"},
                                   {"cudnn.benchmark", "maybe"},
                                   {"cudnn.benchmark_limit", "-1"},
                                   {"fp32_precision.cuda.conv", "fp3"}}),
            (Settings{{"warp_speed", "unknown, recorded on"},
                      {"cudnn.benchmark", "unknown, recorded maybe"},
                      {"cudnn.benchmark_limit", "unknown, recorded -1"},
                      {"fp32_precision.cuda.conv", "unknown, recorded fp3"}}));
}

TEST_F(KernelSettingsTest, ThreadsAreToldAndStay) {
  const int own = at::get_num_threads();
  const std::string recorded = std::to_string(own + 1);
  EXPECT_EQ(apply_kernel_settings({{"threads", recorded}}),
            (Settings{{"threads", std::to_string(own) + ", recorded " + recorded}}));
  EXPECT_EQ(at::get_num_threads(), own);
}

TEST_F(KernelSettingsTest, VariablesAreSetWhereTheUserLeavesThemOpen) {
  EXPECT_EQ(apply_variables({{"CUBLAS_WORKSPACE_CONFIG", ":4096:8"}, {"LD_PRELOAD", "evil.so"}}),
            (Settings{{"CUBLAS_WORKSPACE_CONFIG", ":4096:8"}}));
  EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
  EXPECT_EQ(apply_variables({{"CUBLAS_WORKSPACE_CONFIG", ":16:8"}}),
            (Settings{{"CUBLAS_WORKSPACE_CONFIG", ":4096:8, recorded :16:8"}}));
}

TEST_F(KernelSettingsTest, ABenchmarkSetsNoOtherVariables) {
  EXPECT_TRUE(is_kernel_variable("NCCL_ALGO", "Ring"));
  EXPECT_TRUE(is_kernel_variable("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"));
  EXPECT_FALSE(is_kernel_variable("NCCL_TOPO_FILE", "/etc/topology.xml"));
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "OMP_NUM_THREADS", "HOME"}) {
    EXPECT_FALSE(is_kernel_variable(name, "x")) << name;
  }
}

}  // namespace
}  // namespace understudy::replayer
