package rest_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
	"github.com/iotenablers/enablers/storage"
)

func TestNewHandler_addsListsOrdersChangesAndDeletesLinks(t *testing.T) {
	i := nodetest.Server(t)
	added := i.Do(http.StatusCreated, "POST", "/interfaces/add",
		`{"name":"wlan0","kind":"wifi","priority":10,"endpoint":"203.0.113.9:51820","probe":{"interval_ms":20,
			"multiplier":4},"metered":false,"quota_bytes":1000}`)
	require.Equal(t, "wlan0", added["interface"])
	require.Equal(t, "primary", added["role"])
	require.Equal(t, "down", added["state"])
	i.Do(http.StatusCreated, "POST", "/interfaces/add/", `{"name":"mesh0","endpoint":"gw.example.org:51821"}`)
	i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wwan0","endpoint":"[2001:db8::1]:51822","metered":true}`)

	state := i.Plane.Current()
	require.Len(t, state.Links, 3)
	require.Equal(t, settings.Link{Name: "wlan0", Interface: "wlan0", Kind: settings.WiFi, Priority: 10, Cost: 1, Quota: 1000,
		Listen: 51820, Probe: settings.Probe{Interval: 20 * time.Millisecond, Multiplier: 4}}, state.Links[0])
	require.Equal(t, settings.Mesh, state.Links[1].Kind, "guessed by the name")
	require.Equal(t, 11, state.Links[1].Priority, "after the last")
	require.True(t, state.Links[2].Metered)

	i.Plane.Set(func(p *nodetest.Plane) {
		p.Reported.Links = []status.Link{{Name: "mesh0", State: status.Up, Active: true, RTT: 1500 * time.Microsecond,
			Jitter: time.Millisecond,
			LossTx: 0.25, LossRx: 0.5, TxBytes: 7, RxBytes: 8, LastChange: time.Unix(1, 0), Reason: "heard"},
			{Name: "wlan0", State: status.Probing}}
	})
	all := i.List("/interfaces/")
	require.Len(t, all, 3)
	require.Equal(t, "down", all[0]["state"], "what is probed carries nothing")
	require.Subset(t, all[1], nodetest.Object{"name": "mesh0", "role": "backup", "state": "up", "active": true, "rtt_ms": 1.5,
		"loss": 0.5, "jitter_ms": 1.0,
		"tx_bytes": 7.0, "rx_bytes": 8.0, "last_change": "1970-01-01T00:00:01Z", "endpoint": "gw.example.org:51821"})

	status, text := i.Ask("PUT", "/interfaces", `{"order":["wwan0","wlan0","mesh0"]}`)
	require.Equal(t, http.StatusOK, status, text)
	for at, name := range []string{"wwan0", "wlan0", "mesh0"} {
		require.Equal(t, name, i.Plane.Current().Links[at].Name)
	}
	require.Equal(t, 10, i.Plane.Current().Links[0].Priority)
	require.Equal(t, "primary", i.List("/interfaces")[0]["role"])

	changed := i.Do(http.StatusOK, "PATCH", "/interfaces/wlan0", `{"cost":5,"probe":{"multiplier":7},"quota_bytes":0}`)
	require.Equal(t, 5.0, changed["cost"])
	require.Equal(t, nodetest.Object{"interval_ms": 20.0, "multiplier": 7.0}, changed["probe"])
	require.Equal(t, "disabled", i.Do(http.StatusOK, "PATCH", "/interfaces/wlan0/", `{"disabled":true,"priority":null}`)["state"])
	require.Equal(t, changed["priority"], i.Do(http.StatusOK, "GET", "/interfaces/wlan0", nil)["priority"])

	i.Do(http.StatusNoContent, "DELETE", "/interfaces/wlan0", nil)
	require.Len(t, i.List("/interfaces"), 2)
	require.Len(t, i.Plane.Current().Links, 2)
}

