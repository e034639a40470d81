#include "wrapper/command_line.h"

#include <algorithm>
#include <string_view>

#include "base/files.h"

namespace heddle {
namespace {

using Word = CommandLine::Word;
using Product = CommandLine::Product;
using InputKind = CommandLine::InputKind;

// Lists of words are written as texts with blanks between them.
bool one_of(std::string_view word, std::string_view list) {
  for (size_t at = list.find(word); at != std::string_view::npos; at = list.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) {
      return !word.empty() && word.find(' ') == std::string_view::npos;
    }
  }
  return false;
}

bool begins_with_one_of(std::string_view word, std::string_view list) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    if (word.starts_with(list.substr(0, end))) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// Options whose argument is the next word, and that the linker does not need.
constexpr std::string_view kSeparate =
    "-o -x -D -U -I -include -imacros -isystem -iquote -idirafter -iprefix -iwithprefix -iwithprefixbefore "
    "-isysroot -MF -MT -MQ -MJ -Xclang -Xassembler -Xpreprocessor -Xopenmp-target -mllvm -arch -A -dumpbase "
    "-dumpdir -aux-info -G --param -ivfsoverlay -working-directory -resource-dir -cxx-isystem "
    "-stdlib++-isystem -iframework -include-pch -serialize-diagnostics -add-plugin -meabi";

// Options the linker needs, with the next word for argument.
constexpr std::string_view kSeparateForLinker =
    "-L -T -u -e -z -h -B -Xlinker -target --sysroot -rpath -F -framework -gcc-toolchain -undefined";

constexpr std::string_view kForLinker =
    "-pthread -pthreads -rdynamic -static -static-pie -shared --shared -pie -no-pie -nopie -nostdlib "
    "-nostdlib++ "
    "-nostartfiles -nodefaultlibs -nolibc -static-libgcc -shared-libgcc -static-libstdc++ -static-openmp -m32 "
    "-m64 "
    "-coverage --coverage";

constexpr std::string_view kPrefixForLinker =
    "-Wl, -L -T -fuse-ld= --ld-path= -stdlib= -rtlib= --rtlib= -unwindlib= --unwindlib= -B --sysroot= "
    "--target= "
    "--gcc-toolchain= -fsanitize -fopenmp -fprofile";

constexpr std::string_view kInformation =
    "--version --help -help -### -dumpversion -dumpmachine -dumpspecs --autocomplete -print --print -cc1";

constexpr std::string_view kUntouched =
    "-E -M -MM --preprocess -fsyntax-only -emit-llvm -emit-ast --analyze --precompile -emit-pch -rewrite-objc "
    "-emit-interface-stubs -verify-pch";

constexpr std::string_view kAssemblerExtensions = ".s .S .sx";
constexpr std::string_view kSourceExtensions =
    ".c .i .ii .cc .cp .cxx .cpp .CPP .c++ .C .CC .CXX .cppm .ll .bc .m .mm";
constexpr std::string_view kHeaderExtensions = ".h .hh .H .hp .hpp .hxx .h++ .pch";

// "header" stands for inputs that become precompiled headers: no code is made from them.
enum class Language { by_name, source, assembler, header };

Language language_of(std::string_view name) {
  if (name == "none") return Language::by_name;
  if (name.starts_with("assembler")) return Language::assembler;
  return name.ends_with("-header") ? Language::header : Language::source;
}

Language by_extension(std::string_view file) {
  const std::string extension = fs::path(file).extension();
  if (one_of(extension, kAssemblerExtensions)) return Language::assembler;
  if (one_of(extension, kSourceExtensions)) return Language::source;
  return one_of(extension, kHeaderExtensions) ? Language::header : Language::by_name;
}

// -g, -g2, -ggdb3, -gdwarf-4, -gline-tables-only: on; -g0: off; -gz, -grecord-command-line and the like: no
// opinion.
void note_debug_option(std::string_view word, CommandLine& line) {
  constexpr std::string_view kOn = "-ggdb -gdwarf -gline- -gmlt -glldb -gsce -gdbx";
  if (word == "-g0" || word == "-ggdb0")
    line.debug_info = false;
  else if (word == "-g" || word == "-g1" || word == "-g2" || word == "-g3" || begins_with_one_of(word, kOn))
    line.debug_info = true;
}

class Parser {
 public:
  CommandLine parse(const std::vector<std::string>& args) {
    for (size_t i = 0; i < args.size(); ++i) i += take(args, i);
    if (information_)
      line_.product = Product::information;
    else if (untouched_ || headers_ > 0 || inputs_ == 0)
      line_.product = Product::untouched;
    else if (assembly_)
      line_.product = Product::assembly;
    else if (object_)
      line_.product = Product::object;
    else
      line_.product = partial_ ? Product::partial : Product::linked;
    return std::move(line_);
  }

