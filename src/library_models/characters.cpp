// Models of <ctype.h>: kinds of characters, as functions and as the tables that its macros use. Those of the C
// locale, which all locales with UTF-8 share.
namespace {

constexpr int kFirst = -128, kCount = 384;  // what the tables have: all signed and unsigned characters, and EOF

// Bits of the table as the C library's header numbers them.
enum Kind : unsigned short {
  kUpper = 0x100,
  kLower = 0x200,
  kAlpha = 0x400,
  kDigit = 0x800,
  kHexadecimal = 0x1000,
  kSpace = 0x2000,
  kPrint = 0x4000,
  kGraph = 0x8000,
  kBlank = 0x1,
  kControl = 0x2,
  kPunctuation = 0x4,
  kAlphaOrDigit = 0x8,
};

constexpr unsigned kinds_of(int c) {
  if (c < 0 || c > 127) return 0;
  const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
  unsigned kinds = 0;
  if (upper) kinds |= kUpper;
  if (lower) kinds |= kLower;
  if (upper || lower) kinds |= kAlpha;
  if (digit) kinds |= kDigit;
  if (digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) kinds |= kHexadecimal;
  if (c == ' ' || (c >= '\t' && c <= '\r')) kinds |= kSpace;
  if (c >= ' ' && c <= '~') kinds |= kPrint;
  if (c > ' ' && c <= '~') kinds |= kGraph;
  if (c == ' ' || c == '\t') kinds |= kBlank;
  if (c < ' ' || c == 127) kinds |= kControl;
  if (upper || lower || digit) kinds |= kAlphaOrDigit;
  if ((kinds & kGraph) != 0 && (kinds & kAlphaOrDigit) == 0) kinds |= kPunctuation;
  return kinds;
}

constexpr int small(int c) {
  return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

constexpr int large(int c) {
  return c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c;
}

// The tables give for -128 to -2 what they give for the same character without sign.
constexpr int plain(int c) {
  return c < -1 ? c + 256 : c;
}

struct Tables {
  unsigned short kinds[kCount];
  int small[kCount], large[kCount];
};

constexpr Tables make_tables() {
  Tables tables{};
  for (int i = 0; i < kCount; ++i) {
    tables.kinds[i] = static_cast<unsigned short>(kinds_of(plain(i + kFirst)));
    tables.small[i] = small(plain(i + kFirst));
    tables.large[i] = large(plain(i + kFirst));
  }
  return tables;
}

constexpr Tables tables = make_tables();
const unsigned short* const kinds_table = tables.kinds - kFirst;
const int* const small_table = tables.small - kFirst;
const int* const large_table = tables.large - kFirst;

}  // namespace

extern "C" {

const unsigned short** __ctype_b_loc() {
  return const_cast<const unsigned short**>(&kinds_table);
}

const int** __ctype_tolower_loc() {
  return const_cast<const int**>(&small_table);
}

const int** __ctype_toupper_loc() {
  return const_cast<const int**>(&large_table);
}

int tolower(int c) {
  return small(c);
}

int toupper(int c) {
  return large(c);
}

int isupper(int c) {
  return static_cast<int>(kinds_of(c) & kUpper);
}

int islower(int c) {
  return static_cast<int>(kinds_of(c) & kLower);
}

int isalpha(int c) {
  return static_cast<int>(kinds_of(c) & kAlpha);
}

int isdigit(int c) {
  return static_cast<int>(kinds_of(c) & kDigit);
}

int isxdigit(int c) {
  return static_cast<int>(kinds_of(c) & kHexadecimal);
}

int isspace(int c) {
  return static_cast<int>(kinds_of(c) & kSpace);
}

int isprint(int c) {
  return static_cast<int>(kinds_of(c) & kPrint);
}

int isgraph(int c) {
  return static_cast<int>(kinds_of(c) & kGraph);
}

int isblank(int c) {
  return static_cast<int>(kinds_of(c) & kBlank);
}

int iscntrl(int c) {
  return static_cast<int>(kinds_of(c) & kControl);
}

int ispunct(int c) {
  return static_cast<int>(kinds_of(c) & kPunctuation);
}

int isalnum(int c) {
  return static_cast<int>(kinds_of(c) & kAlphaOrDigit);
}
}
