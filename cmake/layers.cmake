# One target per folder of src/. scripts/check_layers.py checks the includes against the same table.

# Headers of others are most of what compiling costs: each target compiles them once.
set(HEDDLE_COMMON_HEADERS <algorithm> <chrono> <filesystem> <functional> <map> <memory> <optional> <string> <vector>
  <fmt/format.h> <nlohmann/json.hpp>)
set(HEDDLE_LLVM_HEADERS <llvm/ADT/DenseMap.h> <llvm/ADT/DenseSet.h> <llvm/IR/IRBuilder.h> <llvm/IR/InstIterator.h>
  <llvm/IR/IntrinsicInst.h> <llvm/IR/Module.h>)
function(heddle_large_headers target)
  get_target_property(links ${target} LINK_LIBRARIES)
  set(headers ${HEDDLE_COMMON_HEADERS})
  if(links MATCHES "heddle_(llvm|program|recording|trace|instrument|build|replay|symex|smt|solve|driver)")
    list(APPEND headers ${HEDDLE_LLVM_HEADERS})
  endif()
  if(links MATCHES "GTest")
    list(APPEND headers <gtest/gtest.h>)
  endif()
  target_precompile_headers(${target} PRIVATE ${headers})
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
  if(BUILD_TESTING AND tests)
    find_package(GTest REQUIRED)
    add_executable(${name}_test ${tests})
    target_compile_definitions(${name}_test PRIVATE HEDDLE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    target_link_libraries(${name}_test PRIVATE heddle_${name} heddle_sanitize GTest::gtest GTest::gmock GTest::gtest_main)
    heddle_large_headers(${name}_test)
    set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/unit)
  endif()
endfunction()
