#include "fleet/objects/digest.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "et_schema/support/error.h"

namespace understudy::fleet {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;

std::string text_of(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

struct CloseFile {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};

[[noreturn]] void fail(const std::string& path) {
  throw et_schema::bad_input("the file cannot be read",
                             {.file = path, .got = std::generic_category().message(errno)});
}

}  // namespace

std::string digest_of(std::string_view bytes) {
  return text_of(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string digest_of_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (!file) {
    fail(path);
  }
  const auto free_state = [](XXH3_state_t* state) { XXH3_freeState(state); };
  const std::unique_ptr<XXH3_state_t, decltype(free_state)> state(XXH3_createState(), free_state);
  XXH3_128bits_reset(state.get());
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    const std::size_t bytes = std::fread(piece.data(), 1, piece.size(), file.get());
    XXH3_128bits_update(state.get(), piece.data(), bytes);
    if (bytes < piece.size()) {
      break;
    }
  }
  if (std::ferror(file.get()) != 0) {
    fail(path);
  }
  return text_of(XXH3_128bits_digest(state.get()));
}

bool is_digest(std::string_view text) {
  constexpr std::size_t kDigits = 32;
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace understudy::fleet
