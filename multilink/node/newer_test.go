package node_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/test/upgrade"
)

func TestNode_Run_keepsWhatANewerVersionStored(t *testing.T) {
	p, docs := nodetest.NewPlane("eth0", "wlan0", "mesh0", "wwan0"), storage.NewMemoryDocuments()
	s := nodetest.Start(t, nodetest.NewConfig(node.Server, p, docs))
	s.Three(true)
	voice := nodetest.Object{"name": "voice", "match": []nodetest.Object{{"dscp": []int{46}}}, "weight": 9}
	s.Ask("PUT", "/classes", []nodetest.Object{voice, {"name": "rest"}})
	made := s.Do(http.StatusCreated, "POST", "/tunnel/client/add", nodetest.Object{"name": "gateway"})
	require.NoError(t, s.Stop())
	places := []string{
		"node", "node#links/*", "node#links/*/probe", "node#bond", "node#classes/*", "node#classes/*/match/*", "client/*",
	}
	upgrade.AddNewerTo(t, docs, places...)

	s = nodetest.Start(t, nodetest.NewConfig(node.Server, p, docs))
	s.Ask("PUT", "/interfaces", nodetest.Object{"order": []string{"wwan0", "wlan0", "mesh0"}})
	s.Do(http.StatusOK, "PATCH", "/interfaces/wlan0", nodetest.Object{"cost": 7})
	s.Do(http.StatusOK, "PATCH", "/bond", nodetest.Object{"wait_to_restore_ms": 900})
	voice["weight"] = 8
	s.Ask("PUT", "/classes", []nodetest.Object{{"name": "rest"}, voice})
	s.Ask("PUT", "/tunnel/client/disable", nodetest.Object{"public_key": made["public_key"]})
	upgrade.RequireNewerIn(t, docs, places...)
	head := stored(t, docs, "node")
	for _, changed := range []string{`"cost":7`, `"wait_to_restore_ms":900`, `"weight":8`} {
		require.Contains(t, head, changed)
	}
	require.Less(t, strings.Index(head, "wwan0"), strings.Index(head, "wlan0"))
	require.Contains(t, stored(t, docs, "client/"), `"enabled":false`)
	before := upgrade.CountNewer(head)

	status, text := s.Ask("DELETE", "/interfaces/mesh0", nil)
	require.Less(t, status, 300, text)
	s.Do(http.StatusCreated, "POST", "/interfaces/add", nodetest.Object{"name": "mesh0", "endpoint": "203.0.113.9:51821"})
	require.Equal(t, before-2, upgrade.CountNewer(stored(t, docs, "node")), "a link that was made anew has nothing of the first one")
}

// stored returns the first document whose key has the prefix.
func stored(t *testing.T, docs storage.Documents, prefix string) string {
	t.Helper()
	found, err := docs.List(t.Context(), prefix, "", 1)
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return string(found[0].Data)
}