func TestNewHandler_addInterface_findsTheInterfaceOfTheEndpoint(t *testing.T) {
	i := nodetest.Server(t)
	require.Equal(t, "eth0", i.Do(http.StatusCreated, "POST", "/interfaces/add",
		`{"name":"sat","kind":"5g","endpoint":"203.0.113.9:51820"}`)["interface"])
	require.Equal(t, "eth0", i.Do(http.StatusCreated, "POST", "/interfaces/add",
		`{"name":"six","kind":"5g","endpoint":"[2001:db8::9]:51821"}`)["interface"])
	require.Equal(t, "mesh0", i.Do(http.StatusCreated, "POST", "/interfaces/add",
		`{"name":"x","interface":"mesh0","kind":"mesh","endpoint":"192.0.2.1:1"}`)["interface"])
	status, text := i.Ask("POST", "/interfaces/add", `{"name":"lost","kind":"5g","endpoint":"192.0.2.1:51822"}`)
	require.Equal(t, http.StatusBadRequest, status, text)
	require.Contains(t, text, "unknown interface")
	require.Contains(t, text, `"field":"interface"`)
	require.Contains(t, text, "lost")
}

func TestNewHandler_provisionsListsDisablesAndDeletesClients(t *testing.T) {
	i := nodetest.Server(t)
	i.Three(true)
	w := i.Send("POST", "/tunnel/client/add", `{"name":"gw-1","public_key":null,"addresses":["10.9.0.2/24"]}`,
		map[string]string{"Authorization": "bearer " + nodetest.Token})
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	var made nodetest.Object
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &made))
	private, err := multilink.ParseKey(made["private_key"].(string))
	require.NoError(t, err)
	public, err := private.PublicKey()
	require.NoError(t, err)
	require.Equal(t, public.Base64(), made["public_key"])
	own, err := i.Plane.Current().PrivateKey.PublicKey()
	require.NoError(t, err)
	require.Equal(t, own.Base64(), made["server_public_key"])
	require.Equal(t, []any{"10.9.0.2/24"}, made["addresses"])
	links := made["links"].([]any)
	require.Len(t, links, 3)
	require.Equal(t, "203.0.113.9:51820", links[0].(nodetest.Object)["endpoint"])

	peer := i.Plane.Current().Peers[0]
	require.Equal(t, "gw-1", peer.Name)
	require.Equal(t, public, peer.PublicKey)
	require.Len(t, peer.Links, 3)
	for at, link := range peer.Links {
		require.Equal(t, links[at].(nodetest.Object)["psk"], link.PresharedKey.Base64())
		require.False(t, link.Endpoint.IsValid(), "a server waits to be called")
	}
	require.NotEqual(t, peer.Links[0].PresharedKey, peer.Links[1].PresharedKey)

	second := i.Do(http.StatusCreated, "POST", "/tunnel/client/add/", nodetest.Object{"public_key": nodetest.Key(t, 7)})
	require.NotContains(t, second, "private_key")
	require.Equal(t, "client-1", second["name"])
	require.Equal(t, []any{"10.9.0.3/24"}, second["addresses"])

	i.Plane.Set(func(p *nodetest.Plane) {
		p.Reported.Peers = []multilink.PeerStatus{{Name: "gw-1", PublicKey: public, Connected: true,
			ActiveLink: "mesh0", Handshake: time.Unix(5, 0),
			Links:    []status.Link{{Name: "mesh0", State: status.Up, Active: true, RxBytes: 5}, {Name: "wlan0"}},
			Counters: status.Counters{Failovers: 3}}}
	})
	for _, path := range []string{"/tunnel/client/", "/tunnel/client"} {
		all := i.List(path)
		require.Len(t, all, 2)
		require.Subset(t, all[1], nodetest.Object{"name": "gw-1", "public_key": public.Base64(), "enabled": true,
			"active_link": "mesh0", "last_handshake": "1970-01-01T00:00:05Z"})
		require.Len(t, all[1]["links"], 2)
		require.Equal(t, 3.0, all[1]["counters"].(nodetest.Object)["failovers"])
	}
	require.Contains(t, i.Do(http.StatusOK, "GET", "/status", nil)["unpaired"], "wlan0")

	named := nodetest.Object{"public_key": public.Base64()}
	require.Equal(t, false, i.Do(http.StatusOK, "PUT", "/tunnel/client/disable", named)["enabled"])
	require.Len(t, i.Plane.Current().Peers, 1)
	before := i.Plane.Count()
	require.Equal(t, false, i.Do(http.StatusOK, "PUT", "/tunnel/client/disable/", named)["enabled"], "again is no error")
	require.Equal(t, before, i.Plane.Count(), "the plane is not changed")
	require.Equal(t, true, i.Do(http.StatusOK, "PUT", "/tunnel/client/enable", named)["enabled"])
	require.Equal(t, peer, i.Plane.Current().Peers[1], "with the same keys")

	again := i.Do(http.StatusOK, "POST", "/tunnel/client/links", named)
	delete(made, "private_key")
	require.Equal(t, made, again)

	i.Do(http.StatusNoContent, "DELETE", "/tunnel/client/delete", named)
	status, text := i.Ask("DELETE", "/tunnel/client/delete", named)
	require.Equal(t, http.StatusNotFound, status, text)
	i.Do(http.StatusNoContent, "DELETE", "/tunnel/client/delete/?public_key="+nodetest.Key(t, 7), nil)
	require.Empty(t, i.Plane.Current().Peers)
	require.Empty(t, i.List("/tunnel/client/"))
}

