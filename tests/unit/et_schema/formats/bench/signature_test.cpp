#include "et_schema/bench/signature.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "bench_refusals.h"
#include "bench_samples.h"
#include "et_schema/bench/bench.h"
#include "et_schema/support/error.h"
#include "et_schema/support/zip.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

using testing_errors::told;

constexpr const char* kPublicText =
    "understudy-ed25519-public:4cb5abf6ad79fbf5abbccafcc269d85cd2651ed4b885b5869f241aedf0a5ba29\n";

SecretKey key_of(int number) {
  std::array<unsigned char, kKeyBytes> seed{};
  seed.back() = static_cast<unsigned char>(number);
  return SecretKey(seed);
}

std::map<std::string, std::string> members_of(const std::string& bytes) {
  return unzip(bytes, "bench.et", {});
}

std::string zipped(const std::map<std::string, std::string>& members) {
  std::vector<ZipMember> list;
  for (const auto& [name, data] : members) {
    list.push_back({name, data});
  }
  return zip_bytes(list);
}

std::string signer_refusal(const std::map<std::string, std::string>& members) {
  return refusal_by([&] { (void)find_signer(zipped(members), "bench.et"); });
}

const std::string kChanged =
    told("the signature does not fit the benchmark", "file: bench.et", "field: signature.json",
         "expected: a signature of key "
         "4cb5abf6ad79fbf5abbccafcc269d85cd2651ed4b885b5869f241aedf0a5ba29 over all members",
         "got: a member or the signature was changed since",
         "hint: do not use this file; ask its author for it again");

