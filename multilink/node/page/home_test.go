package page_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/multilink/status"
)

func TestNewHandler_showsAConflictOfKeys(t *testing.T) {
	const conflict = "another instance uses the key of this peer"
	i := server(t)
	i.Do(http.StatusCreated, "POST", "/tunnel/client/add", nodetest.Object{"name": "gw-1", "public_key": nodetest.Key(t, 3)})
	require.NotContains(t, i.List("/tunnel/client/")[0], "conflict")
	public := i.Plane.Current().Peers[0].PublicKey
	i.Plane.Set(func(p *nodetest.Plane) {
		p.Reported.Peers = []multilink.PeerStatus{{Name: "gw-1", PublicKey: public, Conflict: conflict}}
	})
	require.Equal(t, conflict, i.List("/tunnel/client/")[0]["conflict"])
	require.Equal(t, "gw-1: "+conflict, i.Do(http.StatusOK, "GET", "/state", nil)["fault"])
}

func TestNewHandler_showsWhatLinksCarryAndWhatIsRefused(t *testing.T) {
	const conflict = "another instance uses the key of this peer"
	i := server(t)
	for n, name := range []string{"wlan0", "mesh0"} {
		i.Do(http.StatusCreated, "POST", "/interfaces/add", nodetest.Object{"name": name, "endpoint": fmt.Sprintf("192.0.2.1:%d", n+1)})
	}
	for _, name := range []string{"gw-1", "gw-2"} {
		i.Do(http.StatusCreated, "POST", "/tunnel/client/add", nodetest.Object{"name": name})
	}
	i.Plane.Set(func(p *nodetest.Plane) {
		p.Reported.Links = []status.Link{{Name: "wlan0", State: status.Up, PathMTU: 1372}}
		for n, peer := range p.State.Peers {
			p.Reported.Peers = append(p.Reported.Peers, multilink.PeerStatus{Name: peer.Name, PublicKey: peer.PublicKey,
				Conflict: conflict, Counters: status.Counters{Refused: uint64(n + 7)}})
		}
	})
	page := newVisit(i).get("/").Body.String()
	require.Contains(t, page, `<dd data-field="path">1372 B</dd>`)
	require.Contains(t, page, `<dd data-field="path">–</dd>`, "of a link that is down")
	require.Contains(t, page, `data-field="refused">7</td>`)
	require.Contains(t, page, `data-field="refused">8</td>`)
	require.Equal(t, 2, strings.Count(page, `data-field="conflict">`+conflict+"<"), "each client that has one")
	clients := i.Do(http.StatusOK, "GET", "/state", nil)["clients"].([]any)
	require.Subset(t, clients[1], nodetest.Object{"refused": 8.0, "conflict": conflict})
	metrics := i.Send("GET", "/metrics", nil, map[string]string{"Authorization": "Bearer " + nodetest.Token}).Body.String()
	require.Contains(t, metrics, `multilink_peer_conflict{peer="gw-2"} 1`)
}
