// Follows the grammar rule by rule: one member function for each.
#include "program/effects_parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace heddle {
namespace {

// No function of the C library takes more; a larger number is a slip of the pen, not an argument.
constexpr int kMaxArgument = 63;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Offending text as it may stand in a message: tables can hold anything, terminals should not get it.
std::string quoted(std::string_view text) {
  if (text.empty()) return "the end of the line";
  constexpr size_t kLongest = 80;
  std::string out;
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
  }
  return fmt::format("'{}{}'", out, text.size() > kLongest ? "..." : "");
}

struct Token {
  std::string_view text;  // empty at the end of the line
  size_t column = 1;
};

// One line of a table: names, a colon, items.
class LineParser {
 public:
  LineParser(std::string_view line, const std::string& origin, size_t number)
      : line_(line.substr(0, line.find('#'))), origin_(origin), number_(number) {}

  Result<void> parse(std::vector<Effects>& out);

 private:
  using Rule = Result<void> (LineParser::*)();
  struct Item {
    std::string_view name;
    Rule rule;
  };
  static const std::array<Item, 11> kItems;

  Result<std::vector<std::string>> names();
  Result<void> check_name(Token name);
  Result<void> item();
  Result<void> flag(const EffectsFlag& flag, Token token);

  Result<void> sync();
  Result<void> alloc() { return allocation(AllocationKind::allocate); }
  Result<void> realloc() { return allocation(AllocationKind::reallocate); }
  Result<void> free() { return allocation(AllocationKind::release); }
  Result<void> reads() { return memory(true, false); }
  Result<void> writes() { return memory(false, true); }
  Result<void> updates() { return memory(true, true); }
  Result<void> keeps();
  Result<void> calls();
  Result<void> yields();
  Result<void> returns();
  Result<void> allocation(AllocationKind kind);
  Result<void> memory(bool reads, bool writes);

  Result<int> argument(Token token);
  Result<int> argument() { return argument(next()); }
  Result<Place> place();
  Result<Extent> extent();
  Result<Extent> argument_extent(Token word);
  Result<int> argument_word(Token token);  // argN
  Result<int> bracketed_argument_word();   // (argN)
  Result<uint64_t> number(Token token);
  Result<void> expect(char punctuation);

  void skip_space();
  Token word();  // up to the next space
  Token next();  // a word of letters, digits and _, or one other character
  Token peek();
  bool accept(std::string_view text);
  Error error_at(const Token& at, std::string what, std::string why = {}) const;
  Error expected(std::string_view what, const Token& found, std::string why = {}) const;

  std::string_view line_;
  const std::string& origin_;
  size_t number_;
  size_t position_ = 0;
  Token item_;  // the item being parsed, for messages
  bool none_ = false;
  size_t items_ = 0;
  Effects effects_;
};

constexpr std::array<LineParser::Item, 11> LineParser::kItems = {{
    {"sync", &LineParser::sync},
    {"alloc", &LineParser::alloc},
    {"realloc", &LineParser::realloc},
    {"free", &LineParser::free},
    {"reads", &LineParser::reads},
    {"writes", &LineParser::writes},
    {"updates", &LineParser::updates},
    {"keeps", &LineParser::keeps},
    {"calls", &LineParser::calls},
    {"yields", &LineParser::yields},
    {"returns", &LineParser::returns},
}};

void LineParser::skip_space() {
  while (position_ < line_.size() && is_space(line_[position_])) ++position_;
}

Token LineParser::word() {
  skip_space();
  const size_t start = position_;
  while (position_ < line_.size() && !is_space(line_[position_])) ++position_;
  return {line_.substr(start, position_ - start), start + 1};
}

Token LineParser::next() {
  skip_space();
  const size_t start = position_;
  while (position_ < line_.size() && is_word(line_[position_])) ++position_;
  if (position_ == start && position_ < line_.size()) ++position_;
  return {line_.substr(start, position_ - start), start + 1};
}

