// What replayer/backends/nccl declares of NCCL and of CUDA's driver, held against their own
// headers, where the toolkit is there: numbers, types of functions, and the versions in the
// driver's names.
#include <cuda.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "nccl_library.h"

#define UNDERSTUDY_NAME_OF(symbol) #symbol
#define UNDERSTUDY_NAME(symbol) std::string_view(UNDERSTUDY_NAME_OF(symbol))

namespace understudy::backends {
namespace {

static_assert(static_cast<int>(NcclDType::kInt8) == ncclInt8);
static_assert(static_cast<int>(NcclDType::kUInt8) == ncclUint8);
static_assert(static_cast<int>(NcclDType::kInt32) == ncclInt32);
static_assert(static_cast<int>(NcclDType::kUInt32) == ncclUint32);
static_assert(static_cast<int>(NcclDType::kInt64) == ncclInt64);
static_assert(static_cast<int>(NcclDType::kUInt64) == ncclUint64);
static_assert(static_cast<int>(NcclDType::kFloat16) == ncclFloat16);
static_assert(static_cast<int>(NcclDType::kFloat32) == ncclFloat32);
static_assert(static_cast<int>(NcclDType::kFloat64) == ncclFloat64);
static_assert(static_cast<int>(NcclDType::kBFloat16) == ncclBfloat16);
static_assert(static_cast<int>(NcclOp::kSum) == ncclSum);
static_assert(static_cast<int>(NcclOp::kProduct) == ncclProd);
static_assert(static_cast<int>(NcclOp::kMax) == ncclMax);
static_assert(static_cast<int>(NcclOp::kMin) == ncclMin);
static_assert(static_cast<int>(NcclOp::kAvg) == ncclAvg);
static_assert(ncclSuccess == 0 && ncclInProgress == 7);
static_assert(sizeof(ncclUniqueId) == kNcclIdBytes && sizeof(int) == sizeof(ncclDataType_t) &&
              sizeof(int) == sizeof(ncclRedOp_t) && sizeof(int) == sizeof(ncclResult_t));
static_assert(std::is_same_v<decltype(&ncclCommInitRankConfig),
                             ncclResult_t (*)(ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*)>);
static_assert(std::is_same_v<decltype(&ncclCommSplit),
                             ncclResult_t (*)(ncclComm_t, int, int, ncclComm_t*, ncclConfig_t*)>);
static_assert(NCCL_SPLIT_NOCOLOR == -1);
static_assert(std::is_same_v<decltype(&ncclCommRegister),
                             ncclResult_t (*)(ncclComm_t, void*, std::size_t, void**)>);
static_assert(std::is_same_v<decltype(&ncclCommDeregister), ncclResult_t (*)(ncclComm_t, void*)>);
static_assert(offsetof(ncclConfig_t, size) == offsetof(NcclConfig, size) &&
              offsetof(ncclConfig_t, magic) == offsetof(NcclConfig, magic) &&
              offsetof(ncclConfig_t, version) == offsetof(NcclConfig, version) &&
              offsetof(ncclConfig_t, blocking) == offsetof(NcclConfig, blocking));
static_assert(NcclConfig::kVersion == NCCL_VERSION(2, 14, 0));
static_assert(std::is_same_v<decltype(&ncclRedOpCreatePreMulSum),
                             ncclResult_t (*)(ncclRedOp_t*, void*, ncclDataType_t,
                                              ncclScalarResidence_t, ncclComm_t)>);
static_assert(ncclScalarHostImmediate == 1);
static_assert(std::is_same_v<decltype(&ncclAllReduce),
                             ncclResult_t (*)(const void*, void*, std::size_t, ncclDataType_t,
                                              ncclRedOp_t, ncclComm_t, cudaStream_t)>);
static_assert(std::is_same_v<decltype(&ncclReduce),
                             ncclResult_t (*)(const void*, void*, std::size_t, ncclDataType_t,
                                              ncclRedOp_t, int, ncclComm_t, cudaStream_t)>);
static_assert(std::is_same_v<decltype(&ncclReduceScatter), decltype(&ncclAllReduce)>);
static_assert(std::is_same_v<decltype(&ncclBroadcast),
                             ncclResult_t (*)(const void*, void*, std::size_t, ncclDataType_t, int,
                                              ncclComm_t, cudaStream_t)>);
static_assert(std::is_same_v<decltype(&ncclAllGather),
                             ncclResult_t (*)(const void*, void*, std::size_t, ncclDataType_t,
                                              ncclComm_t, cudaStream_t)>);
static_assert(
    std::is_same_v<decltype(&ncclSend), ncclResult_t (*)(const void*, std::size_t, ncclDataType_t,
                                                         int, ncclComm_t, cudaStream_t)>);
static_assert(
    std::is_same_v<decltype(&ncclRecv), ncclResult_t (*)(void*, std::size_t, ncclDataType_t, int,
                                                         ncclComm_t, cudaStream_t)>);
static_assert(CUDA_SUCCESS == 0 && CUDA_ERROR_NOT_READY == 600);
static_assert(CU_STREAM_NON_BLOCKING == 1 && CU_EVENT_DISABLE_TIMING == 2);
static_assert(sizeof(CUdeviceptr) == sizeof(std::uint64_t));
static_assert(std::is_same_v<decltype(&cuMemcpyAsync),
                             CUresult (*)(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)>);

TEST(NcclAbi, ConfigurationHasItsMark) {
  const ncclConfig_t known = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(NcclConfig().magic, known.magic);
}

TEST(CudaDriverAbi, NamesCarryTheirVersions) {
  EXPECT_EQ(UNDERSTUDY_NAME(cuStreamDestroy), "cuStreamDestroy_v2");
  EXPECT_EQ(UNDERSTUDY_NAME(cuEventDestroy), "cuEventDestroy_v2");
  EXPECT_EQ(UNDERSTUDY_NAME(cuMemAlloc), "cuMemAlloc_v2");
  EXPECT_EQ(UNDERSTUDY_NAME(cuMemFree), "cuMemFree_v2");
  EXPECT_EQ(UNDERSTUDY_NAME(cuMemcpyAsync), "cuMemcpyAsync");
  EXPECT_EQ(UNDERSTUDY_NAME(cuStreamCreate), "cuStreamCreate");
  EXPECT_EQ(UNDERSTUDY_NAME(cuStreamQuery), "cuStreamQuery");
  EXPECT_EQ(UNDERSTUDY_NAME(cuStreamSynchronize), "cuStreamSynchronize");
  EXPECT_EQ(UNDERSTUDY_NAME(cuStreamWaitEvent), "cuStreamWaitEvent");
  EXPECT_EQ(UNDERSTUDY_NAME(cuEventRecord), "cuEventRecord");
  EXPECT_EQ(UNDERSTUDY_NAME(cuCtxGetCurrent), "cuCtxGetCurrent");
  EXPECT_EQ(UNDERSTUDY_NAME(cuCtxSetCurrent), "cuCtxSetCurrent");
}

}  // namespace
}  // namespace understudy::backends
