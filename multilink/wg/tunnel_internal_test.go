package wg

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// While a peer is renewed, a receiver that waits for a lock of its caller must not hold the removal up.
func TestTunnel_hold_deliversNothingMeanwhile(t *testing.T) {
	var caller sync.Mutex
	delivered := 0
	one := &tunnel{receive: func([][]byte) {
		caller.Lock()
		defer caller.Unlock()
		delivered++
	}}
	one.deliver(nil)
	one.hold(true)
	caller.Lock()
	one.deliver(nil) // returns, although the lock is held
	caller.Unlock()
	one.hold(false)
	one.deliver(nil)
	require.Equal(t, 2, delivered)
}
