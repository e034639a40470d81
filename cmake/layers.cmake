# One target per folder of src/. scripts/check_layers.py checks the includes against the same table.

# Headers of others are most of what compiling costs: they are compiled once for each set of them, by the first target
# that uses the set.
set(HEDDLE_COMMON_HEADERS <algorithm> <chrono> <filesystem> <functional> <map> <memory> <optional> <string> <vector>
  <fmt/format.h> <nlohmann/json.hpp>)
set(HEDDLE_LLVM_HEADERS <llvm/ADT/DenseMap.h> <llvm/ADT/DenseSet.h> <llvm/IR/IRBuilder.h> <llvm/IR/InstIterator.h>
  <llvm/IR/IntrinsicInst.h> <llvm/IR/Module.h>)
function(heddle_large_headers target)
  get_target_property(links ${target} LINK_LIBRARIES)
  set(headers ${HEDDLE_COMMON_HEADERS})
  if(links MATCHES "heddle_(llvm|program|recording|coredump|trace|instrument|build|replay|symex|smt|solve|explore|driver)")
    list(APPEND headers ${HEDDLE_LLVM_HEADERS})
  endif()
  if(links MATCHES "GTest")
    list(APPEND headers <gtest/gtest.h>)
  endif()
  if(links MATCHES "CLI11")
    list(APPEND headers <CLI/CLI.hpp>)
  endif()
  get_target_property(type ${target} TYPE) # Executables are compiled with -fPIE, libraries with -fPIC.
  string(MD5 set "${type} ${headers}")
  get_property(first GLOBAL PROPERTY HEDDLE_HEADERS_${set})
  # A target that reuses headers waits for all of the other one; of the sanitized build only a few targets are wanted.
  if(first AND NOT HEDDLE_SANITIZE)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${headers})
    set_property(GLOBAL PROPERTY HEDDLE_HEADERS_${set} ${target})
  endif()
endfunction()

# Sources are compiled some at a time, which halves the build: names in anonymous namespaces are unique in their layer.
function(heddle_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
endfunction()

# heddle_layer(NAME [DEPS targets...])
#   Static library heddle_NAME of all sources in src/NAME except the tests beside them; the tests become one
#   executable NAME_test.
function(heddle_layer name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  add_library(heddle_${name} STATIC ${sources})
  target_link_libraries(heddle_${name} PUBLIC heddle_flags ${ARG_DEPS})
  target_link_libraries(heddle_${name} PRIVATE heddle_sanitize)
  heddle_large_headers(heddle_${name})
  heddle_compile_together(heddle_${name})
  if(BUILD_TESTING AND tests)
    find_package(GTest REQUIRED)
    add_executable(${name}_test ${tests})
    target_compile_definitions(${name}_test PRIVATE HEDDLE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    target_link_libraries(${name}_test PRIVATE heddle_${name} heddle_sanitize GTest::gtest GTest::gmock GTest::gtest_main)
    heddle_large_headers(${name}_test)
    set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/unit)
  endif()
endfunction()