 private:
  // Takes the word at i; returns how many further words belong to it.
  size_t take(const std::vector<std::string>& args, size_t i) {
    const std::string& word = args[i];
    const bool has_next = i + 1 < args.size();
    if (only_inputs_ || word == "-" || word.empty() || word[0] != '-') {
      add_input(word);
      return 0;
    }
    if (word == "--") {
      only_inputs_ = true;
      add(Word::Kind::other, {word});
      return 0;
    }
    note_flags(word);
    if (has_next && (word == "-l")) {
      add(Word::Kind::library, {"-l" + args[i + 1]});
      return 1;
    }
    if (word.starts_with("-l")) {
      add(Word::Kind::library, {word});
      return 0;
    }
    if (has_next && one_of(word, kSeparateForLinker)) {
      if (word == "-L") line_.search.push_back(args[i + 1]);
      add(Word::Kind::linker_flag, {word, args[i + 1]});
      return 1;
    }
    if (has_next && one_of(word, kSeparate)) {
      if (word == "-o") line_.output = args[i + 1];
      if (word == "-x") language_ = language_of(args[i + 1]);
      add(Word::Kind::other, {word, args[i + 1]});
      return 1;
    }
    if (word.starts_with("-L")) line_.search.push_back(word.substr(2));
    if (word.starts_with("-o") && word.size() > 2 && word != "-objcmt-migrate-all")
      line_.output = word.substr(2);
    if (word.starts_with("-x")) language_ = language_of(word.substr(2));
    const bool for_linker = one_of(word, kForLinker) || begins_with_one_of(word, kPrefixForLinker);
    add(for_linker ? Word::Kind::linker_flag : Word::Kind::other, {word});
    return 0;
  }

  void note_flags(const std::string& word) {
    information_ |= begins_with_one_of(word, kInformation);
    untouched_ |= one_of(word, kUntouched);
    object_ |= word == "-c" || word == "--compile";
    assembly_ |= word == "-S" || word == "--assemble";
    partial_ |= word == "-r" || word == "-Wl,-r" || word == "-Wl,--relocatable";
    line_.shared |= word == "-shared" || word == "--shared";
    if (word == "-fno-lto")
      line_.link_time_optimisation = false;
    else if (word.starts_with("-flto"))
      line_.link_time_optimisation = true;
    if (word.starts_with("-g")) note_debug_option(word, line_);
  }

  void add(Word::Kind kind, std::vector<std::string> tokens) {
    line_.words.push_back({kind, std::move(tokens)});
  }

  void add_input(const std::string& file) {
    const Language language = language_ == Language::by_name ? by_extension(file) : language_;
    ++inputs_;
    headers_ += language == Language::header;
    line_.compiles |= language == Language::source;
    const InputKind kind = language == Language::source      ? InputKind::source
                           : language == Language::assembler ? InputKind::assembler
                                                             : InputKind::for_linker;
    line_.words.push_back({Word::Kind::input, {file}, kind});
  }

  CommandLine line_;
  Language language_ = Language::by_name;
  size_t inputs_ = 0, headers_ = 0;
  bool information_ = false, untouched_ = false, object_ = false, assembly_ = false, partial_ = false;
  bool only_inputs_ = false;
};

// Words of a response file, by the GNU rules: white space separates, quotes group, a backslash takes the next
// character.
std::vector<std::string> response_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      inside = true;
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(word);
  return words;
}

void expand_into(std::vector<std::string>& out, const std::vector<std::string>& args, int depth) {
  for (const std::string& arg : args) {
    Result<std::string> text = arg.starts_with("@") && depth < 16 ? read_file(arg.substr(1)) : Error{};
    if (text)
      expand_into(out, response_words(*text), depth + 1);
    else
      out.push_back(arg);
  }
}

}  // namespace

std::vector<std::string> expand_response_files(const std::vector<std::string>& args) {
  std::vector<std::string> out;
  expand_into(out, args, 0);
  return out;
}

CommandLine parse_command_line(const std::vector<std::string>& args) {
  return Parser().parse(args);
}

}  // namespace heddle
