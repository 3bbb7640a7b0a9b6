package multilink_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/status"
)

func TestBond_Status_measuresALinkByThePeersThatUseIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 2, nil)
		settle(3 * time.Second)
		require.NoError(t, b.clients[0].bond.Close())
		settle(3 * time.Second)
		now := b.server.bond.Status()
		require.Equal(t, status.Down, now.Peers[0].Links[0].State)
		require.Equal(t, 1.0, now.Peers[0].Links[0].LossRx)
		require.Equal(t, status.Up, now.Links[0].State)
		require.Zero(t, now.Links[0].LossRx+now.Links[0].LossTx, "one client that is away is no loss of the link")
		require.NoError(t, b.clients[1].bond.Close())
		settle(3 * time.Second)
		now = b.server.bond.Status()
		require.Equal(t, status.Down, now.Links[0].State)
		require.Equal(t, 1.0, now.Links[0].LossRx)
		require.Zero(t, now.Links[0].RTT)
	})
}
