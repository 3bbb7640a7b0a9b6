package linktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/iotenablers/enablers/multilink"
)

// HostHarness creates the host under test.
type HostHarness struct {
	// Host creates one, each time of the same name and rights. Required. The
	// suite closes it, and has one at a time.
	Host func() (multilink.Host, error)
	// Link is the name of an interface that is there. Required.
	Link string
	// Port is what a port is made of. Its zero value is a port "linktest0".
	Port multilink.PortConfig
	// Carrier takes the carrier of Link away, or gives it back. Nil skips the
	// check that needs it.
	Carrier func(h multilink.Host, up bool) error
	// Timeout bounds each wait for what must happen. Zero is 20 s.
	Timeout time.Duration
}

// RunHost tests every rule of Host and Link.
func RunHost(t *testing.T, h HostHarness) {
	t.Helper()
	if h.Port.Name == "" {
		h.Port.Name = "linktest0"
	}
	run(t, HostChecks(), h)
}

// HostChecks returns the rules of Host and Link.
func HostChecks() []Check[HostHarness] {
	return []Check[HostHarness]{
		{
			Name: "an interface that is not there", Rule: "Link and Underlay return ErrUnknownLink.",
			experiment: onHost(func(h HostHarness, host multilink.Host) error {
				_, err := host.Link(h.context(), "nosuchlink0")
				if err := refused("Link", err, multilink.ErrUnknownLink); err != nil {
					return err
				}
				_, err = host.Underlay(h.context(), multilink.UnderlayConfig{Link: "x", Interface: "nosuchlink0", PrivateKey: private(1)})
				return refused("Underlay", err, multilink.ErrUnknownLink)
			}),
		},
		{
			Name: "the interfaces", Rule: "Links has every interface that Link watches, and says the same of it.",
			experiment: onHost(func(h HostHarness, host multilink.Host) error {
				all, err := host.Links(h.context())
				if err != nil {
					return err
				}
				link, err := host.Link(h.context(), h.Link)
				if err != nil {
					return err
				}
				defer link.Close()
				at := slices.IndexFunc(all, func(i multilink.LinkInfo) bool { return i.Interface == h.Link })
				if at < 0 {
					return fmt.Errorf("%q is not among them", h.Link)
				}
				got, want := link.Info(), all[at]
				if got.Interface != want.Interface || got.Up != want.Up || got.MTU != want.MTU || got.MTU <= 0 || got.Gone {
					return fmt.Errorf("for a link it is %+v, among all %+v", got, want)
				}
				return nil
			}),
		},
		{
			Name: "watching", Rule: "Events begins with the state at the call, and ends with Close.",
			experiment: onHost(func(h HostHarness, host multilink.Host) error {
				link, err := host.Link(h.context(), h.Link)
				if err != nil {
					return err
				}
				events := link.Events()
				if got, err := h.next(events); err != nil || got.Interface != h.Link {
					return fmt.Errorf("the first is %+v, %w", got, err)
				}
				for range 2 {
					if err := link.Close(); err != nil {
						return fmt.Errorf("close: %w", err)
					}
				}
				return within(h.Timeout, "the channel was not closed", func() bool {
					select {
					case _, open := <-events:
						return !open
					default:
						return false
					}
				})
			}),
		},
		{
			Name: "the carrier", Rule: "Events reports the carrier, and never misses the last state.",
			Needs: func(h HostHarness) string {
				if h.Carrier == nil {
					return "the harness cannot take a carrier away"
				}
				return ""
			},
			experiment: onHost(func(h HostHarness, host multilink.Host) error {
				link, err := host.Link(h.context(), h.Link)
				if err != nil {
					return err
				}
				defer link.Close()
				events := link.Events()
				for _, up := range []bool{false, true, false, true} {
					if err := h.Carrier(host, up); err != nil {
						return err
					}
					for {
						got, err := h.next(events)
						if err != nil {
							return fmt.Errorf("with the carrier set to %v, %w", up, err)
						}
						if got.Up == up {
							break
						}
					}
				}
				return nil
			}),
		},
		{
			Name: "ports", Rule: "A port's name is its own until it is closed; a bad setting is ErrInvalid.",
			experiment: onHost(func(h HostHarness, host multilink.Host) error {
				for range 2 {
					port, err := host.Port(h.context(), h.Port)
					if err != nil {
						return err
					}
					_, err = host.Port(h.context(), h.Port)
					if err := errors.Join(refused("create it twice", err, multilink.ErrDuplicate), port.Close()); err != nil {
						return err
					}
				}
				bad := h.Port
				bad.Name = "a name that is too long"
				_, err := host.Port(h.context(), bad)
				return refused("create one with a bad name", err, multilink.ErrInvalid)
			}),
		},
		{
			Name: "a context that has ended", Rule: "The call makes nothing and returns the context's error.",
			experiment: onHost(func(h HostHarness, host multilink.Host) error {
				ended, cancel := context.WithCancel(h.context())
				cancel()
				_, port := host.Port(ended, h.Port)
				_, link := host.Link(ended, h.Link)
				_, links := host.Links(ended)
				if err := errors.Join(
					refused("Port", port, context.Canceled),
					refused("Link", link, context.Canceled),
					refused("Links", links, context.Canceled),
				); err != nil {
					return err
				}
				made, err := host.Port(h.context(), h.Port)
				if err != nil {
					return fmt.Errorf("create the port afterwards: %w", err)
				}
				return made.Close()
			}),
		},
		{
			Name: "the end", Rule: "Close removes everything; every call after it returns ErrClosed; a second Close returns nil.",
			experiment: func(h HostHarness) error {
				for range 2 {
					host, err := h.Host()
					if err != nil {
						return err
					}
					port, err := host.Port(h.context(), h.Port)
					if err != nil {
						return errors.Join(fmt.Errorf("create port: %w", err), host.Close())
					}
					for range 2 {
						if err := host.Close(); err != nil {
							return fmt.Errorf("close: %w", err)
						}
					}
					if err := refused("Read", port.Read(&multilink.Batch{}), multilink.ErrClosed); err != nil {
						return err
					}
					_, err = host.Port(h.context(), h.Port)
					if err := refused("Port", err, multilink.ErrClosed); err != nil {
						return err
					}
					_, err = host.Link(h.context(), h.Link)
					if err := refused("Link", err, multilink.ErrClosed); err != nil {
						return err
					}
				}
				return nil
			},
		},
	}
}

// next waits for a state.
func (h HostHarness) next(events <-chan multilink.LinkInfo) (multilink.LinkInfo, error) {
	bound := h.Timeout
	if bound == 0 {
		bound = patience
	}
	select {
	case info, open := <-events:
		if !open {
			return info, errors.New("the channel was closed")
		}
		return info, nil
	case <-time.After(bound):
		return multilink.LinkInfo{}, fmt.Errorf("no state came within %v", bound)
	}
}

// context of the calls that are to succeed.
func (h HostHarness) context() context.Context { return context.Background() }

func onHost(experiment func(HostHarness, multilink.Host) error) func(HostHarness) error {
	return func(h HostHarness) (err error) {
		host, err := h.Host()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, host.Close()) }()
		return experiment(h, host)
	}
}
