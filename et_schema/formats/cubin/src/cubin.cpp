#include "et_schema/formats/cubin/cubin.h"

#include <elf.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <type_traits>
#include <utility>

#include "et_schema/base/error.h"

namespace understudy::et_schema {
namespace {

constexpr std::string_view kInfo = ".nv.info";
constexpr std::string_view kShared = ".nv.shared.";
constexpr Elf64_Half kCudaMachine = 190;  // EM_CUDA, missing in older elf.h
constexpr std::size_t kMostParameters = 4096;

// A record of .nv.info: format, attribute, then two bytes with a value or the size of the payload.
constexpr std::size_t kRecordBytes = 4;
constexpr unsigned char kWithSize = 0x04;
constexpr unsigned char kMostThreads = 0x05;
constexpr unsigned char kParameterInfo = 0x17;
constexpr unsigned char kRegisterCount = 0x2f;

/// EIATTR_KPARAM_INFO.
struct ParameterInfo {
  std::uint32_t index;
  std::uint16_t ordinal;
  std::uint16_t offset;
  std::uint32_t facts;
};
constexpr unsigned kSizeShift = 18;  // bits of `facts` below the size

/// EIATTR_REGCOUNT.
struct RegisterCount {
  std::uint32_t symbol;
  std::uint32_t registers;
};

class CubinReader {
 public:
  CubinReader(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::vector<CubinKernel> read() {
    read_sections();
    const std::map<std::string, std::uint32_t> registers = read_registers();
    std::vector<CubinKernel> kernels;
    for (const auto& [name, section] : named_) {
      if (!name.starts_with(kInfo) || name.size() < kInfo.size() + 2) {
        continue;
      }
      CubinKernel kernel{name.substr(kInfo.size() + 1), read_parameters(content(section))};
      const auto found = registers.find(kernel.name);
      kernel.registers = found == registers.end() ? 0 : found->second;
      const auto shared = named_.find(std::string(kShared) + kernel.name);
      kernel.static_shared =
          shared == named_.end() ? 0 : static_cast<std::uint32_t>(shared->second.sh_size);
      kernel.most_threads = read_most_threads(content(section));
      kernels.push_back(std::move(kernel));
    }
    if (kernels.empty()) {
      fail("a section .nv.info.NAME for each kernel", "none");
    }
    return kernels;
  }

 private:
  [[noreturn]] void fail(std::string expected, std::string got) const {
    throw bad_input("this is no machine code of a kernel", {.file = file_,
                                                            .expected = std::move(expected),
                                                            .got = std::move(got),
                                                            .hint = "compile the kernels again"});
  }

  template <typename Record>
  [[nodiscard]] Record record_at(std::string_view from, std::size_t offset) const {
    static_assert(std::is_trivially_copyable_v<Record>);
    if (offset > from.size() || from.size() - offset < sizeof(Record)) {
      fail("a whole file", fmt::format("it ends within a record at byte {}", offset));
    }
    Record record;
    std::memcpy(&record, from.data() + offset, sizeof(Record));
    return record;
  }

  [[nodiscard]] std::string_view content(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS) {
      return {};
    }
    if (section.sh_offset > bytes_.size() || bytes_.size() - section.sh_offset < section.sh_size) {
      fail("a whole file", fmt::format("{} bytes, and a section behind them", bytes_.size()));
    }
    return bytes_.substr(section.sh_offset, section.sh_size);
  }

  [[nodiscard]] std::string text_at(std::string_view texts, std::size_t offset) const {
    const std::size_t end = offset < texts.size() ? texts.find('\0', offset) : texts.npos;
    if (end == texts.npos) {
      fail("names that end", fmt::format("one at byte {} that does not", offset));
    }
    return std::string(texts.substr(offset, end - offset));
  }

