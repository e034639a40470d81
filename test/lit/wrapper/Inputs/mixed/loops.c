/* Loops without a condition: clang gives them metadata only when it makes debug information. */
int loops(int n) {
  for (;;) {
    if (n == 77) return n;
    if (n & 2) {
      if (n == 2) continue;
    }
    if (n & 1) return n + 1;
    n = n * 3 + 1;
  }
}
void never(int *p, int n) { (void)p; for (;;) { if (n == 77) return; if (n & 2) { if (n == 2) continue; } } }
