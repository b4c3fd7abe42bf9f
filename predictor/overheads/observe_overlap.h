#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "et_schema/base/stretches.h"
#include "et_schema/formats/kineto/kineto.h"
#include "predictor/overheads/overlap.h"

namespace understudy::predictor {

using et_schema::Stretch;
using et_schema::Stretches;

/// A kernel that communicates.
struct ProfiledComm {
  std::string call;  ///< text that is equal for equal calls; empty: nothing is known of the call
  Stretch stretch;
  // Set if the kernel names its collective (PyTorch 2.2 and later); else 0 ranks.
  std::size_t ranks_in_group = 0;
  std::string group;
  std::string kind;  ///< name and element type: the same on all ranks, while sizes may differ
  Stretches beside;  ///< the parts of it that other kernels cover, separate and in order
};

inline constexpr std::size_t kUnknownCall = ~std::size_t{0};

/// A kernel or a copy that ran beside another one.
struct BesideKernel {
  std::size_t call = kUnknownCall;  ///< in ProfiledDevice::calls
  Stretch stretch;
  std::int64_t streams_ns = 0;  ///< the time in which work of another stream ran
};

/// What one profile shows of one device.
struct ProfiledDevice {
  std::string device;  ///< the card's name; empty: not told
  std::string file;
  std::int64_t rank = -1;     ///< of the profile; -1: not told
  std::int64_t clock_ns = 1;  ///< times are whole multiples of it
  std::vector<ProfiledComm> comms;
  std::vector<BesideKernel> beside;
  std::vector<std::string> calls;             ///< by call: its text; equal texts are the same call
  std::vector<std::vector<double>> alone_ns;  ///< by call: times of kernels that ran alone
};

/// The devices on which kernels ran beside each other, of a profile that was read with
/// KinetoDetail::kShapes. Kernels are the same call if they have the
/// same name, grid and block, and their operators the same name and input sizes. If the operator
/// has no sizes, they must be at the same place among such kernels in their step. See
/// docs/prediction.md, "Overlap".
[[nodiscard]] std::vector<ProfiledDevice> profiled_devices(const et_schema::Profile& profile);

struct ObservedOverlap {
  std::vector<DeviceOverlap> devices;             ///< those with a factor, by name
  std::map<std::string, Errors> left_out;         ///< by "device\nfactor"
  std::map<std::string, std::uint64_t> not_used;  ///< number of kernels and calls, by reason
};

/// What Kineto profiles show of work beside other work of its device: the same calls alone and
/// (nearly) wholly beside it, compared within each file. `devices` are those of all profiles
/// (profiled_devices()): together, the profiles of a job's ranks tell more than one, when
/// communication moved data, and when it waited. See docs/prediction.md, "Overlap".
[[nodiscard]] ObservedOverlap observed_overlap(const std::vector<ProfiledDevice>& devices);

}  // namespace understudy::predictor