func TestNewHandler_attach_takesTheAnswerOfTheServer(t *testing.T) {
	s, c := nodetest.Server(t), nodetest.Client(t)
	s.Three(true)
	made := s.Do(http.StatusCreated, "POST", "/tunnel/client/add", nodetest.Object{"name": "gw-1"})
	i := c
	i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0","priority":1}`)
	i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"eth0","priority":2}`)
	i.Do(http.StatusNotFound, "GET", "/tunnel/attach", nil)
	made["server"] = "https://192.0.2.1:3333"
	attached := i.Do(http.StatusOK, "POST", "/tunnel/attach", made)
	require.Equal(t, nodetest.Object{"mesh0": "the server has it, and this client has not",
		"wwan0": "the server has it, and this client has not", "eth0": "this client has it, and the server has not"}, attached["unpaired"])

	state := i.Plane.Current()
	require.Equal(t, made["private_key"], state.PrivateKey.Base64())
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.9.0.2/24")}, state.Port.Addresses)
	require.Len(t, state.Peers, 1)
	require.Equal(t, made["server_public_key"], state.Peers[0].PublicKey.Base64())
	require.Equal(t, []multilink.PeerLink{{Link: "wlan0", Endpoint: netip.MustParseAddrPort("203.0.113.9:51820"),
		PresharedKey: s.Plane.Current().Peers[0].Links[0].PresharedKey}}, state.Peers[0].Links)
	i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"mesh0","priority":3}`)
	require.Len(t, i.Plane.Current().Peers[0].Links, 2, "a link that comes later is paired by its name")
	require.Equal(t, "mesh0", i.Plane.Current().Peers[0].Links[1].Link)

	own := i.Do(http.StatusOK, "GET", "/status/", nil)["public_key"].(string)
	with := s.Do(http.StatusCreated, "POST", "/tunnel/client/add", nodetest.Object{"name": "gw-2", "public_key": own})
	with["server"] = "http://192.0.2.1:3333"
	with["something_later"] = true
	i.Do(http.StatusOK, "POST", "/tunnel/attach", with)
	require.Equal(t, with["addresses"].([]any)[0], i.Plane.Current().Port.Addresses[0].String(), "attaching again replaces")
	public, err := i.Plane.Current().PrivateKey.PublicKey()
	require.NoError(t, err)
	require.Equal(t, own, public.Base64(), "with its own key")

	i.Do(http.StatusNoContent, "DELETE", "/tunnel/attach", nil)
	require.Empty(t, i.Plane.Current().Peers)
	i.Do(http.StatusNotFound, "DELETE", "/tunnel/attach", nil)
}

