#include "driver/pt_inputs.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>
#include <sys/stat.h>

#include <cstring>
#include <set>

#include "base/files.h"
#include "pt/pt_path_source.h"

namespace heddle {
namespace {

constexpr off_t kLargest = 64 << 20;

void add_names_in_code(const llvm::Module& module, std::set<std::string>& names) {
  for (const llvm::Function& function : module) {
    const llvm::StringRef name = function.getName();
    if (name != "open" && name != "open64" && name != "openat" && name != "fopen" && name != "fopen64")
      continue;
    for (const llvm::User* user : function.users()) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
      if (call == nullptr || call->getCalledFunction() != &function || call->arg_size() < 2) continue;
      const auto* text = llvm::dyn_cast<llvm::GlobalVariable>(
          call->getArgOperand(name == "openat" ? 1 : 0)->stripPointerCasts());
      if (text == nullptr || !text->hasInitializer()) continue;
      const auto* characters = llvm::dyn_cast<llvm::ConstantDataArray>(text->getInitializer());
      if (characters != nullptr && characters->isCString()) names.insert(characters->getAsCString().str());
    }
  }
}

}  // namespace

std::vector<heddle_record_file> files_that_may_be_read(const Program& program,
                                                       const std::vector<std::string>& command) {
  std::set<std::string> names;
  for (size_t i = 1; i < command.size(); ++i) {
    names.insert(command[i]);
    names.insert(command[i].substr(command[i].find('=') + 1));
  }
  add_names_in_code(program.module(), names);
  std::vector<heddle_record_file> out;
  for (const std::string& name : names) {
    const std::string path = fs::absolute(name).lexically_normal();
    struct stat status{};
    if (name.empty() || path.size() >= sizeof heddle_record_file::path || ::stat(path.c_str(), &status) != 0 ||
        !S_ISREG(status.st_mode) || status.st_size > kLargest)
      continue;
    heddle_record_file& file = out.emplace_back();
    file = {};
    std::memcpy(file.path, path.c_str(), path.size() + 1);
    file.device = status.st_dev;
    file.inode = status.st_ino;
    file.size = static_cast<uint64_t>(status.st_size);
    file.modified_s = status.st_mtim.tv_sec;
    file.modified_ns = status.st_mtim.tv_nsec;
  }
  return out;
}

PtInputs inputs_of_recording(const RecordingInfo& info, const fs::path& folder, ProgramImage& image) {
  PtInputs out{.folder = info.folder};
  for (const RecordedFile& file : info.files)
    if (file.state == RecordedFile::State::kept)
      if (Result<std::string> bytes = read_file(folder / kInputsFolder / file.copy))
        out.files.push_back({.path = file.path, .bytes = std::move(*bytes)});
  if (Result<std::string> bytes = read_file(folder / kInputFile)) out.standard_input = std::move(*bytes);
  out.environment_is_known = !info.environment_left_out && !info.environment.empty();
  std::vector<uint8_t> texts;
  for (const std::string& setting : info.environment) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) continue;
    out.environment.try_emplace(setting.substr(0, equals), PtAddresses::environment() + texts.size());
    texts.insert(texts.end(), setting.c_str() + equals + 1, setting.c_str() + setting.size() + 1);
  }
  if (!texts.empty()) image.add_memory(PtAddresses::environment(), std::move(texts));
  return out;
}

}  // namespace heddle
