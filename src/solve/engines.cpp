#include "solve/engines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "solve/auto_parts.h"
#include "solve/deep_engine.h"
#include "solve/ordering.h"
#include "solve/portfolio.h"
#include "solve/probe_engine.h"
#include "solve/search_engine.h"
#include "solve/smt_engine.h"
#include "solve/windows_engine.h"

namespace heddle {
namespace {

struct Known {
  std::string_view name;
  std::unique_ptr<Engine> (*make)();
};
std::unique_ptr<Engine> make_auto_engine() {
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(make_improving_engine(make_windows_engine()));
  engines.push_back(make_clockless_engine(make_search_engine()));
  engines.push_back(make_improving_engine(make_clockless_engine(make_probe_engine())));
  engines.push_back(make_improving_engine(make_deep_engine()));
  return make_portfolio(std::move(engines));
}

constexpr std::array kEngines = {Known{"auto", make_auto_engine},
                                 Known{"deep", make_deep_engine},
                                 Known{"ordering", make_ordering_engine},
                                 Known{"probe", make_probe_engine},
                                 Known{"search", make_search_engine},
                                 Known{"smt", make_smt_engine},
                                 Known{"windows", [] { return make_windows_engine(); }}};

}  // namespace

std::vector<std::string_view> engine_names() {
  std::vector<std::string_view> out;
  for (const Known& engine : kEngines) out.push_back(engine.name);
  return out;
}

Result<std::unique_ptr<Engine>> make_engine(std::string_view name) {
  for (const Known& engine : kEngines)
    if (engine.name == name) return engine.make();
  return Error{.what = fmt::format("--engine does not know '{}'", name),
               .next = fmt::format("choose one of: {}", fmt::join(engine_names(), ", ")),
               .exit = ExitCode::usage};
}

}  // namespace heddle
