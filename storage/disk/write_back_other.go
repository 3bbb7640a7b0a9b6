//go:build !linux || arm

package disk

import "os"

// beginWriteBack does nothing: elsewhere than on Linux there is no call for it,
// and on 32-bit ARM none in package syscall.
func beginWriteBack(*os.File, int64, int64) error { return nil }
