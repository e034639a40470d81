// Writing more than a pipe or a socket holds waits for the reader; all is written, in order.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define SIZE 150000
static unsigned char data[SIZE];
static int ends[2];
static int way;

static void* writer(void* unused) {
  struct iovec parts[2] = {{data, SIZE / 3}, {data + SIZE / 3, SIZE - SIZE / 3}};
  long written;
  if (way == 2)
    written = writev(ends[1], parts, 2);
  else
    written = way == 1 ? send(ends[1], data, SIZE, 0) : write(ends[1], data, SIZE);
  assert(written == SIZE);
  assert(close(ends[1]) == 0);
  return unused;
}

static void* reader(void* unused) {
  unsigned char buffer[20000];
  long got, total = 0;
  while ((got = read(ends[0], buffer, sizeof buffer)) > 0) {
    assert(memcmp(buffer, data + total, (size_t)got) == 0);
    total += got;
  }
  assert(got == 0 && total == SIZE);
  return unused;
}

int main(void) {
  for (int i = 0; i < SIZE; i += 1000) memset(data + i, i / 1000 + 1, 1000);
  for (way = 0; way < 3; ++way) {
    pthread_t threads[2];
    assert((way == 0 ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) == 0);
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    close(ends[0]);
  }
  return 0;
}
