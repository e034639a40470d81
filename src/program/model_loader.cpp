#include "program/model_loader.h"

#include <fmt/core.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Metadata.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <unordered_set>

#include "base/files.h"
#include "base/sha256.h"
#include "image/elf_file.h"
#include "program/library_models.h"
#include "program/link_rules.h"

namespace heddle {
namespace {

// Collects what LLVM says while modules are read and linked; it would end the process otherwise.
class DiagnosticLog : public llvm::DiagnosticHandler {
 public:
  explicit DiagnosticLog(std::string& text) : text_(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(text_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    if (!text_.empty()) stream << "; ";
    info.print(printer);
    return true;
  }

 private:
  std::string& text_;
};

Error no_model(const std::filesystem::path& binary, const ElfFile& elf) {
  const bool stripped = !elf.has_symbol_table() && elf.kind() != ElfFile::Kind::relocatable;
  return Error{
      .what = "there is no program model inside",
      .where = binary,
      .why = stripped ? "the file is stripped; the model was removed with the symbols, or was never there"
                      : "the file was not built with heddle cc",
      .next = stripped
                  ? "give the file as it was linked; 'strip' by binutils keeps the model, llvm-strip does not"
                  : "build it with CC=heddle-cc CXX=heddle-c++ (for example: make clean && make CC=heddle-cc)"};
}

Error link_time_only(const std::filesystem::path& binary) {
  return Error{.what = "there is no program model inside, though heddle cc linked the program",
               .where = binary,
               .why = "all of it was compiled at link time (-flto) or by another compiler",
               .next = "build it without -flto, with CC=heddle-cc CXX=heddle-c++"};
}

// A libtool wrapper script is the most common wrong file: say where the program is.
std::optional<Error> script_error(const std::filesystem::path& binary) {
  Result<std::string> text = read_file(binary);
  if (!text || !text->starts_with("#!")) return std::nullopt;
  const std::filesystem::path real = binary.parent_path() / ".libs" / binary.filename();
  std::error_code ignored;
  return Error{.what = "this is a script, not a program",
               .where = binary,
               .why = fs::exists(real, ignored)
                          ? "libtool puts a script in place of a program it has not installed"
                          : "",
               .next = fs::exists(real, ignored) ? fmt::format("give {}", real.string())
                                                 : "give the program that it starts"};
}

TranslationUnit unit_of(const ModelRecord& record) {
  TranslationUnit unit;
  auto text = [&](const char* key) {
    auto found = record.meta.find(key);
    return found != record.meta.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!record.meta.is_object()) return unit;
  unit.source = text("source");
  unit.folder = text("folder");
  if (auto args = record.meta.find("args"); args != record.meta.end() && args->is_array())
    for (const Json& arg : *args)
      if (arg.is_string()) unit.args.push_back(arg.get<std::string>());
  return unit;
}

Error bad_module(const std::string& name, const TranslationUnit& unit, std::string why) {
  return Error{
      .what = fmt::format("cannot read the model of {}", unit.source.empty() ? "a source file" : unit.source),
      .where = name,
      .why = std::move(why),
      .next = "build the program again with heddle cc"};
}

// What crt1.o, crti.o, crtbegin.o and libc_nonshared.a bring into a program: code that calls nothing of it.
bool is_startup_code(std::string_view name) {
  static const std::unordered_set<std::string_view> kNames = {"_start",
                                                              "_init",
                                                              "_fini",
                                                              "deregister_tm_clones",
                                                              "register_tm_clones",
                                                              "__do_global_dtors_aux",
                                                              "frame_dummy",
                                                              "_dl_relocate_static_pie",
                                                              "__libc_csu_init",
                                                              "__libc_csu_fini",
                                                              "atexit",
                                                              "at_quick_exit",
                                                              "pthread_atfork",
                                                              "__pthread_atfork",
                                                              "__stack_chk_fail_local",
                                                              "stat",
                                                              "fstat",
                                                              "lstat",
                                                              "mknod"};
  return kNames.contains(name);
}

// Function names before linking, which renames local ones that meet.
void collect_defined_names(const llvm::Module& module, std::unordered_set<std::string>& names) {
  for (const llvm::Function& f : module)
    if (!f.isDeclaration()) names.insert(f.getName().str());
  for (const llvm::GlobalAlias& alias : module.aliases()) names.insert(alias.getName().str());
  for (const llvm::GlobalIFunc& ifunc : module.ifuncs()) names.insert(ifunc.getName().str());
}

// Linking may rename a function, and of several bodies keeps one: which, and how it was called in its object,
// is kept.
void name_origins(llvm::Module& module, size_t unit) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Metadata* number = llvm::ConstantAsMetadata::get(
      llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), static_cast<uint32_t>(unit)));
  for (llvm::Function& f : module)
    if (!f.isDeclaration())
      f.setMetadata(kFunctionOrigin,
                    llvm::MDNode::get(context, {number, llvm::MDString::get(context, f.getName())}));
}

