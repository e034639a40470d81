// The files of share/report, which are part of heddle itself: a report needs nothing else.
#pragma once

#include <string_view>

namespace heddle {

extern const std::string_view kPage_html, kPage_css, kPage_js;

}  // namespace heddle
