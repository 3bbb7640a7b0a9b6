package kernel_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/kernel"
)

// A server asks whether the kernel can do it, and takes multilink.Bond otherwise.
func ExampleAvailable() {
	err := kernel.Available()
	fmt.Println(err == nil || errors.Is(err, multilink.ErrUnsupported) || errors.Is(err, multilink.ErrDenied))
	// Output: true
}

func ExampleOpen() {
	_, err := kernel.Open(context.Background(), kernel.Config{Name: "two words"})
	fmt.Println(err)
	// Output: open plane "two words": name: must be 1 to 32 letters, digits, '.', '-' or '_': multilink: invalid
}
