package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/multilink"
)

// underlay is an underlay that the host closes at its own Close at the latest.
type underlay struct {
	multilink.Underlay
	host *Host
	once sync.Once
}

// Underlay creates the tunnels of one link by [Options.Underlay]. Where the
// configuration has no MTU, the underlay is to follow its interface's. An
// interface that does not exist is ErrUnknownLink; without that option it is
// ErrUnsupported.
func (h *Host) Underlay(ctx context.Context, config multilink.UnderlayConfig) (multilink.Underlay, error) {
	fail := func(err error) (multilink.Underlay, error) {
		return nil, fmt.Errorf("create underlay of link %q: %w", config.Link, err)
	}
	if h.options.Underlay == nil {
		return fail(fmt.Errorf("the host has no driver for tunnels (Options.Underlay): %w", multilink.ErrUnsupported))
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	if err := h.prepareUnderlay(&config); err != nil {
		return fail(err)
	}
	var made multilink.Underlay
	err := h.In(func() (err error) {
		made, err = h.options.Underlay(ctx, config)
		return err
	})
	if err != nil {
		return fail(err)
	}
	u := &underlay{Underlay: made, host: h}
	h.mutex.Lock()
	closed := h.closed
	if !closed {
		h.underlays = append(h.underlays, u)
	}
	h.mutex.Unlock()
	if closed {
		return fail(errors.Join(multilink.ErrClosed, made.Close()))
	}
	return u, nil
}

// prepareUnderlay checks the interface. Its MTU is for the underlay to follow.
func (h *Host) prepareUnderlay(config *multilink.UnderlayConfig) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.closed {
		return multilink.ErrClosed
	}
	if err := h.options.permit(Tunnels, config.Link); err != nil {
		return err
	}
	if config.Interface != "" {
		if err := h.usable(config.Interface); err != nil {
			return fmt.Errorf("interface %q: %w", config.Interface, err)
		}
		_, err := h.netlink.LinkByName(config.Interface)
		if missing(err) {
			return fmt.Errorf("interface %q: %w", config.Interface, multilink.ErrUnknownLink)
		}
		if err != nil {
			return fmt.Errorf("interface %q: %w", config.Interface, err)
		}
	} else if config.LinkMTU == 0 {
		config.LinkMTU = defaultMTU
	}
	return nil
}

// Close ends the tunnels. A second Close returns nil.
func (u *underlay) Close() error {
	var err error
	u.once.Do(func() {
		err = u.Underlay.Close()
		u.host.mutex.Lock()
		defer u.host.mutex.Unlock()
		u.host.underlays = slices.DeleteFunc(u.host.underlays, func(other *underlay) bool { return other == u })
	})
	return err
}
