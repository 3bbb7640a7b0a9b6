/* What a module imports, and what the C modules here need besides. */
#pragma once

#define HOST(name) __attribute__((import_module("flcollect1"), import_name(#name)))
#define EXPORT(name) __attribute__((export_name(#name)))

typedef long long i64;

HOST(param_number) double param_number(const char *name, int len, double otherwise);
HOST(param_text) int param_text(const char *name, int len, char *dst, int cap);
HOST(fail) void fail(const char *text, int len);
HOST(set_default) void set_default(const char *name, int len, double value);
HOST(gather) void gather(void);
HOST(set_number) void set_number(const char *name, int len, double value);
HOST(set_integer) void set_integer(const char *name, int len, i64 value);
HOST(set_truth) void set_truth(const char *name, int len, int value);
HOST(set_text) void set_text(const char *name, int len, const char *text, int text_len);
HOST(round) int fl_round(void);
HOST(loss) double fl_loss(void);
HOST(tensors) int tensors(void);
HOST(tensor_len) i64 tensor_len(int tensor);
HOST(tensor_rank) int tensor_rank(int tensor);
HOST(tensor_axis) i64 tensor_axis(int tensor, int axis);
HOST(tensor_type) int tensor_type(int tensor);
HOST(model_f64) void model_f64(int tensor, i64 from, double *dst, int n);
HOST(model_f32) void model_f32(int tensor, i64 from, float *dst, int n);
HOST(state_len) i64 state_len(void);
HOST(state_read) void state_read(i64 from, void *dst, int n);
HOST(state_write) void state_write(const void *src, int n);
HOST(updates) int updates(void);
HOST(update_examples) i64 update_examples(int update);
HOST(update_client) int update_client(int update, char *dst, int cap);
HOST(update_metric) double update_metric(int update, const char *name, int len);
HOST(update_f64) void update_f64(int update, int tensor, i64 from, double *dst, int n);
HOST(update_f32) void update_f32(int update, int tensor, i64 from, float *dst, int n);
HOST(result_f64) void result_f64(int tensor, i64 from, const double *src, int n);
HOST(result_f32) void result_f32(int tensor, i64 from, const float *src, int n);

#define TEXT(s) (s), (int)(sizeof(s) - 1)
