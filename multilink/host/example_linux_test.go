package host_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/host"
)

// A host does what its settings allow, and says which one to change otherwise.
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
	fmt.Println(err)
	_, err = h.Link(context.Background(), "eth0")
	fmt.Println(errors.Is(err, multilink.ErrDenied), err)
	// Output:
	// make port "ml0": the settings exclude the operation "bridge" on "br0"; add it to the allowed operations (Options.Allow): multilink: denied
	// true watch interface "eth0": the settings exclude interface "eth0"; they allow wlan*, wwan0; add it to the allowed interfaces (Options.Interfaces): multilink: denied
}