Token LineParser::peek() {
  const size_t before = position_;
  const Token token = next();
  position_ = before;
  return token;
}

bool LineParser::accept(std::string_view text) {
  if (peek().text != text) return false;
  next();
  return true;
}

Error LineParser::error_at(const Token& at, std::string what, std::string why) const {
  Error error;
  error.what = "effects table: " + std::move(what);
  error.where = fmt::format("{}:{}:{}", origin_, number_, at.column);
  error.why = std::move(why);
  return error;
}

Error LineParser::expected(std::string_view what, const Token& found, std::string why) const {
  return error_at(found, fmt::format("expected {}, found {}", what, quoted(found.text)), std::move(why));
}

Result<void> LineParser::expect(char punctuation) {
  const Token token = next();
  if (token.text == std::string_view(&punctuation, 1)) return {};
  return expected(fmt::format("'{}'", punctuation), token);
}

Result<void> LineParser::parse(std::vector<Effects>& out) {
  skip_space();
  if (position_ == line_.size()) return {};
  const std::vector<std::string> all_names = HEDDLE_TRY(names());
  while (!peek().text.empty()) HEDDLE_TRY(item());
  if (items_ == 0) return expected("an item ('none' for a function without effects)", peek());
  if (none_ && items_ > 1) return error_at(item_, "'none' stands alone: other items contradict it");
  if (effects_.pure && effects_.input) return error_at(item_, "'pure' and 'input' exclude each other");
  for (const std::string& name : all_names) {
    effects_.name = name;
    out.push_back(effects_);
  }
  return {};
}

Result<std::vector<std::string>> LineParser::names() {
  std::vector<std::string> found;
  while (true) {
    Token name = word();
    // "syscall:202" is a name; only a colon at the end of a word ends the list.
    const bool last = name.text.ends_with(':');
    if (last) name.text.remove_suffix(1);
    if (name.text.empty() && (!last || found.empty())) {
      const Token at{last ? ":" : "", name.column};
      return expected(found.empty() ? "the name of a function" : "a name or ':'", at);
    }
    if (!name.text.empty()) {
      HEDDLE_TRY(check_name(name));
      found.emplace_back(name.text);
    }
    if (last) return found;
  }
}

Result<void> LineParser::check_name(Token name) {
  constexpr std::string_view kWhy = "a '*' stands at the end of a name and means all names that begin so";
  for (size_t i = 0; i < name.text.size(); ++i) {
    const char c = name.text[i];
    const Token at{name.text.substr(i, 1), name.column + i};
    if (c == '*' && (i == 0 || i + 1 != name.text.size()))
      return error_at(at, "misplaced '*'", std::string(kWhy));
    if (!is_word(c) && std::string_view(".$@:*").find(c) == std::string_view::npos) {
      return expected("the name of a function", at, "names are linker symbols: letters, digits and _ . $ @ :");
    }
  }
  return {};
}

Result<void> LineParser::item() {
  item_ = next();
  ++items_;
  if (item_.text == "none") {
    none_ = true;
    return {};
  }
  for (const Item& candidate : kItems) {
    if (candidate.name == item_.text) return (this->*candidate.rule)();
  }
  std::vector<std::string_view> allowed;
  for (const Item& candidate : kItems) allowed.push_back(candidate.name);
  for (const EffectsFlag& candidate : kEffectsFlags) {
    if (candidate.name == item_.text) return flag(candidate, item_);
    allowed.push_back(candidate.name);
  }
  return expected("an item", item_, fmt::format("items are: {}, none", fmt::join(allowed, ", ")));
}

Result<void> LineParser::flag(const EffectsFlag& flag, Token token) {
  if (effects_.*flag.member) return error_at(token, fmt::format("'{}' is given twice", flag.name));
  effects_.*flag.member = true;
  return {};
}

