#include "cupti_library.h"

#include <cupti_version.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "et_schema/base/error.h"

namespace understudy::replayer {
namespace {

constexpr int kOfMajor = 10'000;  // CUPTI_API_VERSION is 130001 for CUDA 13.0, update 1

et_schema::SharedLibrary open_cupti_library() {
  const char* const named = std::getenv("UNDERSTUDY_CUPTI");
  const std::string file = named != nullptr && *named != '\0'
                               ? named
                               : fmt::format("libcupti.so.{}", CUPTI_API_VERSION / kOfMajor);
  return {file, RTLD_LOCAL, [file](std::string expected, std::string got) {
            return et_schema::run_failed(
                "no CUPTI: torch's wheel for CUDA brings it (nvidia-cuda-cupti); UNDERSTUDY_CUPTI "
                "names another " +
                    file,
                {.field = "CUPTI", .expected = std::move(expected), .got = std::move(got)});
          }};
}

struct CuptiRefusal {
  CUptiResult status;
  const char* line;
};
constexpr const char* kOtherProfiler =
    "another profiler counts on this GPU (Nsight, DCGM, a PyTorch profile): end it";
/// Other codes of CUPTI say by their names what they refuse.
constexpr std::array<CuptiRefusal, 10> kCuptiRefusals = {{
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
     "not permitted (ERR_NVGPUCTRPERM): an administrator sets "
     "NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module, or grants CAP_SYS_ADMIN"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
     "not permitted on this virtual GPU: its hypervisor's administrator allows profiling"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED,
     "a virtual GPU has no counters: run where the whole GPU is passed through"},
    {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED,
     "an instance of a GPU (MIG) has no counters: run on a whole GPU"},
    {CUPTI_ERROR_NOT_SUPPORTED,
     "CUPTI does not count on this GPU: it needs compute capability 7.5, and neither SLI, WSL nor "
     "confidential computing"},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, kOtherProfiler},
    {CUPTI_ERROR_HARDWARE_BUSY, kOtherProfiler},
    {CUPTI_ERROR_DISABLED, kOtherProfiler},
    {CUPTI_ERROR_NOT_INITIALIZED,
     "CUPTI does not reach the driver: it needs libnvperf_host.so and libnvperf_target.so beside "
     "it"},
    // CUPTI_ERROR_INVALID_CHIP_NAME, which the headers of CUDA 12 lack.
    {static_cast<CUptiResult>(46),
     "CUPTI does not know this GPU: UNDERSTUDY_CUPTI names a newer library"},
}};

}  // namespace

CuptiLibrary::CuptiLibrary() : library_(open_cupti_library()) {}

void CuptiLibrary::check(const char* function, CUptiResult status) const {
  if (status == CUPTI_SUCCESS) {
    return;
  }
  const char* name = "an unknown error";
  if (auto* const text =
          library_.function<CUptiResult(CUptiResult, const char**)>("cuptiGetResultString")) {
    text(status, &name);
  }
  const std::string got = fmt::format("{} ({})", name, static_cast<int>(status));
  const auto* const known = std::ranges::find(kCuptiRefusals, status, &CuptiRefusal::status);
  throw et_schema::run_failed(known == kCuptiRefusals.end() ? function : known->line,
                              {.field = function, .expected = "success", .got = got});
}

}  // namespace understudy::replayer
