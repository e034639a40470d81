// Model of stdlib.h's qsort, qsort_r and bsearch and of search.h's lfind and lsearch.
//
// qsort is the merge sort of glibc up to 2.36, as far as a program can tell: equal elements keep their order,
// and the comparisons are the same ones in the same order.
#include <features.h>
#undef __USE_EXTERN_INLINES  // of bsearch

#include <search.h>

#include <cstdlib>
#include <cstring>

namespace {

using Compare = int (*)(const void*, const void*, void*);

// Choices stay branches, which are in the path, and do not become choices between addresses, which depend on
// what was compared.
#define WITH_BRANCHES __attribute__((optnone, noinline))

// `space` has room for all elements.
WITH_BRANCHES void merge_sort(char* data, size_t count, size_t size, Compare compare, void* argument,
                              char* space) {
  if (count <= 1) return;
  size_t left_count = count / 2, right_count = count - left_count;
  char *left = data, *right = data + left_count * size;
  merge_sort(left, left_count, size, compare, argument, space);
  merge_sort(right, right_count, size, compare, argument, space);
  char* out = space;
  while (left_count > 0 && right_count > 0) {
    if (compare(left, right, argument) <= 0) {
      memcpy(out, left, size);
      left += size;
      --left_count;
    } else {
      memcpy(out, right, size);
      right += size;
      --right_count;
    }
    out += size;
  }
  // What is left on the right stands where it belongs.
  memcpy(out, left, left_count * size);
  memcpy(data, space, (count - right_count) * size);
}

// Without memory for a copy. Keeps the order of equal elements too.
WITH_BRANCHES void insertion_sort(char* data, size_t count, size_t size, Compare compare, void* argument) {
  for (char* next = data + size; next < data + count * size; next += size)
    for (char* at = next; at > data && compare(at - size, at, argument) > 0; at -= size)
      for (size_t i = 0; i < size; ++i) {
        const char byte = at[i];
        at[i] = at[i - size];
        at[i - size] = byte;
      }
}

void sort(void* data, size_t count, size_t size, Compare compare, void* argument) {
  constexpr size_t kSmall = 1024;
  char small[kSmall];
  const size_t bytes = count * size;
  char* const large = bytes < kSmall ? nullptr : static_cast<char*>(malloc(bytes));
  if (bytes >= kSmall && large == nullptr)
    return insertion_sort(static_cast<char*>(data), count, size, compare, argument);
  merge_sort(static_cast<char*>(data), count, size, compare, argument, bytes < kSmall ? small : large);
  free(large);
}

int compare_plainly(const void* a, const void* b, void* compare) {
  return reinterpret_cast<__compar_fn_t>(compare)(a, b);
}

}  // namespace

extern "C" {

void qsort_r(void* data, size_t count, size_t size, __compar_d_fn_t compare, void* argument) {
  sort(data, count, size, compare, argument);
}

void qsort(void* data, size_t count, size_t size, __compar_fn_t compare) {
  sort(data, count, size, compare_plainly, reinterpret_cast<void*>(compare));
}

WITH_BRANCHES void* bsearch(const void* key, const void* data, size_t count, size_t size,
                            __compar_fn_t compare) {
  size_t begin = 0, end = count;
  while (begin < end) {
    const size_t middle = (begin + end) / 2;
    char* const element = static_cast<char*>(const_cast<void*>(data)) + middle * size;
    const int order = compare(key, element);
    if (order == 0) return element;
    if (order < 0)
      end = middle;
    else
      begin = middle + 1;
  }
  return nullptr;
}

void* lfind(const void* key, const void* data, size_t* count, size_t size, __compar_fn_t compare) {
  char* element = static_cast<char*>(const_cast<void*>(data));
  for (size_t i = 0; i < *count; ++i, element += size)
    if (compare(key, element) == 0) return element;
  return nullptr;
}

void* lsearch(const void* key, void* data, size_t* count, size_t size, __compar_fn_t compare) {
  if (void* found = lfind(key, data, count, size, compare)) return found;
  char* const end = static_cast<char*>(data) + *count * size;
  memcpy(end, key, size);
  ++*count;
  return end;
}
}
