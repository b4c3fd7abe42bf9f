#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "et_schema/base/error.h"
#include "replayer/memory/memory.h"

namespace understudy::replayer {
namespace {

struct Mapping {
  void* data = nullptr;
  std::size_t bytes = 0;
};

void unmap(void* context) {
  const std::unique_ptr<Mapping> mapping(static_cast<Mapping*>(context));
  munmap(mapping->data, mapping->bytes);
}

}  // namespace

c10::Storage map_storage(std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    throw et_schema::run_failed(
        "out of memory: a table could not be mapped",
        {.expected = fmt::format("{} bytes of address space", bytes),
         .got = std::strerror(errno),
         .hint = "Lift the limit on address space (ulimit -v), or replay fewer ranks on this "
                 "machine."});
  }
  // A huge page would use 2 MiB for one row of a table.
  madvise(data, bytes, MADV_NOHUGEPAGE);
  auto mapping = std::make_unique<Mapping>(Mapping{data, bytes});
  c10::DataPtr pointer(data, mapping.release(), &unmap, c10::Device(c10::kCPU));
  return {c10::Storage::use_byte_size_t(), bytes, std::move(pointer), nullptr, false};
}

std::uint64_t touched_bytes(const c10::Storage& storage) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident((storage.nbytes() + page - 1) / page);
  if (mincore(storage.mutable_data(), storage.nbytes(), resident.data()) != 0) {
    return 0;
  }
  const auto touched = std::count_if(resident.begin(), resident.end(),
                                     [](unsigned char flags) { return (flags & 1U) != 0; });
  return std::min<std::uint64_t>(static_cast<std::uint64_t>(touched) * page, storage.nbytes());
}

}  // namespace understudy::replayer
