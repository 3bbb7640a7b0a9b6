package node_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/storage"
)

func TestNode_Run_keepsAClassOnItsLinksWhileTheirInterfacesAreMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := storage.NewMemoryDocuments()
		i := nodetest.Start(t, nodetest.NewConfig(node.Server, nodetest.NewPlane("eth0", "wlan0", "wwan0"), docs))
		i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0","endpoint":"192.0.2.1:1"}`)
		i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wwan0","endpoint":"192.0.2.1:2"}`)
		status, text := i.Ask("PUT", "/classes", `[{"name":"private","links":["wlan0"]},
			{"name":"both","links":["wlan0","wwan0"],"match":[{"vlan":5}]}]`)
		require.Equal(t, http.StatusOK, status, text)
		require.NoError(t, i.Stop())

		i = nodetest.Start(t, nodetest.NewConfig(node.Server, nodetest.NewPlane("eth0", "wwan0"), docs))
		state := i.Plane.Current()
		require.Equal(t, []string{"wlan0"}, state.Absent)
		require.Equal(t, []string{"wlan0"}, state.Classes[0].Links, "no links would mean all")
		require.Equal(t, []string{"wlan0", "wwan0"}, state.Classes[1].Links)
		require.NoError(t, state.Check())
		require.Subset(t, i.List("/interfaces")[0], nodetest.Object{"state": "down", "loss": 1.0, "loss_tx": 1.0, "loss_rx": 1.0})
	})
}
