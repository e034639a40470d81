#include <array>

#include "base/safe_text.h"
#include "base/sha256.h"
#include "report/forms.h"
#include "report/page.h"

namespace heddle {
namespace {

std::string bytes_of_hex(std::string_view hex) {
  std::string out;
  for (size_t at = 0; at + 1 < hex.size(); at += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i)
      group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i) out += at + i <= bytes.size() ? kDigits[group >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

}  // namespace

// The page's policy allows this one script by its hash: nothing that a program put into its names could ever
// run.
std::string html_form(const FailureFinding& finding) {
  const std::string data = for_script_element(to_json(finding));
  const std::string hash = "'sha256-" + base64(bytes_of_hex(sha256_hex(kPage_js))) + "'";
  const std::array<std::pair<std::string_view, std::string_view>, 4> parts = {
      {{"@SCRIPT_HASH@", hash}, {"@STYLE@", kPage_css}, {"@DATA@", data}, {"@SCRIPT@", kPage_js}}};
  std::string out;
  size_t at = 0;
  for (const auto& [mark, text] : parts) {
    const size_t found = kPage_html.find(mark, at);
    HEDDLE_CHECK(found != std::string_view::npos);
    out += kPage_html.substr(at, found - at);
    out += text;
    at = found + mark.size();
  }
  return out + std::string(kPage_html.substr(at));
}

}  // namespace heddle
