# Compiler, standard, warnings, sanitizers, third-party packages.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR NOT CMAKE_CXX_COMPILER_VERSION MATCHES "^19\\.")
  message(FATAL_ERROR "heddle is built with clang 19 (found ${CMAKE_CXX_COMPILER}). Run 'make', which uses it.")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(HEDDLE_SANITIZE "Build heddle itself with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)

find_package(LLVM 19.1 REQUIRED CONFIG PATHS /usr/lib/llvm-19 NO_DEFAULT_PATH)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(ELF REQUIRED IMPORTED_TARGET libelf)
pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw)
pkg_check_modules(Z3 REQUIRED IMPORTED_TARGET z3)
# libipt comes without a pkg-config file.
find_library(IPT_LIBRARY ipt REQUIRED)
find_path(IPT_INCLUDE intel-pt.h REQUIRED)
add_library(heddle_ipt INTERFACE)
target_include_directories(heddle_ipt SYSTEM INTERFACE ${IPT_INCLUDE})
target_link_libraries(heddle_ipt INTERFACE ${IPT_LIBRARY})

add_library(heddle_flags INTERFACE)
target_include_directories(heddle_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
target_compile_options(heddle_flags INTERFACE
  -Wall -Wextra -Werror -Wpedantic -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough
  -Wno-missing-designated-field-initializers -Wno-gnu-statement-expression -Wno-gnu-statement-expression-from-macro-expansion)

# What is loaded into clang (the plugin) or linked into the user's program (the runtimes) is never sanitized:
# its host is not.
add_library(heddle_sanitize INTERFACE)
if(HEDDLE_SANITIZE)
  target_compile_options(heddle_sanitize INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(heddle_sanitize INTERFACE -fsanitize=address,undefined)
endif()

add_library(heddle_llvm INTERFACE)
target_include_directories(heddle_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(heddle_llvm INTERFACE LLVM)
