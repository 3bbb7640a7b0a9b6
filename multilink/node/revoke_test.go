package node_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/storage"
)

// A client that was stolen is to be cut off, also by an instance whose plane refuses
// everything.
func TestNode_deleteClient_worksWhileThePlaneRefuses(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	config := configOf(node.Server, newPlane("wlan0"), docs)
	i := start(t, config)
	stolen, lost, kept := object{"public_key": key(t, 3)}, object{"public_key": key(t, 4)}, object{"public_key": key(t, 5)}
	for _, who := range []object{stolen, lost, kept} {
		i.do(http.StatusCreated, "POST", "/tunnel/client/add", who)
	}
	require.NoError(t, i.stop())

	p := newPlane("wlan0")
	var refuses error = wrapped{"open socket: port 51820 of wlan0", multilink.ErrAddressInUse}
	p.before = func(multilink.State) error { return refuses }
	n, i := begin(t, configOf(node.Server, p, docs))
	<-n.Ready()
	require.ErrorContains(t, n.Health(), "51820")

	status, text := i.ask("PUT", "/tunnel/client/disable", stolen)
	require.Equal(t, http.StatusServiceUnavailable, status, text)
	require.Contains(t, text, "it is stored")
	require.Contains(t, text, "51820")
	status, text = i.ask("DELETE", "/tunnel/client/delete", lost)
	require.Equal(t, http.StatusServiceUnavailable, status, text)
	i.do(http.StatusOK, "PUT", "/tunnel/client/disable", stolen)
	i.do(http.StatusNotFound, "DELETE", "/tunnel/client/delete", lost)
	i.do(http.StatusConflict, "PUT", "/tunnel/client/enable", stolen)
	require.Len(t, i.list("/tunnel/client/"), 2)

	require.NoError(t, i.stop())
	peers := comesUp(t, docs).Peers
	require.Len(t, peers, 1)
	require.Equal(t, kept["public_key"], peers[0].PublicKey.Base64())
}

func TestNode_enableClient_storesNothingWhereThePlaneRefuses(t *testing.T) {
	i := server(t)
	who := object{"public_key": key(t, 3)}
	i.do(http.StatusCreated, "POST", "/tunnel/client/add", who)
	i.plane.set(func(p *plane) { p.fail = wrapped{"remove peer", multilink.ErrDenied} })
	i.do(http.StatusForbidden, "PUT", "/tunnel/client/disable", who)
	require.Equal(t, true, i.list("/tunnel/client/")[0]["enabled"])
}