func TestNewHandler_setBond_replacesTheSettings(t *testing.T) {
	i := nodetest.Server(t)
	require.Equal(t, nodetest.Object{"policy": "active-backup", "replay": true, "wait_to_restore_ms": 500.0},
		i.Do(http.StatusOK, "GET", "/bond", nil))
	for _, policy := range settings.Policies() {
		put := nodetest.Object{"policy": string(policy), "replay": false, "wait_to_restore_ms": 250.0}
		require.Equal(t, put, i.Do(http.StatusOK, "PUT", "/bond/", put))
		require.Equal(t, put, i.Do(http.StatusOK, "GET", "/bond", nil))
		require.Equal(t, settings.Bond{Policy: policy, NoReplay: true, WaitToRestore: 250 * time.Millisecond}, i.Plane.Current().Bond)
	}
	require.Equal(t, nodetest.Object{"policy": "balance-flow", "replay": true, "wait_to_restore_ms": 250.0},
		i.Do(http.StatusOK, "PATCH", "/bond", `{"replay":true}`))
	require.Equal(t, nodetest.Object{"policy": "active-backup", "replay": true, "wait_to_restore_ms": 0.0},
		i.Do(http.StatusOK, "PUT", "/bond", `{"wait_to_restore_ms":0}`))
	require.Equal(t, time.Nanosecond, i.Plane.Current().Bond.WaitToRestore, "zero would be the default")

	i.Three(true)
	require.Equal(t, nodetest.Object{"link": "mesh0", "hold_s": 2.5},
		i.Do(http.StatusOK, "POST", "/bond/switch", `{"link":"mesh0","hold_s":2.5}`))
	require.Equal(t, "mesh0", i.Plane.Switched)
	require.Equal(t, 2500*time.Millisecond, i.Plane.Hold)
	i.Do(http.StatusOK, "POST", "/bond/switch", `{"link":""}`)
	require.Empty(t, i.Plane.Switched)
}

func TestNewHandler_setClasses_replacesAll(t *testing.T) {
	i := nodetest.Server(t)
	i.Three(true)
	require.Empty(t, i.List("/classes"))
	const classes = `[{"name":"control","match":[{"ethertype":"0x8892","vlan":5,"pcp":[6,7]},{"protocol":"udp",
			"source":"10.0.0.0/8","destination_ports":[53,"5000-5010"],"dscp":[46]}],
		"policy":"redundant","links":["wlan0"],"copies":2,"max_delay_ms":20,"weight":3,"control":true,"metered":true,
			"replay":false},{"name":"rest"}]`
	status, text := i.Ask("PUT", "/classes", classes)
	require.Equal(t, http.StatusOK, status, text)
	require.Equal(t, []settings.Class{{Name: "control", Match: []settings.Rule{{EtherType: 0x8892, VLAN: 5, Priority: []int{6, 7}},
		{Protocol: 17, Source: netip.MustParsePrefix("10.0.0.0/8"),
			DestinationPorts: []settings.PortRange{{First: 53, Last: 53}, {First: 5000, Last: 5010}}, DSCP: []int{46}}},
		Policy: settings.Redundant, Links: []string{"wlan0"}, Copies: 2, MaxDelay: 20 * time.Millisecond, Weight: 3,
		Control: true, Metered: true, NoReplay: true}, {Name: "rest"}}, i.Plane.Current().Classes)
	shown, err := json.Marshal(i.List("/classes"))
	require.NoError(t, err)
	require.JSONEq(t, text, string(shown))
	status, again := i.Ask("PUT", "/classes/", text)
	require.Equal(t, http.StatusOK, status, "what is shown can be put")
	require.Equal(t, text, again)
	status, text = i.Ask("DELETE", "/interfaces/wlan0", nil)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, text, `traffic class \"control\"`)
}

// refused is a request and how it is refused.
type refused struct {
	method, path, body string
	status             int
	want               string // in the detail
	field              string
}

func refuses(i *nodetest.Instance, all []refused) {
	i.T.Helper()
	before := i.Plane.Current()
	for _, r := range all {
		w := i.Send(r.method, r.path, r.body, map[string]string{"Authorization": "Bearer " + nodetest.Token})
		require.Equal(i.T, r.status, w.Code, "%s %s %s: %s", r.method, r.path, r.body, w.Body)
		require.Equal(i.T, "application/problem+json", w.Header().Get("Content-Type"))
		var p struct {
			Title, Detail, Field string
			Status               int
		}
		require.NoError(i.T, json.Unmarshal(w.Body.Bytes(), &p))
		require.Equal(i.T, r.status, p.Status)
		require.Equal(i.T, http.StatusText(r.status), p.Title)
		require.Contains(i.T, p.Detail, r.want, "%s %s %s", r.method, r.path, r.body)
		require.Equal(i.T, r.field, p.Field, "%s %s %s: %s", r.method, r.path, r.body, p.Detail)
	}
	require.Equal(i.T, before, i.Plane.Current(), "what is refused changes nothing")
}

