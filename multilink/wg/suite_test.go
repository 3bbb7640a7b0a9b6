package wg_test

import (
	"net/netip"
	"testing"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/linktest"
	"github.com/iotenablers/enablers/multilink/wg"
)

func TestUnderlay_passesTheSuiteOverLoopback(t *testing.T) {
	t.Parallel()
	linktest.RunUnderlay(t, linktest.UnderlayHarness{
		Link: "wifi",
		Underlay: func(_ int, config multilink.UnderlayConfig) (multilink.Underlay, netip.Addr, error) {
			u, err := wg.Open(t.Context(), config, nil)
			if err != nil {
				return nil, netip.Addr{}, err
			}
			return u, netip.MustParseAddr("127.0.0.1"), nil
		},
	})
}
