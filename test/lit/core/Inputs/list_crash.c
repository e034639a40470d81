// A crash in the fourth round of a loop that no variable counts.
#include <pthread.h>
#include <stddef.h>

struct item {
  struct item* next;
  int* value;
};

static int one = 1;
static struct item items[6];

static void* sum(void* head) {
  int total = 0;
  for (const struct item* item = head; item != NULL; item = item->next) total += *item->value;
  return total != 0 ? head : NULL;
}

int main(int argc, char** argv) {
  (void)argv;
  for (int i = 0; i < 6; ++i) {
    items[i].next = i < 5 ? &items[i + 1] : NULL;
    items[i].value = i == 3 && argc == 1 ? NULL : &one;
  }
  pthread_t thread;
  pthread_create(&thread, NULL, sum, items);
  pthread_join(thread, NULL);
  return 0;
}