func TestNewHandler_namesTheFieldOfABadRequest(t *testing.T) {
	i := nodetest.Server(t)
	i.Three(true)
	i.Do(http.StatusCreated, "POST", "/tunnel/client/add", nodetest.Object{"name": "gw-1", "public_key": nodetest.Key(t, 1)})
	k, none := nodetest.Key(t, 1), nodetest.Key(t, 9)
	add, post, put := "/interfaces/add", "POST", "PUT"
	refuses(i, []refused{
		{post, add, `{"name":"nix0","endpoint":"192.0.2.1:1"}`, 400, "unknown interface", "interface"},
		{post, add, `{"name":"wlan0","endpoint":"192.0.2.1:1"}`, 409, `"wlan0" is managed already`, "name"},
		{post, add, `{"name":"eth0","endpoint":"192.0.2.1:1","priority":10}`, 409, `the priority of link "wlan0"`, "priority"},
		{post, add, `{"name":"eth0","interface":"wlan0","endpoint":"192.0.2.1:51820"}`, 409, "address in use", "endpoint"},
		{post, add, `{"name":"eth0","priority":9,"endpoint":"192.0.2.1"}`, 400, "HOST:PORT", "endpoint"},
		{post, add, `{"name":"eth0","endpoint":"192.0.2.1:0"}`, 400, "port of 1 to 65535", "endpoint"},
		{post, add, `{"name":"eth0","endpoint":"0.0.0.0:1"}`, 400, "not the address of a host", "endpoint"},
		{post, add, `{"name":"eth0","endpoint":"a b:1"}`, 400, "host's name", "endpoint"},
		{post, add, `{"name":"eth0","endpoint":"1.2.3:1"}`, 400, "host's name", "endpoint"},
		{post, add, `{"name":"eth0"}`, 400, "a server needs", "endpoint"},
		{post, add, `{"name":"a/b","endpoint":"192.0.2.1:1"}`, 400, "letters, digits", "name"},
		{post, add, `{"endpoint":"192.0.2.1:1"}`, 400, "letters, digits", "name"},
		{post, add, `{"name":"eth0","kind":"lora","endpoint":"192.0.2.1:1"}`, 400, "must be wifi, mesh, 5g or ethernet", "kind"},
		{post, add, `{"name":"eth0","priority":-1,"endpoint":"192.0.2.1:1"}`, 400, "must be 0 to", "priority"},
		{post, add, `{"name":"eth0","priority":"first"}`, 400, "must be a whole number, got a JSON string, at line 1, column 33", "priority"},
		{post, add, `{"name":"eth0","probe":{"interval_ms":0.5},"endpoint":"192.0.2.1:1"}`, 400, "must be 1ms to 10s", "probe.interval_ms"},
		{post, add, `{"name":"eth0","probe":{"interval_ms":1e300},"endpoint":"192.0.2.1:1"}`, 400, "must be 0 to", "probe.interval_ms"},
		{post, add, `{"name":"eth0","probe":{"multiplier":1},"endpoint":"192.0.2.1:1"}`, 400, "must be 2 to 255", "probe.multiplier"},
		{post, add, `{"name":"eth0","listen":70000,"endpoint":"192.0.2.1:1"}`, 400, "must be a port", "listen"},
		{post, add, `{"name":"eth0","colour":"red"}`, 400, "unknown field", "colour"},
		{post, add, `{"name":`, 400, "ends too early, at line 1, column 8", ""},
		{post, add, "{\n \"name\" x}", 400, "at line 2, column 9", ""},
		{post, add, `{} {}`, 400, "something follows", ""},
		{post, add, ``, 400, "no body", ""},
		{post, add, strings.Repeat(" ", 300<<10), 413, "larger than the limit", ""},
		{put, "/interfaces", `{"order":["wlan0","mesh0"]}`, 409, "each managed link once", "order"},
		{put, "/interfaces", `{"order":["wlan0","mesh0","mesh0"]}`, 409, "each managed link once", "order"},
		{put, "/interfaces", `{"order":["wlan0","mesh0","wwan0","eth0"]}`, 409, "each managed link once", "order"},
		{put, "/interfaces", `{"order":[]}`, 409, "each managed link once", "order"},
		{put, "/interfaces", `{}`, 400, "is missing", "order"},
		{put, "/interfaces", `{"order":"wlan0"}`, 400, "must be an array", "order"},
		{"PATCH", "/interfaces/eth0", `{}`, 404, `no link "eth0"`, "name"},
		{"PATCH", "/interfaces/wlan0", `{"name":"x"}`, 409, "keeps its name", "name"},
		{"PATCH", "/interfaces/wlan0", `{"priority":20}`, 409, "the priority of link", "priority"},
		{"PATCH", "/interfaces/wlan0", `{"max_loss":2}`, 400, "must be 0 to 1", "max_loss"},
		{"DELETE", "/interfaces/eth0", ``, 404, `no link "eth0"`, "name"},
		{"GET", "/interfaces/eth0", ``, 404, `no link "eth0"`, "name"},

		{post, "/tunnel/client/add", `{"public_key":"short"}`, 400, "32 bytes in base64", "public_key"},
		{post, "/tunnel/client/add", `{"public_key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`, 400,
			"32 bytes in base64", "public_key"},
		{post, "/tunnel/client/add", `{"public_key":"` + k + `"}`, 409, "has it already", "public_key"},
		{post, "/tunnel/client/add", `{"name":"gw-1"}`, 409, "another client is called", "name"},
		{post, "/tunnel/client/add", `{"name":"a b"}`, 400, "letters, digits", "name"},
		{post, "/tunnel/client/add", `{"addresses":["10.9.0.2/24"]}`, 409, `the address of client "gw-1"`, "addresses[0]"},
		{post, "/tunnel/client/add", `{"addresses":["10.9.0.1/24"]}`, 409, "the address of the server", "addresses[0]"},
		{post, "/tunnel/client/add", `{"addresses":["10.9.0.7/24","10.9.0.7/24"]}`, 409, "the client itself", "addresses[1]"},
		{post, "/tunnel/client/add", `{"addresses":["10.8.0.2/24"]}`, 400, "must be a host in the server's network", "addresses[0]"},
		{post, "/tunnel/client/add", `{"addresses":["10.9.0.0/24"]}`, 400, "the address of a host", "addresses[0]"},
		{post, "/tunnel/client/add", `{"addresses":["10.9.0.255"]}`, 400, "must be a host in the server's network", "addresses[0]"},
		{post, "/tunnel/client/add", `{"addresses":["x"]}`, 400, "the address of a host", "addresses[0]"},
		{post, "/tunnel/client/add", `{"addresses":["0.0.0.0"]}`, 400, "the address of a host", "addresses[0]"},
		{post, "/tunnel/client/add", `{"addresses":["fe80::1%eth0"]}`, 400, "the address of a host", "addresses[0]"},
		{post, "/tunnel/client/add", `{"addresses":["10.9.0.7/0"]}`, 400, "the address of a host", "addresses[0]"},
		{post, "/interfaces/add", `{"name":"wwan9","endpoint":"[fe80::1%a\nprivate_key=0]:1"}`, 400, "not the name of an interface", "endpoint"},
		{put, "/tunnel/client/enable", `{"public_key":"` + none + `"}`, 404, "no client has the public key", "public_key"},
		{put, "/tunnel/client/disable", `{"public_key":"` + none + `"}`, 404, "no client has the public key", "public_key"},
		{put, "/tunnel/client/enable", `{"public_key":"x"}`, 400, "32 bytes in base64", "public_key"},
		{put, "/tunnel/client/disable", `{}`, 400, "32 bytes in base64", "public_key"},
		{"DELETE", "/tunnel/client/delete", `{"public_key":"x"}`, 400, "32 bytes in base64", "public_key"},
		{"DELETE", "/tunnel/client/delete?public_key=x", ``, 400, "32 bytes in base64", "public_key"},
		{"DELETE", "/tunnel/client/delete", ``, 400, "no body", ""},
		{post, "/tunnel/client/links", `{"public_key":"` + none + `"}`, 404, "no client has the public key", "public_key"},
		{post, "/tunnel/attach", `{}`, 409, "this instance is a server", ""},
		{"GET", "/tunnel/attach", ``, 409, "this instance is a server", ""},

		{put, "/bond", `{"policy":"round-robin"}`, 400, `got "round-robin"`, ""},
		{put, "/bond", `{"policy":1}`, 400, "must be a string, got a JSON number", "policy"},
		{put, "/bond", `{"wait_to_restore_ms":-1}`, 400, "must be 0 to", "wait_to_restore_ms"},
		{put, "/bond", `{"replay":"yes"}`, 400, "must be true or false", "replay"},
		{post, "/bond/switch", `{"link":"eth0"}`, 404, `no link "eth0"`, "link"},
		{post, "/bond/switch", `{"link":"wlan0","hold_s":-1}`, 400, "must be 0 to", "hold_s"},
		{put, "/classes", `{}`, 400, "must be an array", ""},
		{put, "/classes", `[{"name":"a"},{"name":"a","match":[{}]}]`, 409, "another class", "[1].name"},
		{put, "/classes", `[{"name":"a"},{"name":"b"}]`, 400, "has no rules", "[1].match"},
		{put, "/classes", `[{"name":"a","policy":"x"}]`, 400, "must be one of", "[0].policy"},
		{put, "/classes", `[{"name":"a","links":["eth0"]}]`, 400, `unknown link "eth0"`, "[0].links[0]"},
		{put, "/classes", `[{"name":"a","match":[{"vlan":5000}]}]`, 400, "1 to 4094", "[0].match[0].vlan"},
		{put, "/classes", `[{"name":"a","match":[{"protocol":"ospf"}]}]`, 400, "such as 6", ""},
		{put, "/classes", `[{"name":"a","match":[{"source":"10.0.0.0"}]}]`, 400, "not understood", ""},
		{"GET", "/events?last=x", ``, 400, "a number of events", "last"},
		{"GET", "/nowhere", ``, 404, "", ""},
		{"POST", "/status", ``, 405, "", ""},
	})
}

