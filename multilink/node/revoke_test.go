package node_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/storage"
)

// A client that was stolen is to be cut off, also by an instance whose plane refuses
// everything.
func TestNode_deleteClient_worksWhileThePlaneRefuses(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	config := nodetest.NewConfig(node.Server, nodetest.NewPlane("wlan0"), docs)
	i := nodetest.Start(t, config)
	who := func(seed byte) nodetest.Object { return nodetest.Object{"public_key": nodetest.Key(t, seed)} }
	stolen, lost, kept := who(3), who(4), who(5)
	for _, who := range []nodetest.Object{stolen, lost, kept} {
		i.Do(http.StatusCreated, "POST", "/tunnel/client/add", who)
	}
	require.NoError(t, i.Stop())

	p := nodetest.NewPlane("wlan0")
	refuses := nodetest.Wrap("open socket: port 51820 of wlan0", multilink.ErrAddressInUse)
	p.Before = func(multilink.State) error { return refuses }
	i = nodetest.Begin(t, nodetest.NewConfig(node.Server, p, docs))
	<-i.Node.Ready()
	require.ErrorContains(t, i.Node.Health(), "51820")

	status, text := i.Ask("PUT", "/tunnel/client/disable", stolen)
	require.Equal(t, http.StatusServiceUnavailable, status, text)
	require.Contains(t, text, "it is stored")
	require.Contains(t, text, "51820")
	status, text = i.Ask("DELETE", "/tunnel/client/delete", lost)
	require.Equal(t, http.StatusServiceUnavailable, status, text)
	i.Do(http.StatusOK, "PUT", "/tunnel/client/disable", stolen)
	i.Do(http.StatusNotFound, "DELETE", "/tunnel/client/delete", lost)
	i.Do(http.StatusConflict, "PUT", "/tunnel/client/enable", stolen)
	require.Len(t, i.List("/tunnel/client/"), 2)

	require.NoError(t, i.Stop())
	peers := comesUp(t, docs).Peers
	require.Len(t, peers, 1)
	require.Equal(t, kept["public_key"], peers[0].PublicKey.Base64())
}

func TestNode_enableClient_storesNothingWhereThePlaneRefuses(t *testing.T) {
	i := nodetest.Server(t)
	who := nodetest.Object{"public_key": nodetest.Key(t, 3)}
	i.Do(http.StatusCreated, "POST", "/tunnel/client/add", who)
	i.Plane.Set(func(p *nodetest.Plane) { p.Fail = nodetest.Wrap("remove peer", multilink.ErrDenied) })
	i.Do(http.StatusForbidden, "PUT", "/tunnel/client/disable", who)
	require.Equal(t, true, i.List("/tunnel/client/")[0]["enabled"])
}
