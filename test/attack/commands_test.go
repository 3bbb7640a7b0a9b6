package attack_test

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
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
	flag.Parse()
	parallel := false
	flag.Visit(func(f *flag.Flag) { parallel = parallel || f.Name == "test.parallel" })
	if !parallel { // the tests mostly wait for the processes that they started
		_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))) // the flag exists
	}
	code := m.Run()
	for _, end := range sharing.ends {
		end()
	}
	_ = os.RemoveAll(programs) // what remains is in the folder for temporary files
	os.Exit(code)
}

// builds has a function for each command that builds it once.
var builds sync.Map

func program(t testing.TB, name string) string {
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
		{name: "flcollector", arguments: free("listen", "grpc-listen", "fleet"), listeners: []string{""}},
		{
			name: "apimanager", arguments: free("listen", "gateway-listen", "admin-listen"),
			listeners: []string{"portal", "gateway", "admin", "idp"},
		},
		{
			// It may do nothing to the machine.
			name: "multilink", listeners: []string{""},
			arguments: append(free("listen"), "-role", "server", "-allow", "nothing"),
		},
		{
			name: "enablers",
			arguments: free("listen", "mqtt", "modelrepo", "flcollector", "flcollector-grpc", "flcollector-fleet", "apimanager", "gateway",
				"gateway-admin", "multilink", "multilink-client"),
			listeners: []string{
				"console and annotator", "model repository", "training collector and FL repository", "API portal", "API gateway",
				"gateway admin", "multi-link server, in memory", "multi-link client, in memory",
			},
		},
	}
}

// named returns the server of a name.
func named(name string) command {
	all := commands()
	return all[slices.IndexFunc(all, func(c command) bool { return c.name == name })]
}

// everyCommand runs a test for every server, side by side with the others.
func everyCommand(t *testing.T, test func(t *testing.T, c command)) {
	t.Helper()
	t.Parallel()
	for _, c := range commands() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

// eachCommand runs a test against every server, with a process of its own.
func eachCommand(t *testing.T, test func(t *testing.T, p *process)) {
	t.Helper()
	everyCommand(t, func(t *testing.T, c command) { test(t, c.start(t)) })
}

// eachListener runs a test against every listener of every server that the door protects, with
// processes of its own.
func eachListener(t *testing.T, test func(t *testing.T, p *process, at string)) {
	t.Helper()
	eachCommand(t, func(t *testing.T, p *process) { p.eachListener(t, test) })
}

// eachSharedCommand is eachCommand for tests that share a process: they only read or are refused, offer no
// invalid token, and need no session to last, for each token may have 20.
func eachSharedCommand(t *testing.T, test func(t *testing.T, p *process)) {
	t.Helper()
	everyCommand(t, func(t *testing.T, c command) { test(t, c.shared(t)) })
}

// eachSharedListener is eachListener for tests as those of eachSharedCommand.
func eachSharedListener(t *testing.T, test func(t *testing.T, p *process, at string)) {
	t.Helper()
	eachSharedCommand(t, func(t *testing.T, p *process) { p.eachListener(t, test) })
}

func (p *process) eachListener(t *testing.T, test func(t *testing.T, p *process, at string)) {
	t.Helper()
	for name, at := range p.at {
		if !outsideTheDoor[name] {
			t.Run(name, func(t *testing.T) { test(t, p, at) })
		}
	}
}

// sharing are the processes that tests share, by the names of their commands, and what ends them.
var sharing struct {
	sync.Mutex

	processes map[string]*process
	ends      []func()
}

// sharer starts a process that outlives its test.
type sharer struct{ testing.TB }

// Cleanup leaves the process to TestMain.
func (sharer) Cleanup(end func()) { sharing.ends = append(sharing.ends, end) }

// Failed leaves the output of the process to the tests that fail.
func (sharer) Failed() bool { return false }

// TempDir returns a folder below that of the programs.
func (s sharer) TempDir() string {
	dir, err := os.MkdirTemp(programs, "shared-")
	require.NoError(s, err)
	return dir
}

// shared returns the process that tests share, and starts it for the first of them.
func (c command) shared(t *testing.T) *process {
	t.Helper()
	sharing.Lock()
	defer sharing.Unlock()
	p := sharing.processes[c.name]
	if p == nil {
		p = c.start(sharer{t})
		if sharing.processes == nil {
			sharing.processes = map[string]*process{}
		}
		sharing.processes[c.name] = p
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("output of %s:\n%s", c.name, p.Output())
		}
	})
	return p
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

// options are how a command is run, besides its own arguments.
type options struct {
	arguments   []string // further ones
	environment []string // beside PATH and HOME, as NAME=VALUE
	shell       string   // a line for a shell that becomes the command, such as "ulimit -n 64"
	data        string   // the folder of the data, empty for one of the test
	// tokens says that the server has one for each role. Without, its access is that of the arguments.
	tokens bool
}

