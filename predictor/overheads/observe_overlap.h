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
  std::string call;  ///< text that identifies equal calls; empty: unknown call
  Stretch stretch;
  // Set if the kernel names its collective (PyTorch 2.2 and later); else 0 ranks.
  std::size_t ranks_in_group = 0;
  std::string group;
  std::string kind;  ///< name and element type: equal on all ranks, while sizes can differ
  Stretches beside;  ///< the parts of the stretch that other kernels cover, disjoint and ordered
};

inline constexpr std::size_t kUnknownCall = ~std::size_t{0};

/// A kernel or a copy that ran beside another one.
struct BesideKernel {
  std::size_t call = kUnknownCall;  ///< index in ProfiledDevice::calls
  Stretch stretch;
  std::int64_t streams_ns = 0;  ///< time in which work of another stream ran
};

/// One device in one profile.
struct ProfiledDevice {
  std::string device;  ///< the card's name; empty: unknown
  std::string file;
  std::int64_t rank = -1;     ///< rank of the profile; -1: unknown
  std::int64_t clock_ns = 1;  ///< resolution of the clock
  std::vector<ProfiledComm> comms;
  std::vector<BesideKernel> beside;
  std::vector<std::string> calls;             ///< text of each call; equal texts are the same call
  std::vector<std::vector<double>> alone_ns;  ///< by call: times of kernels that ran alone
};

/// Returns the devices of a profile on which kernels ran beside each other. The profile must be
/// read with KinetoDetail::kShapes. Kernels are the same call if they have the same name, grid and
/// block, and their operators the same name and input sizes. If sizes are unknown, kernels must
/// have the same position among such kernels of their step. See docs/prediction.md, "Overlap".
[[nodiscard]] std::vector<ProfiledDevice> profiled_devices(const et_schema::Profile& profile);

struct ObservedOverlap {
  std::vector<DeviceOverlap> devices;             ///< devices with a factor, by name
  std::map<std::string, Errors> left_out;         ///< by "device\nfactor"
  std::map<std::string, std::uint64_t> not_used;  ///< number of kernels and calls, by reason
};

/// Returns how much longer calls take beside other work. Compares calls that ran alone with
/// equal calls that ran (nearly) entirely beside other work. Kernels are compared within one file.
/// `devices` must hold profiled_devices() of all profiles: only all ranks of a job
/// together show when communication moved data and when it waited for other ranks.
/// See docs/prediction.md, "Overlap".
[[nodiscard]] ObservedOverlap observed_overlap(const std::vector<ProfiledDevice>& devices);

}  // namespace understudy::predictor
