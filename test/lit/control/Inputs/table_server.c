// A server for a table of words, with its clients in the same process, over streams on loopback connections to a port that the
// system chooses. The bug: put() looks for a word in one critical section and adds it in another, so a word may come in twice.
#include <arpa/inet.h>
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = 2, WORDS = 3 };

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
char words[16][16];
int count;
struct sockaddr_in address = {.sin_family = AF_INET};

static int find(const char* word) {
  for (int i = 0; i < count; ++i)
    if (strcmp(words[i], word) == 0) return i;
  return -1;
}

static void put(const char* word) {
  pthread_mutex_lock(&lock);
  const int found = find(word);
  pthread_mutex_unlock(&lock);
  if (found >= 0) return;
  pthread_mutex_lock(&lock);
  strncpy(words[count++], word, sizeof words[0] - 1);
  pthread_mutex_unlock(&lock);
}

static void* serve(void* connection) {
  FILE* stream = fdopen((int)(long)connection, "r+");
  char line[32], word[16];
  while (fgets(line, sizeof line, stream) != NULL && sscanf(line, "put %15s", word) == 1) {
    put(word);
    fputs("ok\n", stream);
    fflush(stream);
  }
  fclose(stream);
  return NULL;
}

static void* client(void* unused) {
  (void)unused;
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  char text[32];
  if (connect(connection, (struct sockaddr*)&address, sizeof address) != 0) exit(1);
  for (int i = 0; i < WORDS; ++i) {
    const int size = snprintf(text, sizeof text, "put word%d\n", i);
    if (write(connection, text, (size_t)size) != size || read(connection, text, sizeof text) <= 0) exit(1);
  }
  close(connection);
  return NULL;
}

int main(void) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  socklen_t length = sizeof address;
  pthread_t clients[CLIENTS], servers[CLIENTS];
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  if (bind(listening, (struct sockaddr*)&address, sizeof address) != 0 || listen(listening, CLIENTS) != 0) return 1;
  getsockname(listening, (struct sockaddr*)&address, &length);
  for (int i = 0; i < CLIENTS; ++i) pthread_create(&clients[i], NULL, client, NULL);
  for (int i = 0; i < CLIENTS; ++i)
    pthread_create(&servers[i], NULL, serve, (void*)(long)accept(listening, NULL, NULL));
  for (int i = 0; i < CLIENTS; ++i) pthread_join(clients[i], NULL);
  for (int i = 0; i < CLIENTS; ++i) pthread_join(servers[i], NULL);
  assert(count == WORDS);
  return 0;
}
