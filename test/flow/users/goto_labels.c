// Interpreters by computed goto that race for the same registers; labels are also reached by falling through
// and by plain gotos.
#include <pthread.h>
#include <stdio.h>
static unsigned reg[8];
static unsigned char prog[64];
static volatile unsigned racy;
static void* work(void* a) {
  static const void* const ops[] = {&&add, &&mul, &&xor_, &&swap, &&jump, &&end};
  long id = (long)a;
  unsigned pc = (unsigned)id * 3, steps = 0;
  unsigned acc = 1;
  goto* ops[prog[pc % 64] % 5];
add:
  reg[0] += reg[1] + 1;
  acc += reg[2];
  if (acc & 1) goto xor_;
mul:
  reg[1] = reg[1] * 5 + reg[0];
  racy += acc;
xor_:
  reg[2] ^= reg[3] + acc;
  if (++steps > 2000) goto end;
  if (reg[2] & 4) goto add;
  pc += 3;
  goto* ops[prog[pc % 64] % 5];
swap: {
  unsigned t = reg[3];
  reg[3] = reg[0];
  reg[0] = t;
}
  if (reg[3] & 8) goto mul;
jump:
  pc = pc * 5 + reg[4]++;
  if (++steps > 2000) goto end;
  goto* ops[prog[pc % 64] % 5];
end:
  reg[5] += acc;
  return (void*)(unsigned long)acc;
}
int main(void) {
  for (int i = 0; i < 64; i++) prog[i] = (unsigned char)(i * 7 + i / 5);
  pthread_t t[4];
  for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void*)i);
  unsigned long s = 0;
  for (int i = 0; i < 4; i++) {
    void* r;
    pthread_join(t[i], &r);
    s += (unsigned long)r;
  }
  printf("%lu %u %u %u %u\n", s, reg[0], reg[1], reg[2], racy);
  return 0;
}
