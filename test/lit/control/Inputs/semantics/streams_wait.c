// Streams over sockets and pipes between threads: reading waits for what other threads write, also in the middle of a line.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int ends[2];

static void* server(void* unused) {
  (void)unused;
  FILE* in = fdopen(ends[0], "r");
  FILE* out = fdopen(dup(ends[0]), "w");
  char line[64], *longer = NULL;
  size_t size = 0;
  int first, second;
  assert(fgets(line, sizeof line, in) != NULL && strcmp(line, "hello\n") == 0);
  assert(fprintf(out, "12 30\n") > 0 && fflush(out) == 0);
  assert(getline(&longer, &size, in) == 300 && longer[299] == '\n' && longer[0] == 'x');
  assert(fgetc(in) == 'a' && getc(in) == 'b');
  assert(fread(line, 1, 5, in) == 5 && memcmp(line, "cdefg", 5) == 0);
  assert(fscanf(in, "%d %d", &first, &second) == 2 && first == 7 && second == 8);
  assert(getc(in) == '\n' && getc(in) == EOF && feof(in));
  free(longer);
  fclose(in);
  fclose(out);
  return NULL;
}

static void send_text(const char* text) {
  assert(write(ends[1], text, strlen(text)) == (ssize_t)strlen(text));
}

int main(void) {
  pthread_t thread;
  char text[64];
  assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  assert(pthread_create(&thread, NULL, server, NULL) == 0);
  send_text("hel");
  send_text("lo\n");
  FILE* answers = fdopen(dup(ends[1]), "r");
  assert(fgets(text, sizeof text, answers) != NULL && strcmp(text, "12 30\n") == 0);
  for (int i = 0; i < 299; ++i) send_text("x");
  send_text("\n");
  send_text("abc");
  send_text("defg");
  send_text("7 8\n");
  assert(shutdown(ends[1], SHUT_WR) == 0);
  assert(pthread_join(thread, NULL) == 0);
  fclose(answers);
  return close(ends[1]);
}
