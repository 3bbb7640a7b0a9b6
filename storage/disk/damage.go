package disk

import (
	"fmt"
	"runtime/debug"
)

// guarded runs a function that uses the database. On a damaged page bbolt panics, or reads
// outside of the mapped file; that becomes an error with the advice to the operator.
func guarded(use func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = damagedDatabase(cause)
		}
	}()
	return use()
}

func damagedDatabase(cause any) error {
	return fmt.Errorf("%s is damaged: %v: %s", databaseName, cause, remedy)
}
