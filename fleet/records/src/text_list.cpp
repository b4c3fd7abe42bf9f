#include "text_list.h"

#include <nlohmann/json.hpp>

namespace understudy::fleet {

std::string column_of(const std::vector<std::string>& texts) {
  return nlohmann::json(texts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> texts_of(const std::string& column) {
  return nlohmann::json::parse(column).get<std::vector<std::string>>();
}

}  // namespace understudy::fleet
