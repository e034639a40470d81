// Reads small files in all the ways that programs do, standard input and the environment; fails by what it read.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

int main() {
  char buffer[100];
  long total = 0;
  const int descriptor = open("by_read", O_RDONLY);
  total += read(descriptor, buffer, 10);
  total += pread(descriptor, buffer, 20, 3);
  close(descriptor);
  FILE* const stream = std::fopen("by_stream", "r");
  if (stream == nullptr) return 0;
  total += std::fgets(buffer, sizeof buffer, stream) != nullptr;
  char* line = nullptr;
  size_t size = 0;
  total += getline(&line, &size, stream);
  int number = 0;
  if (std::fscanf(stream, "%d", &number) == 1) total += number;
  std::fclose(stream);
  std::free(line);
  std::ifstream in("by_ifstream");
  for (std::string word; in >> word;) total += static_cast<long>(word.size());
  const int mapped = open("by_mmap", O_RDONLY);
  const void* const at = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, mapped, 0);
  if (at != MAP_FAILED) total += *static_cast<const char*>(at);
  if (const char* given = std::getenv("READS_MORE")) total += std::atol(given);
  if (std::fgets(buffer, sizeof buffer, stdin) != nullptr) total += buffer[0];
  std::printf("%ld\n", total);
  assert(total < 100);
  return 0;
}
