#include "database/database_fixture.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <stdexcept>

#include "fleet/database/schema.h"
#include "fleet/process/run_program.h"

namespace understudy::fleet {
namespace {

constexpr const char* kBin = UNDERSTUDY_POSTGRES;

/// A server of this process' own, on a socket in a folder of its own, by a user that is not root.
class Server {
 public:
  Server() {
    if (::geteuid() == 0) {
      const passwd* nobody = ::getpwnam("nobody");
      if (nobody == nullptr ||
          ::chown(folder_.path().c_str(), nobody->pw_uid, nobody->pw_gid) != 0) {
        throw std::runtime_error("the server's folder cannot be given to nobody");
      }
    }
    run({std::string(kBin) + "/initdb", "-D", data(), "-A", "trust", "-U", "fleet", "--no-sync"});
    run({std::string(kBin) + "/pg_ctl", "-D", data(), "-w", "-l", folder_.path() + "/log", "-o",
         fmt::format("-c listen_addresses='' -c fsync=off -k {}", folder_.path()), "start"});
  }
  ~Server() {
    try {
      run({std::string(kBin) + "/pg_ctl", "-D", data(), "-m", "immediate", "stop"});
    } catch (const std::exception&) {
      // Nobody is left to tell.
    }
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::string url(const std::string& database) const {
    std::string host;
    for (const char letter : folder_.path()) {
      host += letter == '/' ? std::string("%2F") : std::string(1, letter);
    }
    return fmt::format("postgresql://fleet@{}/{}", host, database);
  }

  std::string new_database() {
    const std::string name = fmt::format("test{}", ++made_);
    connect(url("postgres"), Opening::kExisting, 10)->execute("CREATE DATABASE " + name);
    return url(name);
  }

 private:
  [[nodiscard]] std::string data() const { return folder_.path() + "/data"; }

  static void run(std::vector<std::string> words) {
    if (::geteuid() == 0) {
      words.insert(words.begin(),
                   {"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"});
    }
    const ProgramEnd end = run_program({.words = words});
    if (end.status != 0) {
      throw std::runtime_error(words.back() + ": " + end.errors + end.output);
    }
  }

  testing_files::TemporaryFolder folder_;
  int made_ = 0;
};

}  // namespace

std::vector<std::string> database_kinds() {
  std::vector<std::string> kinds = {"sqlite"};
  if (*kBin != '\0') {
    kinds.emplace_back("postgres");
  }
  return kinds;
}

DatabaseTest::DatabaseTest() {
  if (GetParam() == "sqlite") {
    url_ = folder_.path() + "/fleet.db";
    return;
  }
  static Server server;
  url_ = server.new_database();
}

std::unique_ptr<Connection> DatabaseTest::open() const {
  return open_fleet(url_, Opening::kCreate);
}

}  // namespace understudy::fleet
