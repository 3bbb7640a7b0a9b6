// Package faults breaks what the servers stand on, and looks at what is left. Its tests run
// every server as a process over a folder, make writes over REST, and note each one that was
// acknowledged. Meanwhile the disk is full, files are truncated, the process is killed, the
// power fails, the folder is read-only, descriptors run out, or the clock is set. Afterwards
// every acknowledged write has to be there and whole.
//
// A server never crashes: it runs, or it ends with status 1 and one line that names the file
// and the remedy. After a fault no manual step is needed but what that line says.
//
// The tests take root on Linux: they mount file systems of a few pages or on a file, and run in a mount
// and a network namespace of their own, which the machine does not see. They run where
// ENABLERS_REQUIRE_PEERS is 1, and fail there without root. FAULTS=full runs every place of the matrix
// instead of a part of it, which takes many minutes; FAULTS=on runs the part without the peers.
package faults
