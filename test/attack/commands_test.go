package attack_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/test/interop"
)

// patience bounds each wait. It is generous: the tests are about what happens, not when.
const patience = time.Minute

// programs is the folder of the commands that were built.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "attack-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(programs) // what remains is in the folder for temporary files
	os.Exit(code)
}

// builds has a function for each command that builds it once.
var builds sync.Map

func program(t *testing.T, name string) string {
	t.Helper()
	build, _ := builds.LoadOrStore(name, sync.OnceValues(func() (string, error) { return interop.BuildIn(programs, name) }))
	path, err := build.(func() (string, error))()
	require.NoError(t, err)
	return path
}

// command is a server as a user starts it.
type command struct {
	name      string
	arguments []string
	// listeners are the names in the lines "listening on URL (NAME)", empty for one
	// without.
	listeners []string
}

// commands returns all servers.
func commands() []command {
	free := func(flags ...string) (arguments []string) {
		for _, flag := range flags {
			arguments = append(arguments, "-"+flag, "127.0.0.1:0")
		}
		return arguments
	}
	return []command{
		{name: "modelrepo", arguments: free("listen"), listeners: []string{""}},
		{name: "annotator", arguments: free("listen"), listeners: []string{""}},
		{name: "flcollector", arguments: free("listen", "grpc-listen"), listeners: []string{""}},
		{
			name: "apimanager", arguments: free("listen", "gateway-listen", "admin-listen"),
			listeners: []string{"portal", "gateway", "admin", "idp"},
		},
		{
			// It may do nothing to the machine.
			name: "multilink", listeners: []string{""},
			arguments: append(free("listen"), "-role", "server", "-allow", "nothing", "-tap", "t"+strings.ToLower(rand.Text()[:10])),
		},
		{
			name: "enablers",
			arguments: free("listen", "mqtt", "modelrepo", "flcollector", "flcollector-grpc", "apimanager", "gateway", "gateway-admin",
				"multilink", "multilink-client"),
			listeners: []string{
				"console and annotator", "model repository", "training collector and FL repository", "API portal", "API gateway",
				"gateway admin", "multi-link server, in memory", "multi-link client, in memory",
			},
		},
	}
}

// eachCommand runs a test against every server.
func eachCommand(t *testing.T, test func(t *testing.T, p *process)) {
	t.Helper()
	for _, c := range commands() {
		t.Run(c.name, func(t *testing.T) { test(t, c.start(t)) })
	}
}

// eachListener runs a test against every listener of every server that the door protects.
func eachListener(t *testing.T, test func(t *testing.T, p *process, at string)) {
	t.Helper()
	eachCommand(t, func(t *testing.T, p *process) {
		for name, at := range p.at {
			if !outsideTheDoor[name] {
				t.Run(name, func(t *testing.T) { test(t, p, at) })
			}
		}
	})
}

// outsideTheDoor are the listeners that are for callers of published APIs, and people who sign in
// at an identity provider.
var outsideTheDoor = map[string]bool{"gateway": true, "API gateway": true, "idp": true}

// process is a server that runs with three tokens.
type process struct {
	*interop.Process
	command
	at     map[string]string // addresses by the names of listeners
	dir    string            // of the data and of the tokens
	tokens map[httpapi.Role]string
}

// listening is a line that says where a command listens.
var listening = regexp.MustCompile(`(?m)^listening on (https?://\S+?)/?(?: \((.+)\))?$`)

// start starts the command with a token for each role, unless the arguments say otherwise.
func (c command) start(t *testing.T, arguments ...string) *process {
	t.Helper()
	p := &process{command: c, at: map[string]string{}, dir: t.TempDir(), tokens: map[httpapi.Role]string{}}
	if !slices.Contains(arguments, "-access") {
		p.writeTokens(t)
		arguments = append(arguments, "-access", "token", "-access-tokens", p.tokenFile())
	}
	arguments = slices.Concat(c.arguments, []string{"-data", filepath.Join(p.dir, "data")}, arguments)
	run := exec.Command(program(t, c.name), arguments...)
	run.Dir, run.Env = p.dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir}
	p.Process = interop.StartProcess(t, run)
	require.Eventually(t, func() bool {
		for _, line := range listening.FindAllStringSubmatch(p.Output(), -1) {
			p.at[line[2]] = line[1]
		}
		select {
		case <-p.Ended():
			return true
		default:
			return !slices.ContainsFunc(c.listeners, func(name string) bool { return p.at[name] == "" })
		}
	}, patience, 10*time.Millisecond)
	for _, name := range c.listeners {
		require.NotEmpty(t, p.at[name], "%s listens as %q:\n%s", c.name, name, p.Output())
		if p.isGatewayAdmin(p.at[name]) {
			gatewayAdmins.Store(p.at[name], true)
		}
	}
	return p
}