  void read_sections() {
    if (!bytes_.starts_with(ELFMAG)) {
      fail("a 64-bit ELF file for CUDA", bytes_.empty() ? "an empty file" : "another file");
    }
    const auto header = record_at<Elf64_Ehdr>(bytes_, 0);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != kCudaMachine || header.e_shentsize != sizeof(Elf64_Shdr)) {
      fail("a 64-bit ELF file for CUDA", fmt::format("ELF of machine {}", header.e_machine));
    }
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
      if (header.e_shoff > bytes_.size()) {
        fail("a whole file", "its table of sections is missing");
      }
      sections_.push_back(record_at<Elf64_Shdr>(bytes_, header.e_shoff + i * sizeof(Elf64_Shdr)));
    }
    if (header.e_shstrndx >= sections_.size()) {
      fail("names of sections", "none");
    }
    if (header.e_phoff > bytes_.size() ||
        (bytes_.size() - header.e_phoff) / sizeof(Elf64_Phdr) < header.e_phnum) {
      fail("a whole file", "its table of segments is missing");
    }
    const std::string_view names = content(sections_[header.e_shstrndx]);
    for (const Elf64_Shdr& section : sections_) {
      static_cast<void>(content(section));
      named_.emplace(text_at(names, section.sh_name), section);
    }
  }

  /// Calls visit(attribute, payload) for each record with a payload.
  template <typename Visitor>
  void for_each_record(std::string_view info, Visitor&& visit) const {
    for (std::size_t at = 0; at < info.size();) {
      const auto head = record_at<std::array<unsigned char, kRecordBytes>>(info, at);
      at += kRecordBytes;
      if (head[0] != kWithSize) {
        continue;
      }
      const std::size_t size = head[2] + (static_cast<std::size_t>(head[3]) << 8U);
      if (info.size() - at < size) {
        fail("a whole file", "its .nv.info ends within a record");
      }
      visit(head[1], info.substr(at, size));
      at += size;
    }
  }

  [[nodiscard]] std::vector<CubinParameter> read_parameters(std::string_view info) const {
    std::map<std::uint16_t, CubinParameter> by_ordinal;
    for_each_record(info, [&](unsigned char attribute, std::string_view payload) {
      if (attribute != kParameterInfo) {
        return;
      }
      const auto parameter = record_at<ParameterInfo>(payload, 0);
      if (parameter.ordinal >= kMostParameters ||
          !by_ordinal
               .emplace(parameter.ordinal,
                        CubinParameter{parameter.offset, parameter.facts >> kSizeShift})
               .second) {
        fail("each parameter once", fmt::format("parameter {}", parameter.ordinal));
      }
    });
    std::vector<CubinParameter> parameters;
    for (const auto& [ordinal, parameter] : by_ordinal) {
      if (ordinal != parameters.size()) {
        fail("parameters without a gap", fmt::format("none of number {}", parameters.size()));
      }
      parameters.push_back(parameter);
    }
    return parameters;
  }

  [[nodiscard]] std::uint32_t read_most_threads(std::string_view info) const {
    std::uint32_t most = 0;
    for_each_record(info, [&](unsigned char attribute, std::string_view payload) {
      if (attribute == kMostThreads) {
        const auto threads = record_at<std::array<std::uint32_t, 3>>(payload, 0);
        most = threads[0] * threads[1] * threads[2];
      }
    });
    return most;
  }

  [[nodiscard]] std::map<std::string, std::uint32_t> read_registers() const {
    std::map<std::string, std::uint32_t> registers;
    const auto info = named_.find(std::string(kInfo));
    const auto symbols = named_.find(".symtab");
    if (info == named_.end() || symbols == named_.end() ||
        symbols->second.sh_link >= sections_.size()) {
      return registers;
    }
    const std::string_view table = content(symbols->second);
    const std::string_view names = content(sections_[symbols->second.sh_link]);
    for_each_record(content(info->second), [&](unsigned char attribute, std::string_view payload) {
      if (attribute == kRegisterCount) {
        const auto count = record_at<RegisterCount>(payload, 0);
        const auto symbol = record_at<Elf64_Sym>(table, count.symbol * sizeof(Elf64_Sym));
        registers.emplace(text_at(names, symbol.st_name), count.registers);
      }
    });
    return registers;
  }

  std::string_view bytes_;
  const std::string& file_;
  std::vector<Elf64_Shdr> sections_;
  std::map<std::string, Elf64_Shdr> named_;
};

}  // namespace

std::vector<CubinKernel> read_cubin(std::string_view bytes, const std::string& file) {
  return CubinReader(bytes, file).read();
}

}  // namespace understudy::et_schema
