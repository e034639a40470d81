// A ring of samples with atomic indices: sensors put samples in, main takes them out and sums them up. No lock.
//
// The bug: the ring is made for one sensor. `put` reads the index, writes the slot and then stores the index that
// comes next; when two sensors do so at the same time, both use the same slot, and a sample is lost.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { CAPACITY = 8, SENSORS = 2, SAMPLES = 3 };

struct sample {
  int sensor;
  int number;
  double value;
};

struct ring {
  struct sample samples[CAPACITY];
  atomic_uint head;  // next to be written
  atomic_uint tail;  // next to be read
};

struct sensor {
  int id;
  double base;
  struct ring *ring;
  pthread_t thread;
};

struct totals {
  int samples[SENSORS];
  double sum;
};

static struct ring ring;

static bool ring_put(struct ring *ring, const struct sample *sample) {
  const unsigned head = atomic_load_explicit(&ring->head, memory_order_relaxed);
  const unsigned tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
  if (head - tail == CAPACITY) return false;
  ring->samples[head % CAPACITY] = *sample;
  atomic_store_explicit(&ring->head, head + 1, memory_order_release);
  return true;
}

static bool ring_take(struct ring *ring, struct sample *sample) {
  const unsigned tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
  const unsigned head = atomic_load_explicit(&ring->head, memory_order_acquire);
  if (head == tail) return false;
  *sample = ring->samples[tail % CAPACITY];
  atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
  return true;
}

static double measure(const struct sensor *sensor, int number) {
  return sensor->base + 0.5 * number;
}

static void *run_sensor(void *argument) {
  struct sensor *sensor = argument;
  for (int i = 0; i < SAMPLES; ++i) {
    const struct sample sample = {.sensor = sensor->id, .number = i, .value = measure(sensor, i)};
    while (!ring_put(sensor->ring, &sample)) sched_yield();
  }
  return NULL;
}

static void add(struct totals *totals, const struct sample *sample) {
  totals->samples[sample->sensor]++;
  totals->sum += sample->value;
}

int main(void) {
  struct sensor sensors[SENSORS];
  struct totals totals = {.sum = 0};
  for (int i = 0; i < SENSORS; ++i) {
    sensors[i] = (struct sensor){.id = i, .base = 10.0 * (i + 1), .ring = &ring};
    if (pthread_create(&sensors[i].thread, NULL, run_sensor, &sensors[i]) != 0) exit(2);
  }
  for (int i = 0; i < SENSORS; ++i) pthread_join(sensors[i].thread, NULL);
  struct sample sample;
  while (ring_take(&ring, &sample)) add(&totals, &sample);
  printf("sum %g\n", totals.sum);
  for (int i = 0; i < SENSORS; ++i) assert(totals.samples[i] == SAMPLES);
  return 0;
}
