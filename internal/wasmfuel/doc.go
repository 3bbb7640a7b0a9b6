// Package wasmfuel rewrites WebAssembly modules so that they count their instructions. A program that
// runs modules which it does not trust bounds their calls by that count: it is the same on every
// machine, however busy the machine is.
//
// [Meter] returns the rewritten module. The program provides the imported function [Refuel], and sets
// the exported global variable with the fuel before each call.
//
// An instruction takes a unit, else and end take none. Instructions that move or fill memory, or make
// it grow, take another unit for 16 bytes; instructions that move or fill elements of tables, one for
// each element. A segment of code without a branch is charged as a whole where it begins. What has to
// be compiled is bounded as well: the items of sections, the size of functions, and their variables and
// branches.
package wasmfuel
