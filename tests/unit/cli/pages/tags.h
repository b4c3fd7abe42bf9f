#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace understudy::pages {

/// The tags of a document in order, each with the names of its attributes, as a browser's tokenizer
/// sees them (HTML standard, 13.2.5): what a text that broke out would change. Not a whole
/// tokenizer: throws std::runtime_error on what our pages never hold (comments, CDATA, attributes
/// without quotes).
[[nodiscard]] std::vector<std::string> tags_of(std::string_view html);

/// What lies between <script … id="ID"> and its end.
[[nodiscard]] std::string block_of(std::string_view html, const std::string& id);

}  // namespace understudy::pages
