// The peer of bench/fold: y += a*x in 32 bits, compiled with -O3 -march=native.
// Prints the best of so many runs, in bytes of x a second.

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) static void axpy(float *restrict y, const float *restrict x, float a, long n) {
	for (long i = 0; i < n; i++)
		y[i] += a * x[i];
}

__attribute__((noinline)) static void wide(double *restrict y, const float *restrict x, double a, long n) {
	for (long i = 0; i < n; i++)
		y[i] += a * x[i];
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char **argv) {
	if (argc != 3)
		return 2;
	long n = atol(argv[1]), runs = atol(argv[2]);
	float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
	double *z = malloc(n * sizeof *z), best = 1e9, best_wide = 1e9;
	if (!x || !y || !z)
		return 1;
	for (long i = 0; i < n; i++)
		x[i] = (float)(i % 1000) / 1000, y[i] = z[i] = 0;
	for (long r = 0; r < runs; r++) {
		double start = now();
		axpy(y, x, 1.5f, n);
		double middle = now();
		wide(z, x, 1.5, n);
		double end = now();
		if (middle - start < best)
			best = middle - start;
		if (end - middle < best_wide)
			best_wide = end - middle;
	}
	printf("%g %g %g\n", 4.0 * n / best, 4.0 * n / best_wide, y[n / 2] + z[n / 2]);
	return 0;
}
