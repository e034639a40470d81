#include "build/link_variant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LinkerFlagFilter, KeepsOrdinaryFlags) {
  LinkerFlagFilter filter("/opt/app");
  EXPECT_THAT(filter.filter({"-Llib", "-Wl,--as-needed,-z,now", "-pthread"}),
              ElementsAre("-Llib", "-Wl,--as-needed,-z,now", "-pthread"));
}

TEST(LinkerFlagFilter, LeavesOutWhatWouldTouchTheProgramsFiles) {
  LinkerFlagFilter filter("/opt/app");
  EXPECT_THAT(filter.filter({"-Wl,-Map,app.map,--gc-sections"}), ElementsAre("-Wl,--gc-sections"));
  EXPECT_THAT(filter.filter({"-Wl,-Map=app.map"}), IsEmpty());
  EXPECT_THAT(filter.filter({"-Wl,-s"}), IsEmpty());
  // An option and its argument in two words, of two kinds.
  EXPECT_THAT(filter.filter({"-Wl,-Map"}), IsEmpty());
  EXPECT_THAT(filter.filter({"-Wl,app.map"}), IsEmpty());
  EXPECT_THAT(filter.filter({"-Xlinker", "-Map", "-Xlinker", "app.map", "-Xlinker", "-z"}),
              ElementsAre("-Xlinker", "-z"));
}

// Only where the runtime's functions must be found by libraries.
TEST(LinkerFlagFilter, LeavesOutWhatWouldHideTheRuntime) {
  LinkerFlagFilter plain("/opt/app");
  EXPECT_THAT(plain.filter({"-Wl,--version-script=app.map"}), ElementsAre("-Wl,--version-script=app.map"));
  LinkerFlagFilter exporting("/opt/app", true);
  EXPECT_THAT(exporting.filter({"-Wl,--version-script=app.map"}), IsEmpty());
  EXPECT_THAT(exporting.filter({"-Wl,--exclude-libs,ALL,--gc-sections"}), ElementsAre("-Wl,--gc-sections"));
  EXPECT_THAT(exporting.filter({"-Xlinker", "--version-script", "-Xlinker", "app.map"}), IsEmpty());
}

TEST(LinkerFlagFilter, ResolvesTheProgramsFolder) {
  LinkerFlagFilter filter("/opt/app");
  EXPECT_THAT(filter.filter({"-Wl,-rpath,$ORIGIN/../lib:${ORIGIN}"}),
              ElementsAre("-Wl,-rpath,/opt/app/../lib:/opt/app"));
}

}  // namespace
}  // namespace heddle
