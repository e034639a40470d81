// Verdicts of the sharing analysis on C and C++ source, compiled at test time, with the shipped effects table.
// Tests ask how many accesses of a function got a verdict: which there are differs between optimisation levels.
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "program/sharing.h"

namespace heddle {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const EffectsTable& shipped_table() {
  static const EffectsTable table = [] {
    EffectsTable made;
    const Result<void> added = made.add(read_text(HEDDLE_SOURCE_DIR "/share/effects.table"), "effects.table");
    EXPECT_TRUE(added) << added.error().text();
    return made;
  }();
  return table;
}

enum class Language { c, cxx };

class Compiled {
 public:
  Compiled(const std::string& source, const std::string& level, Language language) {
    const std::string base = ::testing::TempDir() + "sharing_source";
    const std::string file = base + (language == Language::c ? ".c" : ".cpp");
    std::ofstream(file) << source;
    const std::string compiler = language == Language::c ? "clang-19 " : "clang++-19 -std=c++20 ";
    const std::string command = compiler + level + " -w -S -emit-llvm -o " + base + ".ll " + file;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(read_text(base + ".ll"), diagnostic, context_);
    EXPECT_NE(module_, nullptr) << diagnostic.getMessage().str();
    if (module_ != nullptr) result_ = analyse_sharing(*module_, shipped_table(), {});
  }

  size_t count(const std::string& function, Sharing sharing) const {
    size_t found = 0;
    for (const Access& access : result_.accesses) {
      const llvm::StringRef name = access.instruction->getFunction()->getName();
      found += access.sharing == sharing &&
               (name == function || name.starts_with("_Z" + std::to_string(function.size()) + function));
    }
    return found;
  }
  size_t shared(const std::string& function) const { return count(function, Sharing::shared); }

