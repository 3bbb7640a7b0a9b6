/* Momentum in C: folds updates as they come, and carries a velocity in the state.
 *
 *   clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry -o momentum.wasm momentum.c
 *
 * Parameters: momentum (0.9). The loss that a client reports as "loss" must be below
 * max_loss (1000), or its update is refused. */
#include "flcollect.h"

#define MOST (1 << 20)
static double sum[MOST], piece[4096], velocity[4096];
static double total;

static int elements(void) {
	i64 all = 0;
	for (int t = 0; t < tensors(); t++) all += tensor_len(t);
	return all > MOST ? -1 : (int)all;
}

EXPORT(fl_setup) int setup(void) {
	param_number(TEXT("momentum"), 0.9);
	param_number(TEXT("max_loss"), 1000);
	set_default(TEXT("min_fit_clients"), 3);
	return 0;
}

EXPORT(fl_configure) int configure(int phase, int round) {
	if (phase != 0) return 0;
	set_integer(TEXT("round"), round);
	set_number(TEXT("rate"), 1.0 / round);
	set_truth(TEXT("first"), round == 1);
	set_text(TEXT("by"), TEXT("momentum.c"));
	return 0;
}

EXPORT(fl_begin) int begin(void) {
	if (elements() < 0) {
		fail(TEXT("the model is larger than this module was made for"));
		return 1;
	}
	return 0;
}

EXPORT(fl_add) int add(void) {
	if (update_metric(0, TEXT("loss")) >= param_number(TEXT("max_loss"), 1000)) {
		fail(TEXT("its loss is too high"));
		return 2;
	}
	double weight = (double)update_examples(0);
	int at = 0;
	for (int t = 0; t < tensors(); t++) {
		for (i64 from = 0, left = tensor_len(t); left > 0;) {
			int n = left < 4096 ? (int)left : 4096;
			update_f64(0, t, from, piece, n);
			for (int i = 0; i < n; i++) sum[at++] += weight * piece[i];
			from += n;
			left -= n;
		}
	}
	total += weight;
	return 0;
}

EXPORT(fl_finish) int finish(void) {
	double momentum = param_number(TEXT("momentum"), 0.9);
	i64 kept = state_len();
	int at = 0;
	for (int t = 0; t < tensors(); t++) {
		for (i64 from = 0, left = tensor_len(t); left > 0;) {
			int n = left < 4096 ? (int)left : 4096;
			model_f64(t, from, piece, n);
			if (kept > 0) state_read(8 * (i64)at, velocity, 8 * n);
			for (int i = 0; i < n; i++) {
				double before = kept > 0 ? velocity[i] : 0;
				velocity[i] = momentum * before + sum[at++] / total - piece[i];
				piece[i] += velocity[i];
			}
			state_write(velocity, 8 * n);
			result_f64(t, from, piece, n);
			from += n;
			left -= n;
		}
	}
	return 0;
}
