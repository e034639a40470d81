// Inline code of the C++ library's headers stores to objects whose functions are in the library: a thread sees
// its own stores there too, however long they may stay in its store buffer. The same for what functions find
// behind a va_list or by a format made at run time.
#include <cassert>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

static char name[2][16], line[2][32];

static void print(char* to, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(to, sizeof line[0], format, arguments);
  va_end(arguments);
}

static void work(int i) {
  std::ostringstream out;
  out << std::setw(5) << std::setfill('0') << i << ' ' << std::hex << 255 << ' ' << 3.5;
  assert(out.str() == "0000" + std::to_string(i) + " ff 3.5");
  std::istringstream in("1 2 3");
  int a = 0, b = 0, c = 0;
  in >> a >> b >> std::dec >> c;
  assert(a == 1 && b == 2 && c == 3);

  const std::regex pattern("(a)b");
  std::smatch found;
  const std::string text = "xab";
  assert(std::regex_search(text, found, pattern) && found[1] == "a");

  std::strcpy(name[i], "name");
  name[i][0] = 'N';
  print(line[i], "%s %d", name[i], i);
  assert(std::strncmp(line[i], "Name ", 5) == 0 && line[i][5] == '0' + i);
  const std::string format = "%s" + std::string(1, '!');
  name[i][1] = 'A';
  std::snprintf(line[i], sizeof line[i], format.c_str(), name[i]);
  assert(std::strcmp(line[i], "NAme!") == 0);
}

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  std::cerr << "done\n";
}
