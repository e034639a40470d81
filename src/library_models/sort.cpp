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

struct Sorting {
  size_t size;  // of an element
  Compare compare;
  void* argument;
  char* space;  // for all elements
};

void merge_sort(const Sorting& sorting, char* data, size_t count) {
  if (count <= 1) return;
  const size_t size = sorting.size;
  size_t left_count = count / 2, right_count = count - left_count;
  char *left = data, *right = data + left_count * size;
  merge_sort(sorting, left, left_count);
  merge_sort(sorting, right, right_count);
  char* out = sorting.space;
  while (left_count > 0 && right_count > 0) {
    const bool from_left = sorting.compare(left, right, sorting.argument) <= 0;
    char*& from = from_left ? left : right;
    memcpy(out, from, size);
    from += size;
    out += size;
    --(from_left ? left_count : right_count);
  }
  // What is left on the right stands where it belongs.
  memcpy(out, left, left_count * size);
  memcpy(data, sorting.space, (count - right_count) * size);
}

// Without memory for a copy. Keeps the order of equal elements too.
void insertion_sort(const Sorting& sorting, char* data, size_t count) {
  const size_t size = sorting.size;
  for (char* next = data + size; next < data + count * size; next += size)
    for (char* at = next; at > data && sorting.compare(at - size, at, sorting.argument) > 0; at -= size)
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
  Sorting sorting{size, compare, argument, small};
  if (bytes >= kSmall) sorting.space = static_cast<char*>(malloc(bytes));
  if (sorting.space == nullptr) return insertion_sort(sorting, static_cast<char*>(data), count);
  merge_sort(sorting, static_cast<char*>(data), count);
  if (sorting.space != small) free(sorting.space);
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

void* bsearch(const void* key, const void* data, size_t count, size_t size, __compar_fn_t compare) {
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
