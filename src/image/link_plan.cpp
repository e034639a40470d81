#include "image/link_plan.h"

#include <array>
#include <string_view>

namespace heddle {
namespace {

using Kind = LinkInput::Kind;
constexpr std::array<std::pair<Kind, std::string_view>, 5> kKinds = {{{Kind::modelled, "modelled"},
                                                                      {Kind::foreign, "foreign"},
                                                                      {Kind::archive, "archive"},
                                                                      {Kind::by_path, "by-path"},
                                                                      {Kind::link_time, "link-time"}}};

Json input_to_json(const LinkInput& input, std::string& body) {
  Json json = {{"path", input.path}};
  for (const auto& [kind, name] : kKinds)
    if (kind == input.kind) json["kind"] = name;
  for (const LinkInput::Member& member : input.members) {
    json["members"].push_back({{"name", member.name}, {"offset", body.size()}, {"size", member.bytes.size()}});
    body += member.bytes;
  }
  return json;
}

std::vector<std::string> strings(const Json& json, const char* key) {
  std::vector<std::string> out;
  if (!json.contains(key) || !json[key].is_array()) return out;
  for (const Json& item : json[key])
    if (item.is_string()) out.push_back(item.get<std::string>());
  return out;
}

Error malformed(const char* what) {
  return Error{.what = std::string("the stored link line is malformed: ") + what,
               .next = "link the program again with heddle cc"};
}

Result<LinkInput> input_from_json(const Json& json, std::string_view body) {
  LinkInput input;
  input.path = json.value("path", "");
  const std::string kind_name = json.value("kind", "");
  bool known = false;
  for (const auto& [kind, name] : kKinds)
    if (name == kind_name) input.kind = kind, known = true;
  if (!known) return malformed("an input of unknown kind");
  for (const Json& member : json.value("members", Json::array())) {
    if (!member.is_object()) return malformed("a member without its data");
    const size_t offset = member.value("offset", size_t{0}), size = member.value("size", size_t{0});
    if (offset > body.size() || size > body.size() - offset)
      return malformed("a member outside the stored data");
    input.members.push_back({member.value("name", ""), std::string(body.substr(offset, size))});
  }
  return input;
}

}  // namespace

ModelRecord LinkPlan::to_record() const {
  ModelRecord record{.kind = HEDDLE_RECORD_link, .meta = Json::object(), .body = {}};
  record.meta = {
      {"cxx", cxx}, {"shared", shared}, {"folder", folder}, {"output", output}, {"command", command}};
  record.meta["items"] = Json::array();
  for (const LinkItem& item : items) {
    Json json = Json::object();
    if (!item.flags.empty()) json["flags"] = item.flags;
    for (const LinkInput& input : item.input) json["input"] = input_to_json(input, record.body);
    record.meta["items"].push_back(std::move(json));
  }
  return record;
}

Result<LinkPlan> LinkPlan::from_record(const ModelRecord& record) try {
  const Json& meta = record.meta;
  if (!meta.is_object()) return malformed("no description");
  LinkPlan plan;
  plan.cxx = meta.value("cxx", false);
  plan.shared = meta.value("shared", false);
  plan.folder = meta.value("folder", "");
  plan.output = meta.value("output", "");
  plan.command = strings(meta, "command");
  for (const Json& json : meta.value("items", Json::array())) {
    LinkItem item{.flags = strings(json, "flags"), .input = {}};
    if (json.contains("input")) item.input.push_back(HEDDLE_TRY(input_from_json(json["input"], record.body)));
    plan.items.push_back(std::move(item));
  }
  return plan;
} catch (const Json::exception& e) {
  // nlohmann's typed access throws on a value of another type; everywhere else heddle has no exceptions.
  return malformed(e.what());
}

}  // namespace heddle
