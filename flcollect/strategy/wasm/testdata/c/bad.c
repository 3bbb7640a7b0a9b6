/* A module that does what modules must not do. The parameter "where" says in which
 * function, and "what" which mischief.
 *
 *   clang --target=wasm32 -O1 -nostdlib -Wl,--no-entry -o bad.wasm bad.c */
#include "flcollect.h"

static char where[32], what[32];
static double values[16];
static volatile int sink;

static int is(const char *text, const char *name) {
	while (*text && *text == *name) text++, name++;
	return *text == *name;
}


static int deep(int n) { return n < 0 ? 0 : deep(n + 1) + sink++; }

static int mischief(const char *here) {
	for (int i = 0; i < 32; i++) where[i] = what[i] = 0;
	param_text(TEXT("where"), where, 31);
	param_text(TEXT("what"), what, 31);
	if (!is(where, here)) return 0;
	if (is(what, "loop")) for (;;) sink++;
	if (is(what, "allocate")) {
		for (i64 size = 0;; size += 65536) {
			if (__builtin_wasm_memory_grow(0, 1) == (unsigned long)-1) {
				fail(TEXT("no memory is left"));
				return 1;
			}
		}
	}
	if (is(what, "touch")) {
		while (__builtin_wasm_memory_grow(0, 16) != (unsigned long)-1) sink++;
		return *(volatile int *)0xfffffff0;
	}
	if (is(what, "trap")) __builtin_trap();
	if (is(what, "recurse")) return deep(sink);
	if (is(what, "fail")) { fail(TEXT("as it was told")); return 1; }
	if (is(what, "silent")) return 1;
	if (is(what, "answer")) return 77;
	if (is(what, "address")) param_text(TEXT("what"), (char *)0xfffffff0, 31);
	if (is(what, "long name")) param_number((char *)0, 65000, 0);
	if (is(what, "no text")) { what[0] = (char)0xff; param_number(what, 1, 0); }
	if (is(what, "tensor")) model_f64(99, 0, values, 1);
	if (is(what, "tensor -1")) model_f64(-1, 0, values, 1);
	if (is(what, "from")) model_f64(0, -1, values, 1);
	if (is(what, "count")) model_f64(0, 0, values, -1);
	if (is(what, "axis")) sink = (int)tensor_axis(0, 9);
	if (is(what, "update")) update_f64(3, 0, 0, values, 1);
	if (is(what, "moment")) gather();
	if (is(what, "setting")) set_number(TEXT("a"), 1);
	if (is(what, "state")) state_read(0, values, 8);
	if (is(what, "much state")) for (;;) state_write((void *)0, 65536);
	if (is(what, "default")) set_default(TEXT("eta"), 1);
	if (is(what, "result past")) result_f64(0, 0, values, 7);
	if (is(what, "result twice")) { result_f64(0, 0, values, 1); result_f64(0, 0, values, 1); }
	if (is(what, "NaN")) { values[0] = __builtin_nan(""); result_f64(0, 0, values, 1); }
	if (is(what, "too great")) { values[0] = 1e300; result_f64(0, 0, values, 1); }
	if (is(what, "too few")) { fail(TEXT("it wants more")); return 2; }
	if (is(what, "nothing")) return 0;
	if (is(what, "half")) { result_f64(0, 0, values, 1); return 0; }
	return 0;
}

EXPORT(fl_setup) int setup(void) { return mischief("setup"); }
EXPORT(fl_configure) int configure(int phase, int round) { return mischief("configure"); }
EXPORT(fl_begin) int begin(void) { return mischief("begin"); }
EXPORT(fl_add) int add(void) { return mischief("add"); }
EXPORT(fl_finish) int finish(void) {
	int answer = mischief("finish");
	if (answer != 0 || is(where, "finish")) return answer;
	for (int t = 0; t < tensors(); t++) {
		for (i64 i = 0; i < tensor_len(t); i++) {
			model_f64(t, i, values, 1);
			result_f64(t, i, values, 1);
		}
	}
	return 0;
}
