#include "et_schema/base/digest.h"

#include <gtest/gtest.h>

#include "et_schema/base/error.h"
#include "testing/temporary_folder.h"

namespace understudy::et_schema {
namespace {

TEST(Digests, AreSha256) {
  // FIPS 180-2's own examples.
  EXPECT_EQ(digest_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const testing_files::TemporaryFolder folder;
  const std::string content(3'000'000, 'q');
  EXPECT_EQ(digest_of_file(folder.write("a", content)), digest_of(content));
  EXPECT_THROW(static_cast<void>(digest_of_file("/nowhere")), Error);
}

TEST(Digests, WithAKeyAreHmac) {
  // RFC 4231, case 2.
  EXPECT_EQ(keyed_digest("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_NE(random_digits(), random_digits());
  EXPECT_EQ(random_digits().size(), 64U);
}

}  // namespace
}  // namespace understudy::et_schema