func TestNewHandler_refusesTheRequestsOfAServerOnAClient(t *testing.T) {
	i := nodetest.Client(t)
	i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0"}`)
	type object = nodetest.Object
	good := func(change func(object)) string {
		own := i.Do(http.StatusOK, "GET", "/status", nil)["public_key"]
		o := nodetest.Object{"name": "gw", "public_key": own, "server_public_key": nodetest.Key(t, 3),
			"addresses": []string{"10.9.0.2/24"}, "server": "http://h",
			"links": []nodetest.Object{{"name": "wlan0", "endpoint": "192.0.2.1:1", "psk": nodetest.Key(t, 2)}}}
		change(o)
		data, err := json.Marshal(o)
		require.NoError(t, err)
		return string(data)
	}
	const at = "/tunnel/attach"
	refuses(i, []refused{
		{"POST", "/tunnel/client/add", `{}`, 409, "this instance is a client", ""},
		{"GET", "/tunnel/client/", ``, 409, "this instance is a client", ""},
		{"PUT", "/tunnel/client/enable", `{}`, 409, "this instance is a client", ""},
		{"PUT", "/tunnel/client/disable", `{}`, 409, "this instance is a client", ""},
		{"DELETE", "/tunnel/client/delete", ``, 409, "this instance is a client", ""},
		{"POST", "/tunnel/client/links", `{}`, 409, "this instance is a client", ""},
		{"POST", "/interfaces/add", `{"name":"mesh0","endpoint":"192.0.2.1:1"}`, 400, "given on the server", "endpoint"},
		{"POST", at, `{}`, 400, "a public key", "public_key"},
		{"POST", at, `{"name"`, 400, "ends too early", ""},
		{"POST", at, good(func(o object) { o["public_key"] = nodetest.Key(t, 4) }), 400, "not that of this instance", "public_key"},
		{"POST", at, good(func(o object) { o["private_key"] = nodetest.Key(t, 4) }), 400, "not that of private_key", "public_key"},
		{"POST", at, good(func(o object) { o["private_key"] = "x" }), 400, "32 bytes", "private_key"},
		{"POST", at, good(func(o object) { o["server_public_key"] = "x" }), 400, "32 bytes", "server_public_key"},
		{"POST", at, good(func(o object) { o["server_public_key"] = o["public_key"] }), 400, "the client's own", "server_public_key"},
		{"POST", at, good(func(o object) { delete(o, "server") }), 400, "the URL of the server", "server"},
		{"POST", at, good(func(o object) { o["server"] = "192.0.2.1:3333" }), 400, "the URL of the server", "server"},
		{"POST", at, good(func(o object) { o["name"] = "" }), 400, "letters, digits", "name"},
		{"POST", at, good(func(o object) { o["links"] = []nodetest.Object{} }), 400, "must be 1 to", "links"},
		{"POST", at, good(func(o object) { o["addresses"] = []string{"10.9.0.0/24"} }), 400, "the address of a host", "addresses[0]"},
		{"POST", at, good(func(o object) { o["links"].([]object)[0]["psk"] = "x" }), 400, "32 bytes", "links[0].psk"},
		{"POST", at, good(func(o object) { o["links"].([]object)[0]["endpoint"] = "x" }), 400, "HOST:PORT", "links[0].endpoint"},
	})
}

