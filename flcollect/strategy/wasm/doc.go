// Package wasm runs aggregation strategies that are WebAssembly modules, written
// in any language, in a sandbox.
//
// [Compile] checks and compiles a module; [Module.Strategy] makes a strategy.Strategy
// of it. A module has access only to what is described here: no files, no network, no
// real clock and no randomness, so that the same round has the same result
// everywhere. Every call has limits of fuel and of time, and the memory of a module
// is bounded, see [Options]. A module that violates a rule fails its round with an
// error that matches [ErrFailed] and names the rule. Each round begins with the
// module as it was loaded, so that no round affects the next.
//
// # Fuel
//
// Fuel bounds the instructions of a call, counted the same everywhere: a call runs out
// of fuel at the same instruction on any machine, however busy it is. For that,
// modules are rewritten before they are compiled. An instruction takes a unit, else
// and end take none. Instructions that move or fill memory, or make it grow, take
// another unit for 16 bytes; instructions that move or fill elements of tables, one
// for each element. A function of the host takes 100 units, one for each element of a
// tensor that it moves, and one for 16 bytes of the memory that it reads or writes. A
// segment of code without a branch is charged as a whole where it begins.
//
// Code that is not run is bounded as well, because it has to be compiled: sections have
// at most 100,000 items, and a function at most 4096 variables and 512 KiB, and where it
// has many branches it may have few variables and values on its stack. The output of
// compilers is far below these limits.
//
// The default is far above the need of rules that read each number several times: for
// a model of 100 million parameters an update may take 201,000 million instructions,
// which is more than the time allows. In practice time limits large models, and fuel
// limits small ones.
//
// # What a module exports
//
// All functions take and return 32-bit integers. They return 0 if all went well, 1
// if the round is to fail, and 2 where described; the reason is passed to "fail"
// before. Only memory and fl_finish are required.
//
//	memory                   the linear memory
//	_initialize()            called first, as WASI wants it of reactors; may be absent
//	fl_setup()               called once when the strategy is made: reads parameters
//	fl_configure(phase, round)  before clients get a phase: 0 is fit, 1 evaluate
//	fl_begin()               a round begins
//	fl_add()                 an update has come; 2 refuses it, and the round goes on
//	fl_finish()              makes the new model; 2 says that the updates are too few
//
// Modules may import wasi_snapshot_preview1 as compilers for it do: there are no
// arguments, no environment and no files, the clock stands at a fixed time and moves
// a little whenever it is read, random numbers are the same each time, and what is
// written to the standard error is part of the error when a call fails.
//
// # What a module imports
//
// From the module "flcollect1", whose name has the version of this interface. Pointers
// point into the memory of the module, and texts are UTF-8 with a length, without a
// zero at the end. A function that is called with invalid arguments, or at another
// time than described, does not return: the round fails.
//
// At any time:
//
//	param_number(name i32, len i32, otherwise f64) f64  a parameter of the job
//	param_text(name i32, len i32, dst i32, cap i32) i32 its text, cut to cap; returns the whole length, -1 if it is not given
//	fail(text i32, len i32)                             the reason for a return value that is not 0
//
// A parameter that fl_setup does not read is an error of the job, except for those
// of sampling and failures, which every strategy has (fraction_fit, min_fit_clients,
// accept_failures, min_completion_rate_fit and so on). The host handles these.
//
// In fl_setup:
//
//	set_default(name i32, len i32, value f64)  another default for a parameter of sampling and failures
//	gather()                                   chooses to have all updates at the end, see below
//
// In fl_configure, for the configuration of clients:
//
//	set_number(name i32, len i32, value f64)
//	set_integer(name i32, len i32, value i64)
//	set_truth(name i32, len i32, value i32)
//	set_text(name i32, len i32, text i32, len i32)
//
// In fl_begin, fl_add and fl_finish:
//
//	round() i32                             counts from 1
//	loss() f64                              of the model, not-a-number if unknown
//	tensors() i32                           of the model; updates and the result have the same form
//	tensor_len(tensor i32) i64              its elements
//	tensor_rank(tensor i32) i32             its axes
//	tensor_axis(tensor i32, axis i32) i64   the length of an axis
//	tensor_type(tensor i32) i32             1 truth values; 2 to 5 signed and 6 to 9 unsigned
//	                                        integers of 8 to 64 bits; 10 to 12 floats of 16
//	                                        to 64 bits; 13 bfloat16
//	model_f64(tensor i32, from i64, dst i32, n i32)   n elements of the model that clients were sent
//	model_f32(tensor i32, from i64, dst i32, n i32)   likewise, rounded
//	state_len() i64                         bytes of the state of the round before
//	state_read(from i64, dst i32, n i32)    and a part of them
//
// In fl_add for update 0, and in fl_finish after gather for all:
//
//	updates() i32                           how many there are
//	update_examples(update i32) i64
//	update_client(update i32, dst i32, cap i32) i32                  the name, as param_text
//	update_metric(update i32, name i32, len i32) f64                 not-a-number if it has none of the name
//	update_f64(update i32, tensor i32, from i64, dst i32, n i32)     n elements
//	update_f32(update i32, tensor i32, from i64, dst i32, n i32)
//
// In fl_finish:
//
//	result_f64(tensor i32, from i64, src i32, n i32)  the next n elements of a tensor of the new model
//	result_f32(tensor i32, from i64, src i32, n i32)
//	state_write(src i32, n i32)                       the next bytes of the state for the round after
//
// Each tensor of the result is written from its first element to its last, in pieces
// of any size; the position of a piece is checked. All elements have to be finite. A
// module that writes no state keeps its previous state.
//
// # Two ways to take updates
//
// By default, fl_add is called for each update as it arrives, and the module keeps what
// it needs of it; memory need not grow with the number of clients. The result should be
// independent of the order of arrival; sums of floating-point numbers are not.
//
// If a module calls gather in fl_setup, fl_add is never called. Updates go to a
// file, and in fl_finish all can be read in any order and in pieces of any size,
// numbered in the order of their clients' names, whatever the order of arrival. So
// both sums that have to be the same in every run, and rules such as the median
// that need all updates at once, take little memory.
//
// Counting takes a few instructions of the machine for each segment of code. An inner
// loop over elements is faster if each iteration processes several of them.
//
// In both ways updates of another form, with numbers that are not finite, or of a
// client that sent one already, never reach the module.
package wasm