Result<void> LineParser::sync() {
  if (effects_.sync != HEDDLE_SYNC_none) return error_at(item_, "a function has one 'sync' item");
  const Token kind = next();
  const auto known =
      std::ranges::find(kSyncKinds.begin() + 1, kSyncKinds.end(), kind.text, &SyncKindInfo::name);
  if (known == kSyncKinds.end()) {
    std::string allowed;
    for (size_t i = 1; i < kSyncKinds.size(); ++i)
      allowed += fmt::format("{}{}", i > 1 ? ", " : "", kSyncKinds[i].name);
    return expected("a kind of synchronisation", kind, "kinds are: " + allowed);
  }
  effects_.sync = static_cast<SyncKind>(known - kSyncKinds.begin());
  if (accept("(") && !accept(")")) {
    do {
      effects_.sync_objects.push_back(HEDDLE_TRY(argument()));
    } while (accept(","));
    HEDDLE_TRY(expect(')'));
  }
  if (effects_.sync_objects.size() == known->objects) return {};
  return error_at(kind, fmt::format("{} takes {} argument number{}, found {}", known->name, known->objects,
                                    known->objects == 1 ? "" : "s", effects_.sync_objects.size()));
}

Result<void> LineParser::allocation(AllocationKind kind) {
  if (effects_.allocation != AllocationKind::none) {
    return error_at(item_, "a function has one of 'alloc', 'realloc' and 'free'");
  }
  effects_.allocation = kind;
  HEDDLE_TRY(expect('('));
  if (kind != AllocationKind::allocate) effects_.allocation_pointer = HEDDLE_TRY(argument());
  if (kind == AllocationKind::reallocate) HEDDLE_TRY(expect(','));
  if (kind != AllocationKind::release) effects_.allocation_size = HEDDLE_TRY(extent());
  return expect(')');
}

Result<void> LineParser::memory(bool reads, bool writes) {
  HEDDLE_TRY(expect('('));
  const Token at = peek();
  const Place where = HEDDLE_TRY(place());
  if (effects_.effect_on(where.argument) != nullptr) {
    return error_at(at, fmt::format("{} has an effect already", quoted(at.text)),
                    "one of reads, writes and updates for each argument; updates is both");
  }
  HEDDLE_TRY(expect(','));
  const Extent bytes = HEDDLE_TRY(extent());
  effects_.memory.push_back({where, bytes, reads, writes});
  return expect(')');
}

Result<void> LineParser::keeps() {
  HEDDLE_TRY(expect('('));
  effects_.keeps.push_back(HEDDLE_TRY(place()));
  return expect(')');
}

Result<void> LineParser::calls() {
  HEDDLE_TRY(expect('('));
  effects_.calls.push_back(HEDDLE_TRY(argument()));
  return expect(')');
}

Result<void> LineParser::yields() {
  HEDDLE_TRY(expect('('));
  YieldedPointer pointer{.place = HEDDLE_TRY(place())};
  HEDDLE_TRY(expect(','));
  if (accept("fresh")) {
    pointer.kind = YieldedPointer::Kind::fresh;
  } else if (accept("library")) {
    pointer.kind = YieldedPointer::Kind::library;
  } else if (const Token token = next(); is_number(token.text)) {
    pointer.kind = YieldedPointer::Kind::argument;
    pointer.argument = HEDDLE_TRY(argument(token));
  } else {
    return expected("'fresh', 'library' or an argument number", token);
  }
  effects_.yields.push_back(pointer);
  return expect(')');
}

Result<void> LineParser::returns() {
  if (effects_.returns != Effects::Returns::value) return error_at(item_, "a function has one 'returns' item");
  HEDDLE_TRY(expect('('));
  if (accept("library")) {
    effects_.returns = Effects::Returns::library;
  } else if (const Token token = next(); is_number(token.text)) {
    effects_.returns = Effects::Returns::argument;
    effects_.returned_argument = HEDDLE_TRY(argument(token));
  } else {
    return expected("'library' or an argument number", token);
  }
  return expect(')');
}

