//go:build !linux || arm

package disk

import "os"

// beginWriteBack does nothing: other systems have no such call, and package
// syscall does not have it for 32-bit ARM.
func beginWriteBack(*os.File, int64, int64) error { return nil }
