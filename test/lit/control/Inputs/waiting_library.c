void wait_until_set(int* flag) {
  while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) {
  }
}
