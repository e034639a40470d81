// Messages with file descriptors and addresses: the kernel says how long what it gave is (recvmsg).
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#define COUNT 40
static int local[2], udp, got, parts;
static struct sockaddr_in place;
static char last[64];
static void* sender(void* argument) {
  for (int i = 0; i < COUNT; ++i) {
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec bytes = {"some bytes", 10};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
    int ends[2] = {-1, -1};
    if (i % 3 == 0 && pipe2(ends, O_CLOEXEC) == 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      struct cmsghdr* head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(sizeof(int));
      memcpy(CMSG_DATA(head), &ends[0], sizeof(int));
    }
    sendmsg(local[1], &message, 0);
    close(ends[0]);
    close(ends[1]);
    sendto(udp, "datagram", 8, 0, (struct sockaddr*)&place, sizeof place);
  }
  return argument;
}
static void* receiver(void* argument) {
  const int from = argument != NULL ? udp : local[0];
  for (int i = 0; i < COUNT; ++i) {
    char a[4], b[60], control[200];
    struct sockaddr_storage name;
    struct iovec bytes[2] = {{a, sizeof a}, {b, sizeof b}};
    struct msghdr message = {&name, sizeof name, bytes, 2, control, sizeof control, 0};
    const ssize_t length = recvmsg(from, &message, 0);
    if (length <= 0) break;
    got += (int)length + (int)message.msg_namelen + (int)message.msg_controllen;
    memcpy(last, b, sizeof b);
    for (struct cmsghdr* head = CMSG_FIRSTHDR(&message); head != NULL; head = CMSG_NXTHDR(&message, head)) {
      int file;
      memcpy(&file, CMSG_DATA(head), sizeof file);
      close(file);
      ++parts;
    }
  }
  return NULL;
}
int main(void) {
  socketpair(AF_UNIX, SOCK_DGRAM, 0, local);
  udp = socket(AF_INET, SOCK_DGRAM, 0);
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(udp, (struct sockaddr*)&place, sizeof place);
  socklen_t length = sizeof place;
  getsockname(udp, (struct sockaddr*)&place, &length);
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, sender, NULL);
  pthread_create(&threads[1], NULL, receiver, NULL);
  pthread_create(&threads[2], NULL, receiver, &udp);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  printf("%d bytes, %d files, %.6s\n", got, parts, last);
  return 0;
}
