// Code that heddle has no model of, inside the program: reads what it is given, and calls back.
int sum(const int* values, int count) {
  int total = 0;
  for (int i = 0; i < count; ++i) total += values[i];
  return total;
}

int sum_after(int* values, int count, void (*change)(int*)) {
  int total = 0;
  for (int i = 0; i < count; ++i) {
    change(values + i);
    total += values[i];
  }
  return total;
}
