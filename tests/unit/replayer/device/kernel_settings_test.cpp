// What decides kernels: recorded, set, and read back.

#include "replayer/device/kernel_settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

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

TEST_F(KernelSettingsTest, AVariableOfTheUserCountsMore) {
  const Settings own = {{"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1"}};
  EXPECT_EQ(
      apply_kernel_settings({{"float32_matmul_precision", "high"}, {"sdp.flash", "off"}}, own),
      (Settings{{"float32_matmul_precision", "highest, recorded high"}, {"sdp.flash", "off"}}));
  EXPECT_EQ(at::globalContext().float32MatmulPrecision(), at::Float32MatmulPrecision::HIGHEST);
}

/// Each by itself, for LibTorch refuses to read one of two names for the same where the other was
/// set; LibTorch's default last, which then stays.
TEST_F(KernelSettingsTest, EachIsSetAndReadBack) {
  const std::vector<std::string> on = {"off", "on"};
  const std::vector<std::string> off = {"on", "off"};
  const std::vector<std::string> reductions = {"off", "off without split-k", "on"};
  const std::vector<std::string> of_cuda = {"tf32", "ieee", "none"};
  const std::vector<std::string> of_mkldnn = {"bf16", "tf32", "ieee", "none"};
  const std::map<std::string, std::vector<std::string>> values = {
      {"float32_matmul_precision", {"high", "medium", "highest"}},
      {"fp32_precision.cuda.matmul", of_cuda},
      {"fp32_precision.cuda.conv", of_cuda},
      {"fp32_precision.cuda.rnn", of_cuda},
      {"fp32_precision.mkldnn.matmul", of_mkldnn},
      {"fp32_precision.mkldnn.conv", of_mkldnn},
      {"fp32_precision.mkldnn.rnn", of_mkldnn},
      {"fp16_reduction", reductions},
      {"bf16_reduction", reductions},
      {"fp16_accumulation", off},
      {"cudnn.enabled", on},
      {"cudnn.benchmark", off},
      {"cudnn.benchmark_limit", {"0", "3", "10"}},
      {"cudnn.deterministic", off},
      {"mkldnn.enabled", on},
      {"mkldnn.deterministic", off},
      {"sdp.flash", on},
      {"sdp.mem_efficient", on},
      {"sdp.math", on},
      {"sdp.cudnn", on},
      {"sdp.priority",
       {"math cudnn flash mem_efficient overrideable",
        "flash mem_efficient math cudnn overrideable"}},
      {"blas_library", {"cublas"}},
      {"deterministic_algorithms", {"on", "warn", "off"}}};
  for (const auto& [name, texts] : values) {
    for (const std::string& text : texts) {
      EXPECT_EQ(apply_kernel_settings({{name, text}}), (Settings{{name, text}}));
    }
  }
}

TEST_F(KernelSettingsTest, WhatIsNotKnownIsShown) {
  EXPECT_EQ(apply_kernel_settings({{"warp_speed", "on"},
                                   {"cudnn.benchmark", "maybe"},
                                   {"cudnn.benchmark_limit", "-1"},
                                   {"sdp.priority", "flash math"},
                                   {"blas_library", "openblas"},
                                   {"fp32_precision.cuda.conv", "fp3"}}),
            (Settings{{"warp_speed", "unknown, recorded on"},
                      {"cudnn.benchmark", "unknown, recorded maybe"},
                      {"cudnn.benchmark_limit", "unknown, recorded -1"},
                      {"sdp.priority", "unknown, recorded flash math"},
                      {"blas_library", "unknown, recorded openblas"},
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

TEST_F(KernelSettingsTest, VariablesOfTheProcessThatDecideKernelsAreTold) {
  const Settings before = own_variables();
  setenv("DNNL_MAX_CPU_ISA", "SSE41", 1);
  setenv("MKL_CBWR", "COMPATIBLE", 1);
  setenv("UNDERSTUDY_OF_NO_USE", "1", 1);
  Settings expected = before;
  expected.insert({{"DNNL_MAX_CPU_ISA", "SSE41"}, {"MKL_CBWR", "COMPATIBLE"}});
  EXPECT_EQ(own_variables(), expected);
  unsetenv("DNNL_MAX_CPU_ISA");
  unsetenv("MKL_CBWR");
  unsetenv("UNDERSTUDY_OF_NO_USE");
}

TEST_F(KernelSettingsTest, WhatNamesThingsOfAHostIsToldAndNotSet) {
  EXPECT_EQ(apply_variables({{"NCCL_SOCKET_IFNAME", "none0"},
                             {"NCCL_IB_HCA", "mlx5_0"},
                             {"NCCL_COMM_ID", "kept on its host"},
                             {"NCCL_HOSTID", "a"},
                             {"NCCL_NET_GDR_LEVEL", "5"}}),
            (Settings{{"NCCL_SOCKET_IFNAME", "recorded, not set"},
                      {"NCCL_IB_HCA", "recorded, not set"},
                      {"NCCL_COMM_ID", "recorded, not set"},
                      {"NCCL_HOSTID", "recorded, not set"},
                      {"NCCL_NET_GDR_LEVEL", "recorded, not set"}}));
  EXPECT_EQ(std::getenv("NCCL_SOCKET_IFNAME"), nullptr);
}

TEST_F(KernelSettingsTest, ABenchmarkSetsNoOtherVariables) {
  for (const char* name :
       {"CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE", "CUDNN_CONV_WSCAP_DBG", "NCCL_ALGO",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
        "TORCH_BLAS_PREFER_CUBLASLT", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_LAUNCH_BLOCKING",
        "NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"}) {
    EXPECT_TRUE(is_kernel_variable(name, "x")) << name;
    EXPECT_FALSE(is_kernel_variable(name, "/a/path")) << name;
  }
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "OMP_NUM_THREADS", "HOME"}) {
    EXPECT_FALSE(is_kernel_variable(name, "x")) << name;
  }
}

}  // namespace
}  // namespace understudy::replayer
