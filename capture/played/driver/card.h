#pragma once

#include <cuda.h>

#include <string>

#include "capture/played/played.h"

#define PLAYED_DRIVER(name, parameters, ...) PLAYED_CALL(CUresult, name, parameters, __VA_ARGS__)

namespace played {

// What all of NVIDIA's cards since Ampere have: of a block,
constexpr int kMostThreads = 1024;
constexpr int kSharedOfBlock = 49152;  // bytes, of one that does not ask for more
constexpr int kReservedShared = 1024;  // bytes of it that are the driver's
// and of a multiprocessor.
constexpr int kWarpThreads = 32;
constexpr int kRegisters = 65536;
constexpr int kThreadsOfMultiprocessor = 2048;
constexpr int kBlocksOfMultiprocessor = 32;
// Of a grid, in its first dimension and in the others.
constexpr int kMostBlocksX = 2147483647;
constexpr int kMostBlocksYZ = 65535;

/// The card that is played, and how many of it a node has.
[[nodiscard]] const Card& card();
[[nodiscard]] int card_count();

/// The card of this thread: the first one until it chooses another.
[[nodiscard]] int current_card();
CUresult set_current_card(int card);

/// An attribute of a card; refused if it is none that is played.
CUresult attribute_of_card(int* value, CUdevice_attribute attribute, int card);
CUresult uuid_of_card(CUuuid* uuid, int card);

struct ErrorText {
  const char* name;
  const char* text;
};
[[nodiscard]] ErrorText text_of(int error);

template <typename T>
CUresult answer(T* to, T value) {
  *to = value;
  return CUDA_SUCCESS;
}

/// Refuses what is not played, by a clause.
inline CUresult refuse(const std::string& what) {
  played_refuse((what + " is not played").c_str());
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace played