func (p *process) tokenFile() string { return filepath.Join(p.dir, "tokens") }

// writeTokens makes new tokens and writes them for the server.
func (p *process) writeTokens(t *testing.T) {
	t.Helper()
	var lines strings.Builder
	for _, role := range []httpapi.Role{httpapi.Reader, httpapi.Operator, httpapi.Admin} {
		p.tokens[role] = rand.Text()
		fmt.Fprintf(&lines, "the-%s %s %s\n", role, role, p.tokens[role])
	}
	require.NoError(t, os.WriteFile(p.tokenFile(), []byte(lines.String()), 0o600))
}

// answer is what a server answers.
type answer struct {
	status int
	header http.Header
	body   string // its begin
}

// client follows no redirect.
var client = &http.Client{
	Timeout:       patience,
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// sendFrom is send from another address, so that failed attempts before do not count.
func sendFrom(t *testing.T, address, request, token, body string, fields ...string) answer {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	other := *client
	other.Transport = &http.Transport{DisableCompression: true, DisableKeepAlives: true, DialContext: dialer.DialContext}
	return sendBy(t, &other, request, token, body, fields...)
}

// addresses counts those of anotherAddress.
var addresses atomic.Uint32

// anotherAddress returns a loopback address that no other call returns.
func anotherAddress() string {
	n := addresses.Add(1)
	return fmt.Sprintf("127.1.%d.%d", n>>8, n&0xff)
}

// send sends a request, as "METHOD URL", with a token unless that is empty, and with header
// fields as "Name: value".
func send(t *testing.T, request, token, body string, fields ...string) answer {
	t.Helper()
	return sendBy(t, client, request, token, body, fields...)
}

func sendBy(t *testing.T, client *http.Client, request, token, body string, fields ...string) answer {
	t.Helper()
	method, address, _ := strings.Cut(request, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		r.Header.Set(name, value)
	}
	response, err := client.Do(r)
	require.NoError(t, err, request)
	defer func() { _ = response.Body.Close() }() // it was only read
	a := answer{status: response.StatusCode, header: response.Header}
	if !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		begin, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
		require.NoError(t, err, request)
		a.body = string(begin)
	}
	return a
}

// operation is one of an OpenAPI document that a server serves.
type operation struct {
	method, path string // with its parameters filled in
	pattern      string
	url          string
	role         httpapi.Role
}

// gatewayAdmins are the addresses of gateways' admin APIs, whose OpenAPI document is not served.
var gatewayAdmins sync.Map

// gatewayDocument is that document.
const gatewayDocument = "../../apimgmt/gateway/admin/openapi.json"

// documents are where a listener may serve OpenAPI documents.
var documents = []string{"/openapi.json", "/.enablers/openapi.json", "/repository/openapi.json"}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

// operations returns the operations of all documents that a listener serves.
func operations(t *testing.T, at string) []operation {
	t.Helper()
	var all []operation
	for _, path := range documents {
		response, err := client.Get(at + path)
		require.NoError(t, err)
		if response.StatusCode == http.StatusOK {
			prefix, _, _ := strings.Cut(path, "/openapi.json")
			all = append(all, operationsOf(t, response.Body, at, strings.TrimSuffix(prefix, "/.enablers"))...)
		}
		require.NoError(t, response.Body.Close())
	}
	if _, ok := gatewayAdmins.Load(at); ok {
		file, err := os.Open(gatewayDocument)
		require.NoError(t, err)
		defer func() { _ = file.Close() }() // it was only read
		all = append(all, operationsOf(t, file, at, "")...)
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.pattern+a.method, b.pattern+b.method) })
	return all
}

// operationsOf returns the operations of a document, whose paths stand behind the prefix.
func operationsOf(t *testing.T, text io.Reader, at, prefix string) (all []operation) {
	t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.NewDecoder(text).Decode(&document))
	for pattern, item := range document.Paths {
		for _, method := range []string{"get", "head", "options", "put", "post", "patch", "delete"} {
			if item[method] == nil {
				continue
			}
			var said struct {
				Role httpapi.Role `json:"x-role"`
			}
			require.NoError(t, json.Unmarshal(item[method], &said), pattern)
			o := operation{method: strings.ToUpper(method), pattern: prefix + pattern, role: said.Role}
			o.path = parameter.ReplaceAllString(o.pattern, "some")
			o.url = at + o.path
			all = append(all, o)
		}
	}
	return all
}

// String returns the operation as "METHOD PATTERN".
func (o operation) String() string { return o.method + " " + o.pattern }
