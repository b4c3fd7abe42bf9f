// The libraries of the played card that stand on its driver.
#include <cublasLt.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capture/played/played.h"

namespace {

using Texts = std::vector<std::string>;

struct Library {
  const char* file;
  const char* title;
  std::int64_t status;
  Texts refused;
};

#define REFUSED(function) #function,
#define REFUSED_WITHOUT_STATUS(function)
#define TRIED(function)
#define ACCEPTED(function)
#define ERROR_TEXT(function)
#define NUMBER(name)
const Library kLibraries[] = {
    {"libcublas.so.13",
     "cuBLAS",
     CUBLAS_STATUS_NOT_SUPPORTED,
     {
#include "capture/played/names/cublas.txt"
     }},
    {"libcusolver.so.12",
     "cuSOLVER",
     9,
     {
#include "capture/played/names/cusolver.txt"
     }},
};

Texts told;

TEST(Unplayed, FunctionsFailAndSayTheirNames) {
  played_on_refusal([](const char* what) { told.emplace_back(what); });
  for (const auto& [file, title, status, refused] : kLibraries) {
    void* const library = dlopen((UNDERSTUDY_PLAYED "/" + std::string(file)).c_str(), RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    for (const auto& name : refused) {
      auto* const function = reinterpret_cast<std::int64_t (*)()>(dlsym(library, name.c_str()));
      ASSERT_NE(function, nullptr) << name;
      EXPECT_EQ(function(), status) << name;
      EXPECT_EQ(told, Texts{name + "() of " + title + " is not played"});
      told.clear();
    }
  }
}

Texts kernels;

class Played : public testing::Test {
 protected:
  void SetUp() override {
    played_listen([](const played::Launch& launch) { kernels.emplace_back(launch.work.name); });
    kernels.clear();
    played::Card card{};
    card.memory_bytes = 1U << 30;
    card.shared_opt_in = 65536;
    played_use(&card, 1);
    ASSERT_EQ(ncclMemAlloc(reinterpret_cast<void**>(&numbers), 4096), ncclSuccess);
    ncclCommInitRank(&comm, 2, {}, 1);
    played_know(numbers, 8);
    numbers[0] = 5;
    numbers[1] = 6;
  }
  void TearDown() override {
    ncclCommDestroy(comm);
    ncclMemFree(numbers);
  }

  std::int32_t* numbers = nullptr;
  ncclComm_t comm = nullptr;
};

TEST_F(Played, ProductTellsItsSizes) {
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t d = nullptr;
  const std::int32_t transposed = CUBLAS_OP_T;
  cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, 4);
  cublasLtMatrixLayoutCreate(&a, CUDA_R_16BF, 512, 1024, 512);
  cublasLtMatrixLayoutCreate(&d, CUDA_R_16BF, 1024, 64, 1024);
  cublasLtMatmul(nullptr, product, nullptr, nullptr, a, nullptr, a, nullptr, nullptr, d, numbers, d,
                 nullptr, nullptr, 0, nullptr);
  EXPECT_EQ(kernels, Texts{"cublasLt:Matmul tn 1024x64x512 type 14 batch 1 epilogue 1"});
  EXPECT_TRUE(played_is_assumed(numbers, 4));
}

TEST_F(Played, OthersHaveWhatThisRankHas) {
  ncclAllGather(numbers, numbers + 16, 2, ncclInt32, comm, nullptr);
  ncclAllReduce(numbers, numbers + 32, 2, ncclInt32, ncclSum, comm, nullptr);
  EXPECT_EQ(Texts(kernels), (Texts{"ncclDevKernel_AllGather(8 bytes, 1 calls, 2 ranks)",
                                   "ncclDevKernel_AllReduce_Sum_u32(8 bytes, 1 calls, 2 ranks)"}));
  EXPECT_EQ(std::vector(numbers + 16, numbers + 20), (std::vector{5, 6, 5, 6}));
  EXPECT_EQ(std::vector(numbers + 32, numbers + 34), (std::vector{10, 12}));
  EXPECT_FALSE(played_is_assumed(numbers + 16, 16) || played_is_assumed(numbers + 32, 8));
}

TEST_F(Played, MessagesOfOthersAreAssumed) {
  ncclBroadcast(numbers, numbers, 1, ncclInt32, 0, comm, nullptr);
  EXPECT_TRUE(played_is_assumed(numbers, 4));
}

TEST_F(Played, WhatNoCardTakesFails) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  cuModuleLoadData(&module, ".entry nothing()");
  cuModuleGetFunction(&function, module, "nothing");
  const auto set = [&](CUfunction_attribute attribute, int value) {
    return cuFuncSetAttribute(function, attribute, value);
  };
  const auto launch = [&](unsigned shared, unsigned cluster) {
    CUlaunchAttribute of_cluster{};
    of_cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    of_cluster.value.clusterDim = {cluster, 1, 1};
    const CUlaunchConfig config{cluster, 1, 1, 32, 1, 1, shared, nullptr, &of_cluster, 1};
    return cuLaunchKernelEx(&config, function, nullptr, nullptr);
  };
  EXPECT_EQ(launch(49152, 8), CUDA_SUCCESS);
  EXPECT_EQ(launch(49153, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(0, 9), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65537), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536), CUDA_SUCCESS);
  EXPECT_EQ(set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch(65536, 16), CUDA_SUCCESS);
  EXPECT_EQ(launch(0, 17), CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

TEST_F(Played, AWaitForTheCardFailsACapture) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaStreamCreate(&stream);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  cudaStreamDestroy(stream);
}

}  // namespace
