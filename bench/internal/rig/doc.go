// Package rig is what the benchmarks measure with. It reports the machine and the
// commit ([ThisMachine], [Commit]), starts the contenders and reports what they
// take ([Start]), works out what several trials come to ([Median], [Spread]),
// and writes down the record of a run ([Write]).
//
// What is in a record, and what its report shows of it, is up to the benchmark.
//
// Most of it is read from /proc. Elsewhere than on Linux the values are empty
// or zero, and the benchmarks that live on them document that they need Linux.
package rig
