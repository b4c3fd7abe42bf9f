#pragma once

#include <string_view>

namespace understudy::pages {

/// What holds of the page of any bytes that are read as a report: its tags are of ours alone, none
/// with a handler of events, its scripts those that every page has, its data JSON. Bytes that are
/// refused are as right: false. Ends the process otherwise.
bool check_page_property(std::string_view input);

}  // namespace understudy::pages