/// RFC 8032, 7.1, test 1.
TEST(Keys, AreThoseOfTheStandard) {
  const SecretKey key = parse_secret_key(
      "understudy-ed25519-secret:9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "key");
  EXPECT_EQ(key.public_key().hex(),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
}

TEST(Keys, ReadBackAsWritten) {
  const SecretKey key = make_key();
  EXPECT_EQ(parse_secret_key(to_text(key), "key").seed(), key.seed());
  EXPECT_EQ(parse_public_key(to_text(key.public_key()), "key"), key.public_key());
  EXPECT_NE(make_key().seed(), key.seed());
}

TEST(Keys, OfTheOtherKindOrNoneAreRefusedWithoutShowingASecret) {
  const auto secret = [](const std::string& text) {
    return refusal_by([&] { (void)parse_secret_key(text, "k"); });
  };
  EXPECT_EQ(secret(kPublicText),
            told("not a secret key", "file: k",
                 "expected: understudy-ed25519-secret: and 64 hexadecimal digits",
                 "got: a public key", "hint: generate --new-key FILE makes one"));
  EXPECT_EQ(
      refusal_by([&] { (void)parse_public_key(to_text(key_of(1)), "k"); }),
      told("not a public key", "file: k",
           "expected: understudy-ed25519-public: and 64 hexadecimal digits", "got: a secret key",
           "hint: it lies beside the secret key that was made with it, as FILE.pub"));
  for (const std::string& text :
       {std::string(), std::string("x"), std::string("understudy-ed25519-secret:"),
        std::string("understudy-ed25519-secret:zz"), to_text(key_of(1)) + "0",
        " " + to_text(key_of(1)), to_text(key_of(1)).substr(0, 80)}) {
    EXPECT_TRUE(secret(text).starts_with("not a secret key\n")) << text;
  }
}

TEST(Signature, TellsWhoSignedAndNothingElseChanges) {
  const std::string bytes = packed(random_bench(3, 2));
  EXPECT_EQ(find_signer(bytes, "bench.et"), std::nullopt);
  const std::string once = sign_bench(bytes, "bench.et", key_of(1));
  EXPECT_EQ(find_signer(once, "bench.et"), key_of(1).public_key());
  EXPECT_EQ(read_bench_bytes(once, "bench.et"), read_bench_bytes(bytes, "bench.et"));
  EXPECT_EQ(sign_bench(bytes, "bench.et", key_of(1)), once);
  // Another's signature takes its place.
  const std::string twice = sign_bench(once, "bench.et", key_of(2));
  EXPECT_EQ(find_signer(twice, "bench.et"), key_of(2).public_key());
  require_signature(twice, "bench.et", key_of(2).public_key());
}

TEST(Signature, CoversEveryMember) {
  const auto members = members_of(sign_bench(packed(random_bench(3, 2)), "bench.et", key_of(1)));
  ASSERT_GE(members.size(), 3U);
  for (const auto& [name, data] : members) {
    if (name == kSignatureName) {
      continue;
    }
    for (const std::size_t place : {std::size_t{0}, data.size() / 2, data.size() - 1}) {
      auto changed = members;
      changed[name][place] = static_cast<char>(changed[name][place] ^ 1);
      EXPECT_EQ(signer_refusal(changed), kChanged) << name << " " << place;
    }
    auto shorter = members;
    shorter.erase(name);
    EXPECT_EQ(signer_refusal(shorter), kChanged) << name;
    auto renamed = members;
    renamed[name + "x"] = data;
    renamed.erase(name);
    EXPECT_EQ(signer_refusal(renamed), kChanged) << name;
  }
  auto longer = members;
  longer["more.jsonl"] = "";
  EXPECT_EQ(signer_refusal(longer), kChanged);
}

TEST(Signature, OfAnotherTextIsRefused) {
  const auto members = members_of(sign_bench(packed(tiny_bench()), "bench.et", key_of(1)));
  const std::string& text = members.at(kSignatureName);
  const auto with = [&](const std::string& from, const std::string& to) {
    auto changed = members;
    changed[kSignatureName] = replaced(text, from, to);
    return signer_refusal(changed);
  };
  EXPECT_EQ(
      with("Ed25519", "RSA"),
      told("the signature cannot be read", "file: bench.et/signature.json", "field: algorithm",
           "expected: Ed25519", "got: \"RSA\"", "hint: ask for the file again"));
  EXPECT_EQ(with("}", R"(,"note":"x"})"),
            told("the signature cannot be read", "file: bench.et/signature.json",
                 "expected: format, version, algorithm, public_key and signature, and nothing else",
                 "got: an object", "hint: ask for the file again"));
  // Whatever is changed in it, nobody is named who did not sign.
  for (std::size_t place = 0; place < text.size() - 1; ++place) {
    auto changed = members;
    changed[kSignatureName][place] = static_cast<char>(text[place] ^ 1);
    EXPECT_NE(signer_refusal(changed), "no error") << place;
  }
}

TEST(Signature, IsRequired) {
  const std::string bytes = packed(tiny_bench());
  const auto required = [](const std::string& of, int number) {
    return refusal_by([&] { require_signature(of, "bench.et", key_of(number).public_key()); });
  };
  EXPECT_EQ(
      required(bytes, 1),
      told("the benchmark is not signed", "file: bench.et", "field: signature.json",
           "expected: a signature of key "
           "4cb5abf6ad79fbf5abbccafcc269d85cd2651ed4b885b5869f241aedf0a5ba29",
           "got: none", "hint: its author signs it with generate BENCH --sign KEY -o SIGNED"));
  EXPECT_EQ(required(sign_bench(bytes, "bench.et", key_of(2)), 1),
            told("somebody else signed the benchmark", "file: bench.et", "field: signature.json",
                 "expected: a signature of key "
                 "4cb5abf6ad79fbf5abbccafcc269d85cd2651ed4b885b5869f241aedf0a5ba29",
                 "got: one of key 7422b9887598068e32c4448a949adb290d0f4e35b9e01b0ee5f1a1e600fe2674",
                 "hint: ask for its author's public key another way than with the file"));
}

}  // namespace
}  // namespace understudy::et_schema
