// Where kernels lie in what nvcc embeds: a wrapper points to a fat binary, which holds machine code
// for several architectures, compressed or not. CUDA 13 compresses by Zstandard.
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <regex>
#include <string_view>

#include "capture/played/driver/card.h"
#include "capture/played/driver/modules.h"
#include "et_schema/base/error.h"

extern "C" std::size_t ZSTD_decompress(void* to, std::size_t room, const void* from,
                                       std::size_t bytes);

namespace played {
namespace {

constexpr std::uint32_t kWrapper = 0x466243b1;
constexpr std::uint32_t kFatBinary = 0xba55ed50;
constexpr std::uint16_t kMachineCode = 2;
constexpr std::uint64_t kIsZstd = 0x8000;
constexpr int kFirstWithReserve = 90;  // Hopper: the driver's part is in what a block has
constexpr std::uint32_t kFewestRegisters = 16;

struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const char* data;
};

struct FatHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;
};

struct EntryHeader {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
  std::uint32_t compressed_bytes;
  std::uint32_t options[2];
  std::uint32_t architecture;
  std::uint32_t name[2];
  std::uint64_t flags;
  std::uint64_t reserved;
  std::uint64_t plain_bytes;
};
static_assert(sizeof(EntryHeader) == 64);

template <typename T>
T read(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Machine code as it was. Empty: it is compressed in another way.
std::string plain(const EntryHeader& header, const char* data) {
  if (header.compressed_bytes == 0) {
    return {data, header.bytes};
  }
  std::string out((header.flags & kIsZstd) != 0 ? header.plain_bytes : 0, '\0');
  const std::size_t got = ZSTD_decompress(out.data(), out.size(), data, header.compressed_bytes);
  return got == out.size() ? out : "";
}

void add_kernels(std::string_view elf, int architecture, Kernels& kernels) {
  try {
    for (CubinKernel& code : understudy::et_schema::read_cubin(elf, "a fat binary")) {
      code.registers = std::max(code.registers, kFewestRegisters);
      if (architecture >= kFirstWithReserve && code.static_shared >= kReservedShared) {
        code.static_shared -= kReservedShared;
      }
      std::string name = code.name;
      kernels.insert_or_assign(std::move(name), Kernel{std::move(code), architecture});
    }
  } catch (const understudy::et_schema::Error&) {
    // Machine code without kernels: a launch refuses a kernel that is in none.
  }
}

/// The kernels of PTX, which a driver compiles: nobody knows how many registers they will need.
void add_ptx_kernels(const std::string& text, int architecture, Kernels& kernels) {
  static const std::regex kEntry(R"(\.entry\s+(\w+)\s*\(([^)]*)\))");
  static const std::regex kParameter(
      R"(\.param\s+(?:\.align\s+\d+\s+)?\.\D+(\d+)\s+\w+(?:\[(\d+)\])?)");
  for (std::sregex_iterator entry(text.begin(), text.end(), kEntry), end; entry != end; ++entry) {
    CubinKernel code;
    code.name = (*entry)[1];
    std::size_t offset = 0;
    const std::string list = (*entry)[2];
    for (std::sregex_iterator at(list.begin(), list.end(), kParameter); at != end; ++at) {
      const std::size_t each = std::stoul((*at)[1]) / 8;
      const std::size_t bytes = (*at)[2].matched ? each * std::stoul((*at)[2]) : each;
      offset = (offset + each - 1) / each * each;
      code.parameters.push_back({offset, bytes});
      offset += bytes;
    }
    kernels.insert_or_assign(code.name, Kernel{code, architecture});
  }
}

}  // namespace

std::size_t bytes_of_image(const char* image) {
  if (read<std::uint32_t>(image) == kWrapper) {
    return 0;
  }
  if (read<std::uint32_t>(image) == kFatBinary) {
    const auto header = read<FatHeader>(image);
    return header.header_bytes + header.bytes;
  }
  if (std::memcmp(image, ELFMAG, SELFMAG) == 0) {
    const auto header = read<Elf64_Ehdr>(image);
    return std::max(header.e_shoff + std::size_t{header.e_shnum} * sizeof(Elf64_Shdr),
                    header.e_phoff + std::size_t{header.e_phnum} * sizeof(Elf64_Phdr));
  }
  return std::strlen(image) + 1;  // PTX
}

Kernels read_kernels(const char* image, int architecture) {
  Kernels kernels;
  if (read<std::uint32_t>(image) == kWrapper) {
    image = read<Wrapper>(image).data;
  }
  if (std::memcmp(image, ELFMAG, SELFMAG) == 0) {
    add_kernels({image, bytes_of_image(image)}, architecture, kernels);
  } else if (read<std::uint32_t>(image) == kFatBinary) {
    const char* const end = image + bytes_of_image(image);
    for (const char* at = image + read<FatHeader>(image).header_bytes;
         at + sizeof(EntryHeader) <= end;) {
      const auto header = read<EntryHeader>(at);
      const int compiled_for = static_cast<int>(header.architecture);
      if (header.kind == kMachineCode && compiled_for / 10 == architecture / 10 &&
          compiled_for <= architecture) {
        add_kernels(plain(header, at + header.header_bytes), compiled_for, kernels);
      }
      at += header.header_bytes + header.bytes;
    }
  } else {
    add_ptx_kernels(image, architecture, kernels);
  }
  return kernels;
}

}  // namespace played
