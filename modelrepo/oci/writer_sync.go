package oci

import (
	"errors"
	"os"
	"runtime"
)

// syncFolder makes the names in a folder durable, where the system can.
func syncFolder(root *os.Root, name string) error {
	if runtime.GOOS == "windows" {
		return nil // names are durable with the files there
	}
	folder, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
