package multilink_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBond_Status_namesTwoInstancesWithOneKeyAtBothEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 1, nil)
		first := b.clients[0]
		settle(3 * time.Second)
		second := b.instance("10.0.0.9", 9)
		second.state = first.state
		second.apply()
		second.listen()
		settle(5 * time.Second)
		const twice = "another instance uses the key of this "
		require.Contains(t, b.server.bond.Status().Peers[0].Conflict, twice+"peer")
		for _, client := range []*instance{first, second} {
			require.Contains(t, client.bond.Status().Peers[0].Conflict, twice+"one")
			require.Len(t, client.reasons("conflict"), 1)
		}
		require.Len(t, b.server.reasons("conflict"), 1)
		require.Contains(t, b.server.reasons("conflict")[0], "client-a "+twice)

		require.NoError(t, second.bond.Close())
		settle(2 * time.Minute)
		for _, i := range []*instance{b.server, first} {
			require.Empty(t, i.bond.Status().Peers[0].Conflict)
			require.True(t, i.bond.Status().Peers[0].Connected)
		}
	})
}
