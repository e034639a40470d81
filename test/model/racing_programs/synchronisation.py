"""Random statements that synchronise. Whatever the schedule, nobody waits for ever: locks are taken in the order of their numbers and never across a
return or a call of the program's functions; who waits for a condition, a semaphore or a barrier is waited for by nobody it needs (program.py)."""
from racing_programs.statements import Statements
from racing_programs.tree import block, statement


class Synchronising(Statements):
    def __init__(self, rng, prefix):
        super().__init__(rng, prefix)
        self.lowest = 0  # lock that may be taken

    def synchronising(self):
        return [(self.locked, 5), (self.tried, 2), (self.read_write, 2), (self.guarded_swap, 1), (self.grow, 1), (self.semaphore, 1), (self.announce, 1),
                (self.once, 1), (self.spin, 1), (self.yielding, 1)]

    def region(self, budget, most=3):
        """What stands inside a lock: it does not return, and calls none of the program's functions."""
        kept, self.calls, self.returns = (self.calls, self.returns), False, False
        made = self.inner(min(budget - 2, 20), most)
        self.calls, self.returns = kept
        return made

    def locked(self, budget):
        p, number = self.prefix, self.rng.randrange(3)
        inside = [self.region(budget)]
        if number < 2 and self.rng.random() < 0.3:
            second = self.rng.randint(number + 1, 2)
            inside += [statement(f"pthread_mutex_lock(&{p}locks[{second}]);\n", self.region(budget // 2, 2), f"pthread_mutex_unlock(&{p}locks[{second}]);")]
        # All of it or nothing: half of it would be another program.
        return statement(f"pthread_mutex_lock(&{p}locks[{number}]);\n", block(inside), f"pthread_mutex_unlock(&{p}locks[{number}]);")

    def tried(self, budget):
        p, number = self.prefix, self.rng.randrange(3)
        return statement(f"if (pthread_mutex_trylock(&{p}locks[{number}]) == 0) {{\n", self.region(budget // 2),
                         f"pthread_mutex_unlock(&{p}locks[{number}]);\n}} else {{\n", self.inner(budget // 3, 2), "}")

    def read_write(self, budget):
        p, kind = self.prefix, self.rng.choice(["rdlock", "wrlock", "tryrdlock", "trywrlock"])
        inside = self.region(budget // 2)
        if kind.startswith("try"):
            return statement(f"if (pthread_rwlock_{kind}(&{p}rwlock) == 0) {{\n", inside, f"pthread_rwlock_unlock(&{p}rwlock);\n}} else ++d;")
        return statement(f"pthread_rwlock_{kind}(&{p}rwlock);\n", inside, f"pthread_rwlock_unlock(&{p}rwlock);")

    def guarded_swap(self, _):
        """A block that lives until somebody puts another one in its place."""
        p = self.prefix
        return statement("{ Node *fresh = (Node *)calloc(1, sizeof *fresh), *old; if (fresh) { fresh->n = ", self.integer(1),
                         f"; pthread_mutex_lock(&{p}locks[0]); old = {p}guarded; {p}guarded = fresh; if (old) a += old->n; free(old); ",
                         f"pthread_mutex_unlock(&{p}locks[0]); }} }}")

    def grow(self, _):
        """An array that grows, under a lock."""
        p = self.prefix
        return statement(f"pthread_mutex_lock(&{p}locks[1]); if ({p}used == {p}room) {{ unsigned *larger = (unsigned *)realloc({p}list, ({p}room + 2) * sizeof *{p}list); ",
                         f"if (larger) {{ {p}list = larger; {p}room += 2; }} }} if ({p}used < {p}room) {p}list[{p}used++] = ", self.integer(1),
                         f"; a += {p}used; if ({p}used) b ^= {p}list[(a + b) % {p}used]; pthread_mutex_unlock(&{p}locks[1]);")

    def semaphore(self, budget):
        p = self.prefix
        if self.rng.random() < 0.5:
            return statement(f"if (sem_trywait(&{p}semaphore) == 0) {{\n", self.region(budget // 2, 2), f"sem_post(&{p}semaphore);\n}} else if (errno == EAGAIN) ++b;")
        return statement(f"sem_wait(&{p}semaphore);\n", self.region(budget // 2, 2), f"sem_post(&{p}semaphore);")

    def announce(self, _):
        p = self.prefix
        return statement(f"pthread_mutex_lock(&{p}gate_lock); ++{p}announced; pthread_cond_{self.rng.choice(['signal', 'broadcast'])}(&{p}gate); ",
                         f"pthread_mutex_unlock(&{p}gate_lock);")

    def once(self, _):
        return statement(f"pthread_once(&{self.prefix}once, {self.prefix}first);")

    def spin(self, budget):
        p = self.prefix
        return statement(f"pthread_spin_lock(&{p}spin);\n", self.region(budget // 3, 2), f"pthread_spin_unlock(&{p}spin);")

    def yielding(self, _):
        return statement("sched_yield();")
