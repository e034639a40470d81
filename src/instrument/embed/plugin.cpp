// The embed plugin: loaded into clang by heddle cc, it stores each module, as code generation sees it, in the
// object file that is being made (decision D1).
//
// The module is written to the section by module-level assembly. A global variable would do the same, but LLVM
// lets only .llvmbc and .llvmcmd be non-allocated; assembly lets us name the section, works with an external
// assembler, and stays in the output of -S, so that assembling it later loses nothing.
//
// "As code generation sees it": the last extension point of the optimisation pipeline is not its end. From -O1
// on, passes that merge constants and rebuild lookup tables follow; storing the module before them made the
// text of the stored module differ from the program's. So there the module is stored behind the last pass that
// changes code, by a callback; at -O0 the extension point is the end.
//
// heddle cc passes through the environment:
//   HEDDLE_EMBED_META   JSON stored with the module: command line and folder
//   HEDDLE_EMBED_STRIP  1: the user asked for no debug information; it was made for the model only and is
//   removed
//                       from what code generation gets. Line tables alone do not change the code that is made,
//                       but clang also writes source locations into loop metadata, and gives metadata to loops
//                       that would have none; passes look at it. That is taken out before the first pass.
//   HEDDLE_EMBED_LOOP_COUNTERS  1: add loop counters (loop_counters.h)
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include <cstdlib>
#include <string>

#include "base/version.h"
#include "image/model_record.h"
#include "instrument/embed/loop_counters.h"

namespace heddle {
namespace {

// The bytes as .ascii directives of some kilobytes each.
std::string as_assembly(const std::string& bytes) {
  constexpr size_t kBytesPerLine = 4096;
  std::string text = ".pushsection " HEDDLE_SECTION_MODULE ",\"\",@progbits\n";
  text.reserve(bytes.size() * 4);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % kBytesPerLine == 0) text += i == 0 ? ".ascii \"" : "\"\n.ascii \"";
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (c >= ' ' && c <= '~' && c != '"' && c != '\\') {
      text += static_cast<char>(c);
    } else {
      const char octal[] = {'\\', static_cast<char>('0' + (c >> 6)), static_cast<char>('0' + (c >> 3 & 7)),
                            static_cast<char>('0' + (c & 7))};
      text.append(octal, sizeof octal);
    }
  }
  return text + "\"\n.popsection\n";
}

std::string encode_module(const llvm::Module& module) {
  ModelRecord record;
  const char* meta = std::getenv("HEDDLE_EMBED_META");
  record.meta = Json::parse(meta != nullptr ? meta : "{}", nullptr, /*allow_exceptions=*/false);
  if (!record.meta.is_object()) record.meta = Json::object();
  record.meta["source"] = module.getSourceFileName();
  llvm::raw_string_ostream stream(record.body);
  // The order of use lists decides ties in code generation (D1): without it the text differs by a few bytes.
  llvm::WriteBitcodeToFile(module, stream, /*ShouldPreserveUseListOrder=*/true);
  return encode_record(record);
}

bool strips_debug_info() {
  return std::getenv("HEDDLE_EMBED_STRIP") != nullptr;
}

// Takes source locations out of a loop's metadata, and the metadata away when nothing else is in it.
void strip_loop_locations(llvm::Instruction& latch) {
  const llvm::MDNode* loop = latch.getMetadata(llvm::LLVMContext::MD_loop);
  if (loop == nullptr) return;
  auto is_location = [](const llvm::Metadata* md) { return llvm::isa_and_nonnull<llvm::DILocation>(md); };
  if (llvm::all_of(llvm::drop_begin(loop->operands()), is_location)) {
    latch.setMetadata(llvm::LLVMContext::MD_loop, nullptr);
  } else {
    llvm::updateLoopMetadataDebugLocations(latch,
                                           [&](llvm::Metadata* md) { return is_location(md) ? nullptr : md; });
  }
}

struct StripLoopLocationsPass : llvm::PassInfoMixin<StripLoopLocationsPass> {
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    for (llvm::Function& function : module)
      for (llvm::BasicBlock& block : function)
        if (llvm::Instruction* end = block.getTerminator()) strip_loop_locations(*end);
    return llvm::PreservedAnalyses::all();
  }
};

void embed(llvm::Module& module) {
  const std::string assembly = as_assembly(encode_module(module));
  if (strips_debug_info()) llvm::StripDebugInfo(module);
  module.appendModuleInlineAsm(assembly);
}

struct EmbedPass : llvm::PassInfoMixin<EmbedPass> {
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    embed(module);
    return llvm::PreservedAnalyses::none();
  }
};

void register_callbacks(llvm::PassBuilder& builder) {
  if (strips_debug_info())
    builder.registerPipelineStartEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
      passes.addPass(StripLoopLocationsPass());
    });
  builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel level) {
    if (std::getenv("HEDDLE_EMBED_LOOP_COUNTERS") != nullptr) passes.addPass(LoopCountersPass());
    if (level == llvm::OptimizationLevel::O0) passes.addPass(EmbedPass());
  });
  llvm::PassInstrumentationCallbacks* callbacks = builder.getPassInstrumentationCallbacks();
  if (callbacks == nullptr) return;
  callbacks->registerAfterPassCallback([](llvm::StringRef pass, llvm::Any ir, const llvm::PreservedAnalyses&) {
    const auto* module = llvm::any_cast<const llvm::Module*>(&ir);
    // Callbacks are given what they may look at. Nothing but a pass that writes remarks comes behind this one,
    // so there is no analysis left for the change to make stale.
    if (module != nullptr && pass == "RelLookupTableConverterPass") embed(const_cast<llvm::Module&>(**module));
  });
}

}  // namespace
}  // namespace heddle

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "heddle-embed", HEDDLE_VERSION, heddle::register_callbacks};
}
