package admin

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailures_of_isBounded(t *testing.T) {
	address := func(i int) netip.Addr {
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(i))))
	}
	known, now := failures{}, time.Now()
	for i := range maxAddresses + 500 { // each beyond takes a look at all
		known.of(address(i), now).locked = now.Add(time.Hour)
		if len(known) > maxAddresses { // a call of require for each would take longer than the rest
			require.Fail(t, "too many addresses are kept", len(known))
		}
	}
	require.Len(t, known, maxAddresses, "those that are locked stay as long as there is room")
	for _, f := range known {
		f.locked = time.Time{}
	}
	known.of(address(-1), now)
	require.Len(t, known, 1)
}
