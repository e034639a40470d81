// Models of the C library's functions on strings that are called now and then. Those that programs call all the
// time (strlen, strcmp, memcpy, ...) the interpreter knows by itself (symex/quiet_calls.h): as loops they would
// make recording slow. No header declares them here: C++ has overloads for some.
using Size = decltype(sizeof 0);

extern "C" {

void* malloc(Size size);
long strtol(const char* text, char** end, int base);
long long strtoll(const char* text, char** end, int base);
double strtod(const char* text, char** end);
int tolower(int character);

void* memchr(const void* block, int wanted, Size size) {
  const auto* at = static_cast<const unsigned char*>(block);
  for (; size != 0; --size, ++at)
    if (*at == static_cast<unsigned char>(wanted)) return const_cast<unsigned char*>(at);
  return nullptr;
}

void* memrchr(const void* block, int wanted, Size size) {
  const auto* at = static_cast<const unsigned char*>(block) + size;
  while (size-- != 0)
    if (*--at == static_cast<unsigned char>(wanted)) return const_cast<unsigned char*>(at);
  return nullptr;
}

void* memmem(const void* block, Size size, const void* wanted, Size length) {
  const auto* at = static_cast<const char*>(block);
  const auto* what = static_cast<const char*>(wanted);
  for (; length <= size; --size, ++at) {
    Size same = 0;
    while (same < length && at[same] == what[same]) ++same;
    if (same == length) return const_cast<char*>(at);
  }
  return nullptr;
}

void* memccpy(void* to, const void* from, int last, Size size) {
  auto* out = static_cast<unsigned char*>(to);
  const auto* at = static_cast<const unsigned char*>(from);
  while (size-- != 0)
    if ((*out++ = *at++) == static_cast<unsigned char>(last)) return out;
  return nullptr;
}

Size strnlen(const char* text, Size most) {
  Size length = 0;
  while (length < most && text[length] != 0) ++length;
  return length;
}

char* strchrnul(const char* text, int wanted) {
  while (*text != 0 && *text != static_cast<char>(wanted)) ++text;
  return const_cast<char*>(text);
}

char* strchr(const char* text, int wanted) {
  char* const at = strchrnul(text, wanted);
  return *at == static_cast<char>(wanted) ? at : nullptr;
}

char* index(const char* text, int wanted) {
  return strchr(text, wanted);
}

char* strrchr(const char* text, int wanted) {
  const char* last = nullptr;
  for (;; ++text) {
    if (*text == static_cast<char>(wanted)) last = text;
    if (*text == 0) return const_cast<char*>(last);
  }
}

char* rindex(const char* text, int wanted) {
  return strrchr(text, wanted);
}

Size strspn(const char* text, const char* accepted) {
  Size length = 0;
  while (text[length] != 0 && strchr(accepted, text[length]) != nullptr) ++length;
  return length;
}

Size strcspn(const char* text, const char* wanted) {
  Size length = 0;
  while (text[length] != 0 && strchr(wanted, text[length]) == nullptr) ++length;
  return length;
}

char* strpbrk(const char* text, const char* wanted) {
  text += strcspn(text, wanted);
  return *text != 0 ? const_cast<char*>(text) : nullptr;
}

char* strstr(const char* text, const char* wanted) {
  for (;; ++text) {
    Size same = 0;
    while (wanted[same] != 0 && text[same] == wanted[same]) ++same;
    if (wanted[same] == 0) return const_cast<char*>(text);
    if (*text == 0) return nullptr;
  }
}

char* strcasestr(const char* text, const char* wanted) {
  for (;; ++text) {
    Size same = 0;
    while (wanted[same] != 0 &&
           tolower(static_cast<unsigned char>(text[same])) == tolower(static_cast<unsigned char>(wanted[same])))
      ++same;
    if (wanted[same] == 0) return const_cast<char*>(text);
    if (*text == 0) return nullptr;
  }
}

int strncasecmp(const char* a, const char* b, Size most) {
  for (Size i = 0; i < most; ++i) {
    const int difference =
        tolower(static_cast<unsigned char>(a[i])) - tolower(static_cast<unsigned char>(b[i]));
    if (difference != 0 || a[i] == 0) return difference;
  }
  return 0;
}

int strcasecmp(const char* a, const char* b) {
  return strncasecmp(a, b, ~Size{0});
}

char* strncat(char* to, const char* from, Size most) {
  char* out = strchrnul(to, 0);
  while (most-- != 0 && *from != 0) *out++ = *from++;
  *out = 0;
  return to;
}

char* strndup(const char* text, Size most) {
  const Size length = strnlen(text, most);
  auto* const copy = static_cast<char*>(malloc(length + 1));
  if (copy == nullptr) return nullptr;
  for (Size i = 0; i < length; ++i) copy[i] = text[i];
  copy[length] = 0;
  return copy;
}

char* strdup(const char* text) {
  return strndup(text, ~Size{0});
}

char* strtok_r(char* text, const char* between, char** rest) {
  if (text == nullptr) text = *rest;
  text += strspn(text, between);
  if (*text == 0) {
    *rest = text;
    return nullptr;
  }
  char* const end = text + strcspn(text, between);
  *rest = *end == 0 ? end : end + 1;
  *end = 0;
  return text;
}

char* __strtok_r(char* text, const char* between, char** rest) {
  return strtok_r(text, between, rest);
}

char* strtok(char* text, const char* between) {
  static char* rest;
  return strtok_r(text, between, &rest);
}

char* strsep(char** text, const char* between) {
  char* const begin = *text;
  if (begin == nullptr) return nullptr;
  char* const end = begin + strcspn(begin, between);
  *text = *end == 0 ? nullptr : end + 1;
  *end = 0;
  return begin;
}

int atoi(const char* text) {
  return static_cast<int>(strtol(text, nullptr, 10));
}

long atol(const char* text) {
  return strtol(text, nullptr, 10);
}

long long atoll(const char* text) {
  return strtoll(text, nullptr, 10);
}

double atof(const char* text) {
  return strtod(text, nullptr);
}
}