Result<uint64_t> LineParser::number(Token token) {
  uint64_t value = 0;
  const char* end = token.text.data() + token.text.size();
  if (!is_number(token.text)) return expected("a number", token);
  if (std::from_chars(token.text.data(), end, value).ec == std::errc()) return value;
  return expected("a number below 2^64", token);
}

Result<int> LineParser::argument(Token token) {
  if (!is_number(token.text)) return expected("an argument number", token, "arguments are numbered from 0");
  uint64_t value = kMaxArgument + 1;
  std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (value > kMaxArgument) return expected(fmt::format("an argument number up to {}", kMaxArgument), token);
  effects_.arguments = std::max(effects_.arguments, static_cast<int>(value) + 1);
  return static_cast<int>(value);
}

Result<Place> LineParser::place() {
  const Token token = next();
  if (token.text == "varargs") return Place{Place::kVariadic};
  if (!is_number(token.text)) return expected("an argument number or 'varargs'", token);
  return Place{HEDDLE_TRY(argument(token))};
}

Result<int> LineParser::argument_word(Token token) {
  if (!token.text.starts_with("arg") || !is_number(token.text.substr(3))) {
    return expected("an argument as 'arg0', 'arg1', ...", token);
  }
  return argument({token.text.substr(3), token.column + 3});
}

Result<int> LineParser::bracketed_argument_word() {
  HEDDLE_TRY(expect('('));
  const int number = HEDDLE_TRY(argument_word(next()));
  HEDDLE_TRY(expect(')'));
  return number;
}

Result<Extent> LineParser::argument_extent(Token word) {
  Extent extent{.kind = Extent::Kind::argument, .first = HEDDLE_TRY(argument_word(word))};
  if (!accept("*")) return extent;
  const Token factor = next();
  if (is_number(factor.text)) {
    extent.amount = HEDDLE_TRY(number(factor));
  } else {
    extent.kind = Extent::Kind::product;
    extent.second = HEDDLE_TRY(argument_word(factor));
  }
  return extent;
}

Result<Extent> LineParser::extent() {
  using Kind = Extent::Kind;
  const Token token = next();
  if (is_number(token.text)) return Extent{.kind = Kind::bytes, .amount = HEDDLE_TRY(number(token))};
  if (token.text.starts_with("arg")) return argument_extent(token);
  if (token.text == "*") return Extent{.kind = Kind::pointee, .first = HEDDLE_TRY(argument_word(next()))};
  if (token.text == "ret") {
    Extent extent{.kind = Kind::returned};
    if (accept("*")) extent.amount = HEDDLE_TRY(number(next()));
    return extent;
  }
  if (token.text == "string") {
    if (peek().text != "(") return Extent{.kind = Kind::string};
    return Extent{.kind = Kind::bounded_string, .first = HEDDLE_TRY(bracketed_argument_word())};
  }
  if (token.text == "wstring") return Extent{.kind = Kind::wide_string};
  if (token.text == "iovec") return Extent{.kind = Kind::iovec, .first = HEDDLE_TRY(bracketed_argument_word())};
  if (token.text == "format")
    return Extent{.kind = Kind::format, .first = HEDDLE_TRY(bracketed_argument_word())};
  if (token.text == "object") return Extent{.kind = Kind::object};
  if (token.text == "reachable") return Extent{.kind = Kind::reachable};
  return expected(
      "an extent", token,
      "extents are: a number, argN, argN*argM, argN*NUMBER, *argN, ret, ret*NUMBER, string, string(argN), "
      "wstring, iovec(argN), format(argN), object, reachable");
}

}  // namespace

Result<void> parse_effects_line(std::string_view line, const std::string& origin, size_t number,
                                std::vector<Effects>& out) {
  return LineParser(line, origin, number).parse(out);
}

}  // namespace heddle
