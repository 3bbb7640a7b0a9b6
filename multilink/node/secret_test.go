package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// secrets are the strings of an answer that no other answer may show.
func secretsOf(made object) []string {
	secrets := []string{token}
	if private, ok := made["private_key"].(string); ok {
		secrets = append(secrets, private)
	}
	for _, link := range made["links"].([]any) {
		secrets = append(secrets, link.(object)["psk"].(string))
	}
	return secrets
}

func TestNode_showsNoSecretInLogsAnswersAndEvents(t *testing.T) {
	s, c := server(t), client(t)
	s.three(true)
	made := s.do(http.StatusCreated, "POST", "/tunnel/client/add", `{"name":"gw-1"}`)
	secrets := append(secretsOf(made), s.plane.current().PrivateKey.Base64())
	require.Len(t, secrets, 6)
	made["server"] = "http://192.0.2.1:3333"
	c.do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0"}`)
	c.do(http.StatusOK, "POST", "/tunnel/attach", made)
	made["psk"] = 1
	made["private_key"] = strings.ToLower(made["private_key"].(string))
	c.ask("POST", "/tunnel/attach", made) // which is refused, in words
	data, err := json.Marshal(made)
	require.NoError(t, err)
	c.ask("POST", "/tunnel/attach", string(data[:len(data)-3]))
	c.ask("POST", "/tunnel/attach", strings.Replace(string(data), `"psk":"`, `"psk":5,"x":"`, 1))
	for _, i := range []*instance{s, c} {
		require.NoError(t, i.node.Health())
		for _, path := range []string{"/interfaces", "/tunnel/client/", "/tunnel/attach", "/bond", "/classes",
			"/status", "/metrics", "/healthz", "/readyz", "/openapi.json"} {
			_, text := i.ask("GET", path, nil)
			for _, secret := range secrets {
				require.NotContains(t, text, secret, path)
			}
		}
		require.NoError(t, i.stop())
		require.Contains(t, i.log.String(), "path=/tunnel/client/", "requests are logged here")
		for _, secret := range secrets {
			require.NotContains(t, i.log.String(), secret)
		}
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", i.plane.current(), i.plane.current(), i.plane.current().Peers), secrets[1])
	}
}

func TestNode_addClient_storesNoPrivateKey(t *testing.T) {
	i := server(t)
	made := i.do(http.StatusCreated, "POST", "/tunnel/client/add", `{"name":"gw-1"}`)
	for doc, err := range storage.All(t.Context(), i.docs, "") {
		require.NoError(t, err)
		require.NotContains(t, string(doc.Data), made["private_key"])
	}
}

func TestLoadToken_createsAFileForItsOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	i := start(t, configOf(node.Server, newPlane("wlan0"), store.Documents()))
	i.do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0","endpoint":"192.0.2.1:1"}`)
	i.do(http.StatusCreated, "POST", "/tunnel/client/add", `{}`)
	state := i.plane.current()
	require.NoError(t, i.stop())
	require.NoError(t, store.Close())
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s has mode %v", path, info.Mode())
		return nil
	}))
	store, err = disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	require.Equal(t, state, comesUp(t, store.Documents()))
}

func TestNode_change_makesConcurrentChangesOneByOne(t *testing.T) {
	i := server(t)
	i.three(true)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for range 10 {
				made := object{}
				w := i.send("POST", "/tunnel/client/add", object{}, map[string]string{"Authorization": "Bearer " + token})
				if w.Code != http.StatusCreated || json.Unmarshal(w.Body.Bytes(), &made) != nil {
					t.Errorf("status %d: %s", w.Code, w.Body)
					return
				}
				order := [][]string{{"wlan0", "mesh0", "wwan0"}, {"wwan0", "mesh0", "wlan0"}}[n%2]
				i.send("PUT", "/interfaces", object{"order": order}, map[string]string{"Authorization": "Bearer " + token})
				i.send("GET", "/status", nil, map[string]string{"Authorization": "Bearer " + token})
				if n%4 == 0 {
					i.send("PUT", "/tunnel/client/disable", object{"public_key": made["public_key"]},
						map[string]string{"Authorization": "Bearer " + token})
				}
			}
		})
	}
	all.Wait()
	clients := i.list("/tunnel/client/")
	require.Len(t, clients, 80)
	addresses := map[any]bool{}
	for _, c := range clients {
		addresses[c["addresses"].([]any)[0]] = true
	}
	require.Len(t, addresses, 80, "no two clients have an address in common")
	require.Len(t, i.plane.current().Peers, 60)
	state := i.plane.current()
	require.NoError(t, i.stop())
	require.Equal(t, state, comesUp(t, i.docs))
}
