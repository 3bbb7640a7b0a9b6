package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/host"
)

// A host does what its options allow, and names the option to change otherwise.
func ExampleOpen() {
	h, err := host.Open(context.Background(), &host.Options{
		Name:       "gateway-7",
		Interfaces: []string{"wlan*", "wwan0"},
		Allow:      []host.Operation{host.TAP, host.Addresses},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()

	_, err = h.Port(context.Background(), multilink.PortConfig{Name: "ml0", Bridge: "br0"})
	fmt.Println(errors.Is(err, multilink.ErrDenied), strings.Contains(err.Error(), "Options.Allow"))
	_, err = h.Link(context.Background(), "eth0")
	fmt.Println(errors.Is(err, multilink.ErrDenied), strings.Contains(err.Error(), "Options.Interfaces"))
	// Output:
	// true true
	// true true
}
