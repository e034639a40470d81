#include "program/library_models.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <unordered_set>

#include "base/files.h"

namespace heddle {
namespace {

using Names = std::unordered_set<std::string>;

Error bad_models(std::string where, std::string why) {
  return Error{.what = "cannot use heddle's models of library functions",
               .where = std::move(where),
               .why = std::move(why),
               .next = "install heddle again as a whole"};
}

// The program's declaration of what the model defines; null when it has none, or a definition of its own.
const llvm::GlobalValue* declared(const llvm::Module& program, const llvm::GlobalValue& model) {
  if (model.isDeclaration() || model.hasLocalLinkage() || model.hasAppendingLinkage()) return nullptr;
  const llvm::GlobalValue* value = program.getNamedValue(model.getName());
  const bool open = value != nullptr && !value->hasLocalLinkage() && value->isDeclarationForLinker();
  return open ? value : nullptr;
}

// Names that nobody but the libraries may define.
bool is_reserved(llvm::StringRef name) {
  return name.starts_with("__") || name.starts_with("_ZSt") || name.starts_with("_ZNSt") ||
         name.starts_with("_ZNKSt");
}

// Of OpenMP's library, whose functions work on state that they share (library_models/openmp.cpp).
bool is_openmp(llvm::StringRef name) {
  return name.starts_with("__kmpc_") || name.starts_with("omp_");
}

// A function of these that the program uses and the model lacks, where it has others. Empty: none.
std::string lacking_openmp(const llvm::Module& program, const llvm::Module& model, const Names& foreign) {
  if (model.getFunction("__kmpc_fork_call") == nullptr) return {};
  for (const llvm::Function& function : program) {
    if (!function.isDeclaration() || function.use_empty() || !is_openmp(function.getName())) continue;
    const llvm::Function* defined = model.getFunction(function.getName());
    const bool fits = defined != nullptr && !defined->isDeclaration() &&
                      defined->getFunctionType() == function.getFunctionType();
    if (!fits && !foreign.contains(function.getName().str())) return function.getName().str();
  }
  return {};
}

// How the models were compiled must not change how the program is: of their flags only the one stays that says
// how to read the line tables. Groups of sections (comdat) are for what other objects may define too.
void prepare(llvm::Module& model, const llvm::Module& program) {
  llvm::SmallVector<llvm::Module::ModuleFlagEntry, 8> flags;
  model.getModuleFlagsMetadata(flags);
  if (llvm::NamedMDNode* old = model.getModuleFlagsMetadata()) old->eraseFromParent();
  for (const llvm::Module::ModuleFlagEntry& flag : flags)
    if (flag.Key->getString() == "Debug Info Version")
      model.addModuleFlag(flag.Behavior, flag.Key->getString(), flag.Val);
  for (llvm::GlobalObject& object : model.global_objects()) object.setComdat(nullptr);
  model.setTargetTriple(program.getTargetTriple());
  model.setDataLayout(program.getDataLayout());
}

class ModelLinker {
 public:
  ModelLinker(llvm::Module& program, const std::vector<std::string>& foreign)
      : program_(program), linker_(program), foreign_(foreign.begin(), foreign.end()) {}

  // Says whether anything of the model was needed.
  Result<bool> link(const std::string& bitcode) {
    auto model = llvm::getOwningLazyBitcodeModule(
        llvm::MemoryBuffer::getMemBuffer(bitcode, "library model", false), program_.getContext());
    if (!model) return bad_models({}, llvm::toString(model.takeError()));
    if (!choose(**model)) return false;
    prepare(**model, program_);
    const auto note_names = [&](const llvm::Module&, const llvm::StringSet<>& names) {
      for (const auto& name : names) linked_.insert(name.getKey().str());
    };
    if (linker_.linkInModule(std::move(*model), llvm::Linker::LinkOnlyNeeded, note_names))
      return bad_models(program_.getName().str(), "LLVM cannot link them with the program");
    return true;
  }

