
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "cli/pages/document/account.h"
#include "et_schema/base/output_file.h"
#include "outputs.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "chakra";
constexpr const char* kGroupsName = "comm_groups.json";

std::map<std::string_view, std::uint64_t> edges_of(const et_schema::ChakraFile& file) {
  std::map<std::string_view, std::uint64_t> counts;
  for (const et_schema::ChakraNode& node : file.nodes) {
    const et_schema::ChakraAttribute* order = node.find("order_deps");
    const std::uint64_t of_order = order == nullptr ? 0 : order->list.size();
    counts["data"] += node.data_deps.size() - of_order;
    counts["order"] += of_order;
    counts["device"] += node.integer("is_cpu_op") == 0 ? 1U : 0U;
    counts["communication"] += node.find("comm_size") != nullptr ? 1U : 0U;
  }
  return counts;
}

}  // namespace

void refuse_chakra_folder(const std::string& folder, const std::vector<std::string>& inputs) {
  const auto refuse = [&](bool is_wrong, const char* expected, const std::string& got) {
    refuse_if(is_wrong, "the Chakra traces cannot be written", "--chakra", expected, got,
              "choose another folder", folder);
  };
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  refuse(fs::exists(status) && !fs::is_directory(status), "a folder", "a file");
  const fs::path full = fs::absolute(folder).lexically_normal();
  const fs::path parent =
      full.has_filename() ? full.parent_path() : full.parent_path().parent_path();
  refuse(!fs::exists(status) && !fs::is_directory(parent), "a folder, or a place for one",
         "no folder " + parent.string());
  constexpr const char* kAnother = "another folder than that of the input";
  for (const std::string& input : inputs) {
    refuse(fs::equivalent(folder, input, error), kAnother, "an input");
    const fs::path place = fs::path(input).parent_path();
    const std::string name = fs::path(input).filename().string();
    const bool is_chakra = name.starts_with(std::string(kPrefix) + ".") && name.ends_with(".et");
    refuse(is_chakra && fs::equivalent(folder, place.empty() ? "." : place, error), kAnother,
           "the folder of " + input);
  }
}

WrittenChakra write_chakra(const et_schema::Bench& bench, const std::string& folder) {
  WrittenChakra written{folder, generator::chakra_of(bench, kPrefix), 0};
  for (const et_schema::ChakraFile& file : written.job.files) {
    const std::string bytes = et_schema::chakra_bytes(file);
    et_schema::write_below(folder, file.file, bytes);
    written.bytes += bytes.size();
  }
  et_schema::write_below(folder, kGroupsName, written.job.comm_groups);
  return written;
}

nlohmann::ordered_json chakra_json(const WrittenChakra& written) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const et_schema::ChakraFile& file : written.job.files) {
    auto edges = edges_of(file);
    ranks.push_back({{"rank", file.rank},
                     {"file", file.file},
                     {"nodes", file.nodes.size()},
                     {"device_nodes", edges["device"] - edges["communication"]},
                     {"communication_nodes", edges["communication"]},
                     {"data_edges", edges["data"]},
                     {"order_edges", edges["order"]}});
  }
  nlohmann::ordered_json left_out = nlohmann::ordered_json::object();
  for (const auto& [loss, count] : written.job.left_out) {
    left_out[std::string(info(loss).name)] = count;
  }
  return {{"folder", written.folder},
          {"bytes", written.bytes},
          {"ranks", std::move(ranks)},
          {"left_out", std::move(left_out)},
          {"account", pages::account_json(written.job.account)}};
}

}  // namespace understudy::cli
