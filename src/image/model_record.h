// Records of the program model: writing one, and reading all of a section (layout: abi/model_section.h).
//
// Reading trusts nothing: a section comes from a file that may be cut, damaged, or made by another version.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "abi/model_section.h"
#include "base/json.h"
#include "base/result.h"

namespace heddle {

struct ModelRecord {
  heddle_record_kind kind = HEDDLE_RECORD_module;
  Json meta;
  std::string body;
};

std::string encode_record(const ModelRecord& record);

// Every record of a section in order. `where` names the section in errors, which also give the offset.
Result<std::vector<ModelRecord>> decode_records(std::string_view section, const std::string& where);

}  // namespace heddle
