int common_symbol;
static int original(int x) { return x * 1000; }
int other_value(void) { return original(2); }
int overridden(void) { return 2; }
