#include "pt/traced_end.h"

namespace heddle {

Json TracedEnd::to_json() const {
  return {{"pid", pid},
          {"exit_code", exit_code},
          {"signal", signal},
          {"failed_tid", failed_tid},
          {"fault_address", fault_address},
          {"fault_pc", fault_pc},
          {"timed_out", timed_out}};
}

Result<TracedEnd> TracedEnd::from_json(const Json& json) {
  try {
    return TracedEnd{.pid = json.at("pid").get<int>(),
                     .exit_code = json.at("exit_code").get<int>(),
                     .signal = json.at("signal").get<int>(),
                     .failed_tid = json.at("failed_tid").get<int>(),
                     .fault_address = json.at("fault_address").get<uint64_t>(),
                     .fault_pc = json.at("fault_pc").get<uint64_t>(),
                     .timed_out = json.at("timed_out").get<bool>()};
  } catch (const Json::exception& problem) {
    return Error{.what = "how the process ended is not readable", .why = problem.what()};
  }
}

}  // namespace heddle
