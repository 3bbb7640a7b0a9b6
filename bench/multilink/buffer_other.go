//go:build !linux

package main

import "syscall"

// widen leaves a socket as it is: what it is for runs on Linux only.
func widen(string, string, syscall.RawConn) error { return nil }
