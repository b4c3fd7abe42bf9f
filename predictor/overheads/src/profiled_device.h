#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/kineto/kineto.h"
#include "stretches.h"

namespace understudy::predictor {

/// A kernel of communication.
struct ProfiledComm {
  std::string call;  ///< what alike ones have in common; empty: nothing is known of it
  Stretch stretch;
  // Where the kernel names its collective (PyTorch 2.2 and later); else 0 ranks.
  std::size_t ranks_in_group = 0;
  std::string group;
  std::string kind;  ///< name and element type: the same on all ranks, which sizes need not be
  Stretches beside;  ///< what other kernels cover of it, apart and in order
};

inline constexpr std::size_t kUnknownCall = ~std::size_t{0};

/// A kernel or a copy that ran beside something.
struct BesideKernel {
  std::size_t call = kUnknownCall;  ///< in ProfiledDevice::calls
  Stretch stretch;
  std::int64_t streams_ns = 0;  ///< while work of another stream ran
};

/// What one profile shows of one device.
struct ProfiledDevice {
  std::string device;  ///< the card's name; empty: not told
  std::string file;
  std::int64_t rank = -1;     ///< of the profile; -1: not told
  std::int64_t clock_ns = 1;  ///< times are whole multiples of it
  std::vector<ProfiledComm> comms;
  std::vector<BesideKernel> beside;
  std::vector<std::string> calls;             ///< of these: equal texts are the same call
  std::vector<std::vector<double>> alone_ns;  ///< by call: times of kernels that ran alone
};

/// The devices on which something ran beside something else. Kernels are the same call if their
/// name, grid and block are, and name and input sizes of the operator that launched them; where it
/// has no sizes, if they are the same one of such kernels in their step.
/// docs/prediction.md, "Overlap".
[[nodiscard]] std::vector<ProfiledDevice> profiled_devices(const et_schema::Profile& profile);

}  // namespace understudy::predictor
