//go:build linux

package vm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/multilink/vm/vmtest"
)

// token of all instances.
const token = "a token for the virtual machine"

// technologies returns the names of the links, the primary first, and the address of
// the server on each.
func technologies() []struct{ name, server string } {
	return []struct{ name, server string }{{"wifi", wifiServer}, {"mesh", meshServer}, {"5g", fiveServer}}
}

// instance is one of multi-link that runs in a namespace of the guest.
type instance struct {
	in      *vmtest.Namespace
	process *vmtest.Process
}

// startInstance starts a program that takes the flags of cmd/multilink, and waits
// until it serves.
func startInstance(t *testing.T, in *vmtest.Namespace, program, role string, flags ...string) *instance {
	t.Helper()
	argv := append([]string{program, "-role", role, "-listen", "127.0.0.1:3333", "-tap", "bonded", "-data",
		"/tmp/" + role}, flags...)
	i := &instance{in: in, process: in.Start(t, vmtest.Program{Argv: argv, Env: []string{"MULTILINK_TOKEN=" + token}})}
	await(t, "the "+role+" to be ready", func() bool {
		require.NoError(t, i.process.Err())
		answer, err := in.HTTP().Get("http://127.0.0.1:3333/readyz")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return i
}

// ask sends a request with a body in JSON, and returns the answer's, which has to
// be a success.
func (i *instance) ask(t *testing.T, method, path string, body any) []byte {
	t.Helper()
	said, err := i.try(method, path, body)
	require.NoError(t, err)
	return said
}

func (i *instance) try(method, path string, body any) ([]byte, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, "http://127.0.0.1:3333"+path, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := i.in.HTTP().Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, said)
	}
	return said, err
}

// active returns the name of the link that carries the traffic, if any.
func (i *instance) active() string {
	said, err := i.try(http.MethodGet, "/interfaces", nil)
	if err != nil {
		return ""
	}
	var links []struct {
		Name   string `json:"name"`
		Active bool   `json:"active"`
	}
	if json.Unmarshal(said, &links) != nil {
		return ""
	}
	for _, l := range links {
		if l.Active {
			return l.Name
		}
	}
	return ""
}

// joined starts a server and a client, adds the three links to both, provisions
// the client and attaches it.
func joined(t *testing.T, n *network, program string, bond map[string]any) (client, server *instance) {
	t.Helper()
	server = startInstance(t, n.server, program, "server", "-address", bonded+"/24")
	client = startInstance(t, n.gateway, program, "client")
	for _, one := range []*instance{server, client} {
		one.ask(t, http.MethodPut, "/bond", bond)
		for i, link := range technologies() {
			// The machine is slow, and so are the probes.
			form := map[string]any{"name": link.name, "kind": link.name, "priority": 10 * (i + 1),
				"probe": map[string]any{"interval_ms": 100, "multiplier": 10}}
			if one == server {
				form["endpoint"] = fmt.Sprintf("%s:%d", link.server, 51821+i)
			}
			one.ask(t, http.MethodPost, "/interfaces/add", form)
		}
	}
	var provision map[string]any
	said := server.ask(t, http.MethodPost, "/tunnel/client/add",
		map[string]any{"name": "gw-1", "addresses": []string{"10.9.0.2/24"}})
	require.NoError(t, json.Unmarshal(said, &provision))
	provision["server"] = "http://" + wifiServer + ":3333"
	client.ask(t, http.MethodPost, "/tunnel/attach", provision)
	return client, server
}