// start starts the command with a token for each role, unless the arguments say otherwise, and
// waits until it listens.
func (c command) start(t testing.TB, arguments ...string) *process {
	t.Helper()
	p := c.run(t, options{arguments: arguments, tokens: !slices.Contains(arguments, "-access")})
	p.awaitListeners(t)
	return p
}

// run starts the command, which may end by itself.
func (c command) run(t testing.TB, o options) *process {
	t.Helper()
	p := &process{command: c, at: map[string]string{}, dir: t.TempDir(), tokens: map[httpapi.Role]string{}}
	data := cmp.Or(o.data, filepath.Join(p.dir, "data"))
	arguments := slices.Concat(c.arguments, []string{"-data", data}, o.arguments)
	if c.name == "multilink" { // its link needs a name of its own on this machine
		arguments = append(arguments, "-tap", "t"+strings.ToLower(rand.Text()[:10]))
	}
	if o.tokens {
		p.writeTokens(t)
		arguments = append(arguments, "-access", "token", "-access-tokens", p.tokenFile())
	}
	run := exec.Command(program(t, c.name), arguments...)
	if o.shell != "" {
		run = exec.Command("/bin/sh", slices.Concat([]string{"-c", o.shell + `; exec "$0" "$@"`}, run.Args)...)
	}
	run.Dir, run.Env = p.dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir}, o.environment...)
	p.Process = interop.StartProcess(t, run)
	return p
}

// startOpen starts a server that requires no token, as it does on the loopback interface.
func startOpen(t *testing.T, name string, environment []string, arguments ...string) *process {
	t.Helper()
	p := named(name).run(t, options{environment: environment, arguments: arguments})
	p.awaitListeners(t)
	return p
}

// awaitListeners waits until all listeners listen.
func (p *process) awaitListeners(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, line := range listening.FindAllStringSubmatch(p.Output(), -1) {
			p.at[line[2]] = line[1]
		}
		select {
		case <-p.Ended():
			return true
		default:
			return !slices.ContainsFunc(p.listeners, func(name string) bool { return p.at[name] == "" })
		}
	}, patience, 10*time.Millisecond)
	for _, name := range p.listeners {
		at := p.at[name]
		require.NotEmpty(t, at, "%s listens as %q:\n%s", p.name, name, p.Output())
		if p.isGatewayAdmin(at) {
			gatewayAdmins.Store(at, true)
			t.Cleanup(func() { gatewayAdmins.Delete(at) }) // another server may listen there later
		}
	}
}

// awaitOutput waits until the server has written a text.
func (p *process) awaitOutput(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.Output(), text) }, patience, 10*time.Millisecond, text)
}

func (p *process) tokenFile() string { return filepath.Join(p.dir, "tokens") }

// writeTokens makes new tokens and writes them for the server.
func (p *process) writeTokens(t testing.TB) {
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
	body   string // up to longest bytes
}

// longest is how many bytes of an answer are looked at.
const longest = 4 << 20

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

// sendJSON sends a document.
func sendJSON(t *testing.T, request, token string, document any, fields ...string) answer {
	t.Helper()
	text, err := json.Marshal(document)
	require.NoError(t, err)
	return send(t, request, token, string(text), append([]string{"Content-Type: application/json"}, fields...)...)
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
		text, err := io.ReadAll(io.LimitReader(response.Body, longest))
		require.NoError(t, err, request)
		a.body = string(text)
	}
	return a
}

// operation is one of an OpenAPI document that a server serves.
type operation struct {
	method, path string // with its parameters filled in
	pattern      string
	url          string
	role         httpapi.Role
	kinds        []string // the media types of its body, in ascending order
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
			all = append(all, readOperations(t, response.Body, at, strings.TrimSuffix(prefix, "/.enablers"))...)
		}
		require.NoError(t, response.Body.Close())
	}
	if _, ok := gatewayAdmins.Load(at); ok {
		file, err := os.Open(gatewayDocument)
		require.NoError(t, err)
		defer func() { _ = file.Close() }() // it was only read
		all = append(all, readOperations(t, file, at, "")...)
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.pattern+a.method, b.pattern+b.method) })
	return all
}

// readOperations returns the operations of a document, whose paths stand behind the prefix.
func readOperations(t *testing.T, text io.Reader, at, prefix string) (all []operation) {
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
				Body struct {
					Content map[string]struct{} `json:"content"`
				} `json:"requestBody"`
			}
			require.NoError(t, json.Unmarshal(item[method], &said), pattern)
			o := operation{method: strings.ToUpper(method), pattern: prefix + pattern, role: said.Role}
			o.kinds = slices.Sorted(maps.Keys(said.Body.Content))
			o.path = parameter.ReplaceAllString(o.pattern, "some")
			o.url = at + o.path
			all = append(all, o)
		}
	}
	return all
}

// String returns the operation as "METHOD PATTERN".
func (o operation) String() string { return o.method + " " + o.pattern }
