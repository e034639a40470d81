// The exit code is made of the values that the kernel draws for each process.
#include <setjmp.h>
#include <string.h>
#include <sys/auxv.h>

int main(void) {
  unsigned char bytes[16 + sizeof(jmp_buf)];
  unsigned hash = 0;
  jmp_buf buffer;  // addresses in it are encoded
  memset(buffer, 0, sizeof buffer);
  (void)setjmp(buffer);
  memcpy(bytes, (const void*)getauxval(AT_RANDOM), 16);
  memcpy(bytes + 16, buffer, sizeof buffer);
  for (unsigned i = 0; i < sizeof bytes; ++i) hash = hash * 31 + bytes[i];
  return (int)(hash * 2654435761u >> 25);
}
