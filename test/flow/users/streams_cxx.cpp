// Streams of C++ that several threads use: std::cout mixed with printf, one file, and buffers of the program's own, which take locks and touch shared memory.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
struct Log : std::streambuf {
  std::mutex mutex;
  std::string text;
  int lines = 0;
  int overflow(int c) override {
    std::lock_guard lock(mutex);
    text.push_back(static_cast<char>(c));
    if (c == '\n') ++lines;
    return c;
  }
  std::streamsize xsputn(const char* from, std::streamsize count) override {
    std::lock_guard lock(mutex);
    text.append(from, static_cast<size_t>(count));
    return count;
  }
};
static Log log_buffer;
static std::ostream shared_log(&log_buffer);
static std::ofstream file;
static std::mutex file_mutex;
static std::string word;
static void work(int id) {
  std::ostream own_log(&log_buffer);
  std::istringstream words("some words to read");
  for (int i = 0; i < 100; ++i) {
    switch ((i + id) % 6) {
      case 0: std::cout << "cout " << i << std::endl; break;
      case 1: std::printf("printf %d\n", i); break;
      case 2: std::fprintf(stdout, "fprintf %d\n", i); break;
      case 3: {
        std::lock_guard lock(file_mutex);
        file << "file " << i << ' ' << id << '\n';
        if (!(words >> word)) words.clear(), words.seekg(0);
        break;
      }
      case 4: own_log << "own log " << i << '\n'; break;
      case 5: shared_log << "shared log " << i << '\n'; break;
    }
    if (i % 20 == 0) usleep(50);
  }
}
int main() {
  file.open("streams_cxx.text");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i);
  std::string line;
  while (std::getline(std::cin, line)) log_buffer.lines += static_cast<int>(line.size());
  for (std::thread& thread : threads) thread.join();
  std::cout << log_buffer.lines << ' ' << log_buffer.text.size() << ' ' << word << '\n';
  return log_buffer.lines % 2;
}
