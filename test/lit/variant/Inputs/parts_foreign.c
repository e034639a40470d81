int answer(void) { return 40; }
int foreign_answer(void) { return answer(); }
