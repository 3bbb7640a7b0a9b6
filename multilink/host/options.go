package host

import (
	"context"
	"fmt"
	"log/slog"
	"path"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
)

// Operation is a kind of change that a host makes to the machine.
type Operation string

// The operations.
const (
	// TAP creates TAP devices, and sets their MTU and state.
	TAP Operation = "tap"
	// Bridge creates bridges.
	Bridge Operation = "bridge"
	// Members joins interfaces to bridges, and ports to bridges of others.
	Members Operation = "members"
	// Addresses gives addresses to ports and bridges.
	Addresses Operation = "addresses"
	// Routes adds routes through ports and bridges.
	Routes Operation = "routes"
	// Tunnels opens sockets bound to interfaces.
	Tunnels Operation = "tunnels"
	// Nothing in [Options.Allow] means no operation at all: the host only watches
	// interfaces.
	Nothing Operation = "nothing"
)

// Operations returns all operations that [Options.Allow] can name, save [Nothing].
func Operations() []Operation { return []Operation{TAP, Bridge, Members, Addresses, Routes, Tunnels} }

// Options are the settings of a host. Nil and the zero value are the defaults.
type Options struct {
	// Name of the host. It marks what it creates, and no two hosts of one network
	// namespace share one. Empty is "multilink". Same form as a link's name.
	Name string
	// Interfaces that it may use besides those that it creates: patterns of
	// [path.Match], such as "wlan*". Empty is all. The loopback interface is
	// never among them.
	Interfaces []string
	// Allow lists the operations that it may do. Empty is all.
	Allow []Operation
	// Journal is the path of the file that says what is to be undone after a
	// crash. It has mode 0600 and is removed at Close. Empty means none: then a
	// crash leaves behind what was changed on interfaces of others.
	Journal string
	// Namespace is the path of a network namespace to work in, such as
	// "/run/netns/blue" or "/proc/self/fd/7". Empty is that of the thread
	// that calls Open. Entering another one needs CAP_SYS_ADMIN.
	Namespace string
	// Underlay creates the tunnels of a link for [Host.Underlay]. It is called
	// within the host's namespace: sockets that it opens before it returns are
	// there for good; those that it opens later are to be opened within
	// [Host.In]. Nil means none.
	Underlay func(context.Context, multilink.UnderlayConfig) (multilink.Underlay, error)
	// NoOffload makes the kernel pass frames one by one, with complete checksums.
	// A kernel without offload does so in any case.
	NoOffload bool
	// Logger takes failures where no error can be returned, such as a
	// subscription to the kernel's messages that broke off. Nil is silent.
	Logger *slog.Logger
}

const defaultName = "multilink"

// complete returns the options with defaults filled in, once they are checked.
func (o *Options) complete() (Options, error) {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Name == "" {
		full.Name = defaultName
	}
	if full.Logger == nil {
		full.Logger = slog.New(slog.DiscardHandler)
	}
	if !settings.ValidName(full.Name) {
		return full, fmt.Errorf("open host: Options.Name: not a name: %q: %w", full.Name, multilink.ErrInvalid)
	}
	for _, pattern := range full.Interfaces {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return full, fmt.Errorf("open host: Options.Interfaces: not a pattern: %q: %w", pattern, multilink.ErrInvalid)
		}
	}
	for _, operation := range full.Allow {
		if !known(operation) {
			return full, fmt.Errorf("open host: Options.Allow: must be some of %v, got %q: %w", Operations(), operation, multilink.ErrInvalid)
		}
	}
	return full, nil
}

func known(operation Operation) bool {
	for _, o := range Operations() {
		if o == operation {
			return true
		}
	}
	return operation == Nothing
}
