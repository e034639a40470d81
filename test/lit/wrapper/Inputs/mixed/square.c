int foreign_square(int x) { return x * x; }