func TestNewHandler_refusesWhatThePlaneRefuses(t *testing.T) {
	i := nodetest.Server(t)
	for _, c := range []struct {
		err    error
		status int
		want   string
	}{
		{multilink.ErrDenied, 403, "CAP_NET_ADMIN"},
		{multilink.ErrAddressInUse, 409, "address in use"},
		{multilink.ErrDuplicate, 409, "duplicate"},
		{multilink.ErrInvalid, 400, "invalid"},
		{multilink.ErrUnsupported, 501, "not supported"},
		{multilink.ErrClosed, 503, "ending"},
	} {
		i.Plane.Set(func(p *nodetest.Plane) { p.Fail = nodetest.Wrap("open socket: needs CAP_NET_ADMIN", c.err) })
		status, text := i.Ask("POST", "/interfaces/add", `{"name":"wlan0","endpoint":"192.0.2.1:1"}`)
		require.Equal(t, c.status, status, text)
		require.Contains(t, text, c.want)
		require.Empty(t, i.List("/interfaces"))
	}
}

func TestNewHandler_keepsTheLimits(t *testing.T) {
	names := []string{}
	for n := range node.MaxLinks + 1 {
		names = append(names, "eth"+string(rune('a'+n)))
	}
	config := nodetest.NewConfig(node.Server, nodetest.NewPlane(names...), storage.NewMemoryDocuments())
	config.MaxClients = 2
	config.Port.Addresses = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/29")}
	i := nodetest.Start(t, config)
	for at, name := range names {
		status, text := i.Ask("POST", "/interfaces/add", nodetest.Object{"name": name, "endpoint": "192.0.2.1:1"})
		if at < node.MaxLinks {
			require.Equal(t, http.StatusCreated, status, text)
			continue
		}
		require.Equal(t, http.StatusConflict, status, text)
		require.Contains(t, text, "which is the most")
	}
	i.Do(http.StatusCreated, "POST", "/tunnel/client/add", `{}`)
	i.Do(http.StatusCreated, "POST", "/tunnel/client/add", `{}`)
	refuses(i, []refused{{"POST", "/tunnel/client/add", `{}`, 409, "there are 2 clients", ""}})

	config = nodetest.NewConfig(node.Server, nodetest.NewPlane(), storage.NewMemoryDocuments())
	config.Port.Addresses = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/30")}
	i = nodetest.Start(t, config)
	require.Equal(t, []any{"10.0.0.2/30"}, i.Do(http.StatusCreated, "POST", "/tunnel/client/add", `{}`)["addresses"])
	refuses(i, []refused{{"POST", "/tunnel/client/add", `{}`, 409, "10.0.0.0/30 is full", "addresses"}})
}