  // When all are linked: until then models must find each other by name.
  void finish() {
    for (const std::string& name : linked_) {
      auto* alias = llvm::dyn_cast_or_null<llvm::GlobalAlias>(program_.getNamedValue(name));
      if (alias == nullptr) continue;
      alias->replaceAllUsesWith(alias->getAliasee());
      alias->eraseFromParent();
    }
    for (const std::string& name : linked_) {
      llvm::GlobalValue* value = program_.getNamedValue(name);
      if (value == nullptr || value->isDeclaration()) continue;
      value->setVisibility(llvm::GlobalValue::DefaultVisibility);
      value->setLinkage(llvm::GlobalValue::InternalLinkage);
      auto* function = llvm::dyn_cast<llvm::Function>(value);
      if (function != nullptr && function->hasFnAttribute(llvm::Attribute::AlwaysInline)) put_inline(*function);
    }
  }

 private:
  // What does little more than call a function of libc: the call then stands where the program called.
  static void put_inline(llvm::Function& function) {
    std::vector<llvm::CallBase*> calls;
    for (llvm::User* user : function.users())
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(user); call && call->getCalledFunction() == &function)
        calls.push_back(call);
    for (llvm::CallBase* call : calls) {
      llvm::InlineFunctionInfo info;
      llvm::InlineFunction(*call, info);
    }
    if (function.use_empty()) function.eraseFromParent();
  }

  // Hides what the program declares and must not get from the model. Says whether something is left.
  bool choose(llvm::Module& model) const {
    if (!lacking_openmp(program_, model, foreign_).empty()) return false;
    bool wanted = false;
    for (llvm::GlobalValue& value : model.global_values()) {
      const llvm::GlobalValue* declaration = declared(program_, value);
      if (declaration == nullptr) continue;
      // Programs in old C may declare what they like.
      const bool fits = !declaration->use_empty() && declaration->getValueType() == value.getValueType();
      const std::string name = value.getName().str();
      if (fits && (is_reserved(name) || !foreign_.contains(name)))
        wanted = true;
      else
        value.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
    return wanted;
  }

  llvm::Module& program_;
  llvm::Linker linker_;
  Names foreign_;
  std::set<std::string> linked_;
};

}  // namespace

Result<std::vector<fs::path>> library_model_files() {
  std::vector<fs::path> folders = {executable_path().parent_path().parent_path() / "share/heddle"};
  if (const char* share = std::getenv("HEDDLE_SHARE")) folders.emplace_back(share);
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / "models", ignored))
      if (entry.path().extension() == ".bc") files.push_back(entry.path());
    if (!files.empty()) break;
  }
  if (files.empty()) return bad_models(folders.front() / "models", "there are none");
  std::ranges::sort(files);
  return files;
}

Result<std::vector<size_t>> link_library_models(llvm::Module& program, const std::vector<std::string>& models,
                                                const std::vector<std::string>& foreign) {
  ModelLinker linker(program, foreign);
  std::set<size_t> used;
  // A model may call functions that other models stand for.
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < models.size(); ++i) {
      if (!HEDDLE_TRY(linker.link(models[i]))) continue;
      more = true;
      used.insert(i);
    }
  }
  linker.finish();
  return std::vector<size_t>(used.begin(), used.end());
}

Result<std::string> openmp_without_model(const llvm::Module& program) {
  if (llvm::none_of(program, [](const llvm::Function& function) {
        return function.isDeclaration() && !function.use_empty() && function.getName().starts_with("__kmpc_");
      }))
    return std::string();
  for (const fs::path& file : HEDDLE_TRY(library_model_files())) {
    const std::string bitcode = HEDDLE_TRY(read_file(file));
    auto model = llvm::getOwningLazyBitcodeModule(
        llvm::MemoryBuffer::getMemBuffer(bitcode, "library model", false), program.getContext());
    if (!model) return bad_models(file, llvm::toString(model.takeError()));
    if (std::string name = lacking_openmp(program, **model, {}); !name.empty()) return name;
  }
  return std::string();
}

}  // namespace heddle