struct Linking {
  LoadedModel model;
  std::unordered_set<std::string> defined;
};

Result<Linking> link_records(std::string_view modules, std::string_view links, const std::string& name) {
  std::vector<ModelRecord> records =
      HEDDLE_TRY(decode_records(modules, fmt::format("{} section {}", name, HEDDLE_SECTION_MODULE)));
  std::vector<ModelRecord> plans =
      HEDDLE_TRY(decode_records(links, fmt::format("{} section {}", name, HEDDLE_SECTION_LINK)));

  Linking out;
  LoadedModel& model = out.model;
  model.identity = Sha256().update(modules).update(links).hex().substr(0, 32);
  model.context = std::make_unique<llvm::LLVMContext>();
  std::string problems;
  model.context->setDiagnosticHandler(std::make_unique<DiagnosticLog>(problems));
  // One type description for all modules that include the same header: much less to link in C++ programs.
  model.context->enableDebugTypeODRUniquing();
  model.module = std::make_unique<llvm::Module>(name, *model.context);
  // heddle cc puts its record in front of all inputs: the first one is of the link that made this file, others
  // came with partially linked inputs.
  if (!plans.empty()) model.link_plan = HEDDLE_TRY(LinkPlan::from_record(plans.front()));
  const LinkRules rules = model.link_plan ? LinkRules(*model.link_plan) : LinkRules();
  llvm::Linker linker(*model.module);
  for (ModelRecord& record : records) {
    if (record.kind != HEDDLE_RECORD_module)
      return bad_module(name, {}, "a record of another kind among the modules");
    TranslationUnit unit = unit_of(record);
    // Lazily: of an inline function that many modules define, only the body that is kept gets read.
    auto module = llvm::getOwningLazyBitcodeModule(
        llvm::MemoryBuffer::getMemBufferCopy(record.body, unit.source), *model.context);
    if (!module) return bad_module(name, unit, llvm::toString(module.takeError()));
    collect_defined_names(**module, out.defined);
    name_origins(**module, model.units.size());
    rules.apply(**module, *model.module);
    if (linker.linkInModule(std::move(*module)) || !problems.empty()) return bad_module(name, unit, problems);
    record.body.clear();
    model.units.push_back(std::move(unit));
  }
  rules.finish(*model.module);
  return out;
}

// Ids follow from the models too, so the identity names those that were used.
Result<void> add_library_models(LoadedModel& model) {
  std::vector<std::string> bitcode;
  for (const fs::path& file : HEDDLE_TRY(library_model_files())) bitcode.push_back(HEDDLE_TRY(read_file(file)));
  const std::vector<size_t> used =
      HEDDLE_TRY(link_library_models(*model.module, bitcode, model.foreign_functions));
  if (used.empty()) return {};
  Sha256 hash;
  hash.update(model.identity);
  for (const size_t i : used) hash.update(bitcode[i]);
  model.identity = hash.hex().substr(0, 32);
  return {};
}

}  // namespace

Result<LoadedModel> link_model(std::string_view modules, std::string_view links, const std::string& name) {
  return HEDDLE_TRY(link_records(modules, links, name)).model;
}

Result<LoadedModel> load_model(const std::filesystem::path& binary) {
  Result<ElfFile> elf = ElfFile::open(binary);
  if (!elf) {
    if (std::optional<Error> script = script_error(binary)) return *script;
    return elf.error();
  }
  const std::optional<std::string_view> modules = elf->section(HEDDLE_SECTION_MODULE);
  if (!modules && elf->section(HEDDLE_SECTION_LINK)) return link_time_only(binary);
  if (!modules) return no_model(binary, *elf);
  Linking linking =
      HEDDLE_TRY(link_records(*modules, elf->section(HEDDLE_SECTION_LINK).value_or(""), binary.string()));
  LoadedModel model = std::move(linking.model);
  model.build_id = elf->build_id();
  model.foreign_functions_known = elf->has_symbol_table();
  for (const ElfSymbol& symbol : elf->functions())
    if (!linking.defined.contains(symbol.name) && !is_startup_code(symbol.name))
      model.foreign_functions.push_back(symbol.name);
  HEDDLE_TRY(add_library_models(model));
  return model;
}

}  // namespace heddle