 private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  SharingResult result_;
};

class SharingSource : public ::testing::TestWithParam<const char*> {
 protected:
  Compiled c(const std::string& source) const { return Compiled(source, GetParam(), Language::c); }
  Compiled cxx(const std::string& source) const { return Compiled(source, GetParam(), Language::cxx); }
  bool optimised() const { return std::string(GetParam()) != "-O0"; }
};

TEST_P(SharingSource, LocalLinkedList) {
  const Compiled program = c(R"(
    #include <stdlib.h>
    struct node { struct node *next; long value; };
    static long counter;
    __attribute__((noinline)) static struct node *push(struct node *head, long v) {
      struct node *n = malloc(sizeof *n); n->next = head; n->value = v; return n; }
    __attribute__((noinline)) static long sum(struct node *n) { long s = 0; for (; n; n = n->next) s += n->value; return s; }
    long work(int k) { struct node *l = 0; for (int i = 0; i < k; ++i) l = push(l, i); return sum(l); }
    void count(void) { counter++; })");
  EXPECT_EQ(program.shared("push"), 0u);
  EXPECT_EQ(program.shared("sum"), 0u);
  EXPECT_GT(program.count("sum", Sharing::private_heap), 0u);
  EXPECT_EQ(program.shared("count"), 2u);
}

TEST_P(SharingSource, SumOfPrivateValuesMayBePublished) {
  const Compiled program = c(R"(
    #include <stdlib.h>
    struct node { struct node *next; long value; };
    long total;
    void work(int k) {
      struct node *head = 0;
      for (int i = 0; i < k; ++i) { struct node *n = malloc(sizeof *n); n->next = head; n->value = i; head = n; }
      for (; head; head = head->next) total += head->value; })");
  // Without type marks the sum could carry what head->next points to.
  if (optimised()) EXPECT_GT(program.count("work", Sharing::private_heap), 2u);
  EXPECT_GT(program.shared("work"), 0u);
}

TEST_P(SharingSource, GlobalQueue) {
  const Compiled program = c(R"(
    #include <stdlib.h>
    struct job { struct job *next; int n; };
    static struct job *queue;
    __attribute__((noinline)) static void push(struct job *j) { j->next = queue; queue = j; }
    void work(void) { struct job *j = malloc(sizeof *j); j->n = 1; push(j); })");
  EXPECT_GE(program.shared("work"), 1u);
  EXPECT_GE(program.shared("push"), 3u);
}

TEST_P(SharingSource, HelpersThatDoNotLeak) {
  const Compiled program = c(R"(
    struct point { long x, y; };
    __attribute__((noinline)) static void move(struct point *p, long d) { p->x += d; p->y += d; }
    __attribute__((noinline)) static void twice(struct point *p) { move(p, 1); move(p, 2); }
    long work(long d) { struct point p = {d, d}; twice(&p); return p.x; })");
  EXPECT_EQ(program.shared("move"), 0u);
  EXPECT_EQ(program.shared("work"), 0u);
}

TEST_P(SharingSource, PointerCopiedIntoANumber) {
  const Compiled program = c(R"(
    #include <stdint.h>
    #include <stdlib.h>
    #include <string.h>
    struct source { long n; int *p; };
    struct holder { long n; uintptr_t key; };
    static int *published;
    __attribute__((noinline)) static void copy(struct holder *h, struct source *s) { memcpy(&h->key, &s->p, sizeof s->p); }
    void work(void) {
      int *a = malloc(4);
      struct source *s = malloc(sizeof *s);
      struct holder *h = malloc(sizeof *h);
      s->p = a;
      copy(h, s);
      published = (int *)h->key;
      *a = 1; }
    int other(void) { return *published; })");
  EXPECT_EQ(program.shared("work"), 2u);
}

TEST_P(SharingSource, TaggedPointerInGlobal) {
  const Compiled program = c(R"(
    #include <stdint.h>
    #include <stdlib.h>
    static uintptr_t word;
    void work(void) { int *p = malloc(4); word = (uintptr_t)p | 1; *p = 1; }
    int other(void) { return *(int *)(word & ~(uintptr_t)1); })");
  EXPECT_GE(program.shared("work"), 2u);
  EXPECT_GE(program.shared("other"), 2u);
}

TEST_P(SharingSource, ByteCopyLoop) {
  const Compiled program = c(R"(
    #include <stdlib.h>
    int *published;
    __attribute__((noinline)) static void copy(char *to, const char *from, int n) { while (n--) *to++ = *from++; }
    void work(void) { int *p = malloc(4); copy((char *)&published, (char *)&p, sizeof p); *p = 1; })");
  EXPECT_GE(program.shared("work"), 1u);
}

TEST_P(SharingSource, SortWithCallback) {
  const Compiled program = c(R"(
    #include <stdlib.h>
    static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
    int work(int n) {
      int *a = malloc(sizeof(int) * n);
      for (int i = 0; i < n; ++i) a[i] = n - i;
      qsort(a, n, sizeof *a, compare);
      return a[0]; })");
  EXPECT_EQ(program.shared("work"), 0u);
  EXPECT_EQ(program.shared("compare"), 0u);
}

TEST_P(SharingSource, ThreadLocals) {
  const Compiled program = c(R"(
    static _Thread_local long kept, given;
    long *where;
    void keep(void) { kept++; }
    void give(void) { where = &given; given++; })");
  EXPECT_EQ(program.shared("keep"), 0u);
  EXPECT_EQ(program.count("keep", Sharing::thread_local_store), 2u);
  EXPECT_GE(program.shared("give"), 3u);
}

TEST_P(SharingSource, Varargs) {
  const Compiled program = c(R"(
    #include <stdarg.h>
    #include <stdlib.h>
    int *published;
    __attribute__((noinline)) static void publish(int n, ...) { va_list ap; va_start(ap, n); published = va_arg(ap, int *); va_end(ap); }
    __attribute__((noinline)) static int first(int n, ...) { va_list ap; va_start(ap, n); int r = *va_arg(ap, int *); va_end(ap); return r; }
    void leak(void) { int *p = malloc(4); publish(1, p); *p = 1; }
    int keep(void) { int *p = malloc(4); *p = 1; return first(1, p); })");
  EXPECT_GE(program.shared("leak"), 1u);
  EXPECT_EQ(program.shared("keep"), 0u);
  EXPECT_EQ(program.shared("first"), 0u);
}

TEST_P(SharingSource, Errno) {
  const Compiled program = c("#include <errno.h>\nint work(void) { errno = 0; return errno; }");
  EXPECT_EQ(program.shared("work"), 0u);
  EXPECT_GE(program.count("work", Sharing::thread_local_store), 1u);
}

TEST_P(SharingSource, ThreadArgument) {
  const Compiled program = c(R"(
    #include <pthread.h>
    #include <stdlib.h>
    struct arg { int *data; };
    static void *start(void *p) { int *own = malloc(4); *own = 0; ++*((struct arg *)p)->data; return 0; }
    void run(void) { struct arg a; pthread_t t; a.data = malloc(4); *a.data = 0; pthread_create(&t, 0, start, &a); pthread_join(t, 0); })");
  EXPECT_GE(program.shared("run"), 2u);
  EXPECT_GE(program.shared("start"), 3u);
}

TEST_P(SharingSource, VectorInThread) {
  const Compiled program = cxx(R"(
    #include <thread>
    #include <vector>
    long result;
    void work(int n) { std::vector<int> v; for (int i = 0; i < n; ++i) v.push_back(i); long s = 0; for (int x : v) s += x; result = s; }
    int main() { std::thread a(work, 1), b(work, 2); a.join(); b.join(); })");
  if (optimised()) EXPECT_LE(program.shared("work"), 2u);  // the result, on two paths
  EXPECT_GE(program.shared("work"), 1u);
}

TEST_P(SharingSource, StringInThread) {
  const Compiled program = cxx(R"(
    #include <string>
    size_t work(const char *text) { std::string s = text; s += "x"; return s.size(); }
    int main() { return (int)work("abc"); })");
  EXPECT_EQ(program.shared("work"), 0u);
}

TEST_P(SharingSource, LambdaCapturedByThread) {
  const Compiled program = cxx(R"(
    #include <thread>
    int main() { int x = 0; std::thread t([&] { ++x; }); ++x; t.join(); return x; })");
  EXPECT_GE(program.shared("main"), 1u);
}

TEST_P(SharingSource, VirtualCalls) {
  const Compiled program = cxx(R"(
    struct Shape { virtual long area() const = 0; virtual ~Shape() = default; };
    struct Square : Shape { long side = 2; long area() const override { return side * side; } };
    __attribute__((noinline)) long measure(const Shape *s) { return s->area(); }
    long work() { Shape *s = new Square; long a = measure(s); delete s; return a; })");
  EXPECT_EQ(program.shared("work"), 0u);
  EXPECT_EQ(program.shared("measure"), 0u);
}

TEST_P(SharingSource, Exceptions) {
  const Compiled program = cxx(R"(
    struct Failure { int *detail; };
    __attribute__((noinline)) void fail() { throw Failure{new int(1)}; }
    int work() { try { fail(); } catch (const Failure &f) { return *f.detail; } return 0; })");
  EXPECT_EQ(program.shared("work"), 0u);
  EXPECT_EQ(program.shared("fail"), 0u);
}

INSTANTIATE_TEST_SUITE_P(Levels, SharingSource, ::testing::Values("-O0", "-O2"),
                         [](const auto& info) { return std::string(info.param).substr(1); });

}  // namespace
}  // namespace heddle
