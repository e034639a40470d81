// Is a source file one of a library: a system header, or a model of a library's code, which is compiled under
// the name "<library model>/..." (src/CMakeLists.txt; debug information puts the folder of the build in front)?
// People look for lines of their own.
#pragma once

#include <string_view>

namespace heddle {

inline bool is_library_file(std::string_view file) {
  return file.empty() || file.starts_with("/usr/") || file.starts_with('<') ||
         file.find("/<library model>/") != file.npos;
}

}  // namespace heddle
