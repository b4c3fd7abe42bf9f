#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "common/output.h"
#include "et_schema/bench/signature.h"
#include "et_schema/support/error.h"
#include "et_schema/support/output_file.h"
#include "et_schema/support/read_file.h"
#include "generate/outputs.h"

namespace understudy::cli {
namespace {

/// New files can be read by their owner alone while it lives.
class Private {
 public:
  Private() : before_(umask(S_IRWXG | S_IRWXO)) {}
  Private(const Private&) = delete;
  Private& operator=(const Private&) = delete;
  ~Private() { umask(before_); }

 private:
  mode_t before_;
};

void refuse_existing(const std::string& path) {
  if (std::filesystem::exists(std::filesystem::symlink_status(path))) {
    throw et_schema::run_failed(
        "a key is never overwritten",
        {.file = path,
         .field = "--new-key",
         .expected = "a new file",
         .got = "a file that is there",
         .hint = "choose another name: what a lost key has signed cannot be signed again"});
  }
}

}  // namespace

void add_sign_options(CommandLine& line, SignChoice& choice) {
  line.add(
      "--sign KEY", choice.key_path,
      "Sign the benchmark with this secret key (Ed25519); replay --require-signature checks it");
  line.add("--new-key FILE", choice.new_key_path,
           "Make a key pair: the secret key in FILE, the public key in FILE.pub");
}

void write_new_key(const SignChoice& choice, bool quiet) {
  const std::string& path = choice.new_key_path;
  const std::string public_path = path + ".pub";
  refuse_existing(path);
  refuse_existing(public_path);
  const et_schema::SecretKey key = et_schema::make_key();
  {
    const Private only_owner;
    et_schema::write_file_atomically(path, to_text(key));
  }
  et_schema::write_file_atomically(public_path, to_text(key.public_key()));
  if (!quiet) {
    print_output(fmt::format("{}: a secret key, for its owner alone\n{}: its public key, {}\n",
                             path, public_path, key.public_key().hex()));
  }
}

std::string signed_as(const SignChoice& choice, std::string bytes, const std::string& file) {
  if (choice.key_path.empty()) {
    return bytes;
  }
  const auto limits = et_schema::process_limits();
  return et_schema::sign_bench(
      bytes, file,
      et_schema::parse_secret_key(et_schema::read_file(choice.key_path, limits), choice.key_path));
}

}  // namespace understudy::cli
