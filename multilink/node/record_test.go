package node_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/status"
	"github.com/iotenablers/enablers/storage"
)

func TestNode_Run_keepsAClassOnItsLinksWhileTheirInterfacesAreMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := storage.NewMemoryDocuments()
		i := start(t, configOf(node.Server, newPlane("eth0", "wlan0", "wwan0"), docs))
		i.do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0","endpoint":"192.0.2.1:1"}`)
		i.do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wwan0","endpoint":"192.0.2.1:2"}`)
		status, text := i.ask("PUT", "/classes", `[{"name":"private","links":["wlan0"]},
			{"name":"both","links":["wlan0","wwan0"],"match":[{"vlan":5}]}]`)
		require.Equal(t, http.StatusOK, status, text)
		require.NoError(t, i.stop())

		i = start(t, configOf(node.Server, newPlane("eth0", "wwan0"), docs))
		state := i.plane.current()
		require.Equal(t, []string{"wlan0"}, state.Absent)
		require.Equal(t, []string{"wlan0"}, state.Classes[0].Links, "no links would mean all")
		require.Equal(t, []string{"wlan0", "wwan0"}, state.Classes[1].Links)
		require.NoError(t, state.Check())
		require.Subset(t, i.list("/interfaces")[0], object{"state": "down", "loss": 1.0, "loss_tx": 1.0, "loss_rx": 1.0})
	})
}

func TestNode_Handler_showsAConflictOfKeys(t *testing.T) {
	const conflict = "another instance uses the key of this peer"
	i := server(t)
	i.do(http.StatusCreated, "POST", "/tunnel/client/add", object{"name": "gw-1", "public_key": key(t, 3)})
	require.NotContains(t, i.list("/tunnel/client/")[0], "conflict")
	public := i.plane.current().Peers[0].PublicKey
	i.plane.set(func(p *plane) {
		p.status.Peers = []multilink.PeerStatus{{Name: "gw-1", PublicKey: public, Conflict: conflict}}
	})
	require.Equal(t, conflict, i.list("/tunnel/client/")[0]["conflict"])
	require.Equal(t, "gw-1: "+conflict, i.do(http.StatusOK, "GET", "/state", nil)["fault"])
}

func TestNode_Page_showsWhatLinksCarryAndWhatIsRefused(t *testing.T) {
	const conflict = "another instance uses the key of this peer"
	i := server(t)
	for n, name := range []string{"wlan0", "mesh0"} {
		i.do(http.StatusCreated, "POST", "/interfaces/add", object{"name": name, "endpoint": fmt.Sprintf("192.0.2.1:%d", n+1)})
	}
	for _, name := range []string{"gw-1", "gw-2"} {
		i.do(http.StatusCreated, "POST", "/tunnel/client/add", object{"name": name})
	}
	i.plane.set(func(p *plane) {
		p.status.Links = []status.Link{{Name: "wlan0", State: status.Up, PathMTU: 1372}}
		for n, peer := range p.state.Peers {
			p.status.Peers = append(p.status.Peers, multilink.PeerStatus{Name: peer.Name, PublicKey: peer.PublicKey,
				Conflict: conflict, Counters: status.Counters{Refused: uint64(n + 7)}})
		}
	})
	page := newVisit(i).get("/").Body.String()
	require.Contains(t, page, `<dd data-field="path">1372 B</dd>`)
	require.Contains(t, page, `<dd data-field="path">–</dd>`, "of a link that is down")
	require.Contains(t, page, `data-field="refused">7</td>`)
	require.Contains(t, page, `data-field="refused">8</td>`)
	require.Equal(t, 2, strings.Count(page, `data-field="conflict">`+conflict+"<"), "each client that has one")
	clients := i.do(http.StatusOK, "GET", "/state", nil)["clients"].([]any)
	require.Subset(t, clients[1], object{"refused": 8.0, "conflict": conflict})
	metrics := i.send("GET", "/metrics", nil, map[string]string{"Authorization": "Bearer " + token}).Body.String()
	require.Contains(t, metrics, `multilink_peer_conflict{peer="gw-2"} 1`)
}
