package node_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/test/upgrade"
)

func TestNode_Run_keepsWhatANewerVersionStored(t *testing.T) {
	p, docs := newPlane("eth0", "wlan0", "mesh0", "wwan0"), storage.NewMemoryDocuments()
	s := start(t, configOf(node.Server, p, docs))
	s.three(true)
	voice := object{"name": "voice", "match": []object{{"dscp": []int{46}}}, "weight": 9}
	s.ask("PUT", "/classes", []object{voice, {"name": "rest"}})
	made := s.do(http.StatusCreated, "POST", "/tunnel/client/add", object{"name": "gateway"})
	require.NoError(t, s.stop())
	places := []string{
		"node", "node#links/*", "node#links/*/probe", "node#bond", "node#classes/*", "node#classes/*/match/*", "client/*",
	}
	upgrade.AddNewerTo(t, docs, places...)

	s = start(t, configOf(node.Server, p, docs))
	s.ask("PUT", "/interfaces", object{"order": []string{"wwan0", "wlan0", "mesh0"}})
	s.do(http.StatusOK, "PATCH", "/interfaces/wlan0", object{"cost": 7})
	s.do(http.StatusOK, "PATCH", "/bond", object{"wait_to_restore_ms": 900})
	voice["weight"] = 8
	s.ask("PUT", "/classes", []object{{"name": "rest"}, voice})
	s.ask("PUT", "/tunnel/client/disable", object{"public_key": made["public_key"]})
	upgrade.RequireNewerIn(t, docs, places...)
	head := stored(t, docs, "node")
	for _, changed := range []string{`"cost":7`, `"wait_to_restore_ms":900`, `"weight":8`} {
		require.Contains(t, head, changed)
	}
	require.Less(t, strings.Index(head, "wwan0"), strings.Index(head, "wlan0"))
	require.Contains(t, stored(t, docs, "client/"), `"enabled":false`)
	before := upgrade.CountNewer(head)

	status, text := s.ask("DELETE", "/interfaces/mesh0", nil)
	require.Less(t, status, 300, text)
	s.do(http.StatusCreated, "POST", "/interfaces/add", object{"name": "mesh0", "endpoint": "203.0.113.9:51821"})
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
