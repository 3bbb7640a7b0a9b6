package definition_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/internal/document"
	"github.com/iotenablers/enablers/internal/peertest"
)

// question is a file for Kong's own converter.
type question struct {
	Definition []byte `json:"definition"`
	OIDC       bool   `json:"oidc"`
}

// askKong converts files with Kong's own converter. Where it is not built and not
// demanded, the test is skipped.
func askKong(t *testing.T, questions []question) []entity.Config {
	t.Helper()
	program, err := peertest.Peer{Module: "test/apiops", Package: ".", Name: "apiops"}.Program(t.Context())
	if err != nil {
		if peertest.Required() {
			t.Fatalf("build Kong's converter: %v", err)
		}
		t.Skipf("Kong's converter is not there: %v", err)
	}
	var in, out, wrong bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, q := range questions {
		require.NoError(t, encoder.Encode(q))
	}
	command := exec.CommandContext(t.Context(), program)
	command.Stdin, command.Stdout, command.Stderr = &in, &out, &wrong
	require.NoError(t, command.Run(), wrong.String())
	decoder := json.NewDecoder(&out)
	made := make([]entity.Config, len(questions))
	for i := range made {
		var answer struct {
			Config json.RawMessage
			Error  string
		}
		require.NoError(t, decoder.Decode(&answer))
		require.Empty(t, answer.Error, "%s", questions[i].Definition)
		made[i], err = entity.Read(answer.Config, entity.Limits{})
		require.NoError(t, err, "%s\n%s", questions[i].Definition, answer.Config)
	}
	return made
}

// call is a request that a test routes.
type call struct{ method, path string }

// matcher routes requests by the rules of Kong that matter for expressions:
// those that match, of the greatest priority.
type matcher struct {
	config      entity.Config
	expressions []*regexp.Regexp
	meanings    map[string]string // by route
}

func newMatcher(t *testing.T, config entity.Config) *matcher {
	m := &matcher{config: config, meanings: map[string]string{}}
	for _, r := range config.Routes {
		require.Len(t, r.Paths, 1)
		expression, ok := strings.CutPrefix(r.Paths[0], "~")
		require.True(t, ok, r.Paths[0])
		m.expressions = append(m.expressions, regexp.MustCompile("^(?:"+expression+")"))
	}
	return m
}

func (m *matcher) match(c call) []entity.Route {
	var found []entity.Route
	for i, r := range m.config.Routes {
		if !slices.Contains(r.Methods, c.method) || !m.expressions[i].MatchString(c.path) {
			continue
		}
		if len(found) > 0 && found[0].RegexPriority < r.RegexPriority {
			found = nil
		}
		if len(found) == 0 || found[0].RegexPriority == r.RegexPriority {
			found = append(found, r)
		}
	}
	return found
}

var groupNames = regexp.MustCompile(`\?<[^>]+>`)

// meaning is what a route does, without names: which operation it is, what the
// plugins are, and where requests go.
func (m *matcher) meaning(t *testing.T, r entity.Route) string {
	if known, ok := m.meanings[r.ID]; ok {
		return known
	}
	operation := r.Methods[0] + " " + strings.ReplaceAll(groupNames.ReplaceAllString(r.Paths[0], ""), `\`, "")
	s := findService(t, m.config, r)
	plugins, err := json.Marshal(effective(m.config, r))
	require.NoError(t, err)
	var hosts []string
	for _, u := range m.config.Upstreams {
		if u.Name != s.Host {
			continue
		}
		for _, target := range m.config.Targets {
			if target.Upstream.ID == u.ID {
				hosts = append(hosts, target.Target)
			}
		}
	}
	if hosts == nil {
		hosts = []string{net.JoinHostPort(s.Host, strconv.Itoa(s.Port))}
	}
	meaning := fmt.Sprintf("%s to %s://%v%s retries %d tags %v strip %v preserve %v plugins %s",
		operation, s.Protocol, hosts, strings.TrimRight(s.Path, "/"), *s.Retries, r.Tags, *r.StripPath, r.PreserveHost, plugins)
	m.meanings[r.ID] = meaning
	return meaning
}

// calls are requests for the operations, and some for none.
func calls(d *definition.Definition) []call {
	parameter := regexp.MustCompile(`\{[^}]+\}`)
	seen := map[call]bool{}
	var made []call
	for _, o := range d.Operations() {
		for _, value := range []string{"7", "mine", "a.b", "x y", "things"} {
			path := parameter.ReplaceAllLiteralString(o.Path, value)
			for _, method := range []string{o.Method, "GET", "DELETE"} {
				for _, path := range []string{path, path + "/", path + "/more", "/before" + path, strings.ReplaceAll(path, ".", "x"),
					strings.TrimRight(path, "abcdefghijklmnopqrstuvwxyz")} {
					if c := (call{method, path}); !seen[c] {
						seen[c] = true
						made = append(made, c)
					}
				}
			}
		}
	}
	return made
}

// compare routes every call by both configurations.
func compare(t *testing.T, text []byte, ours, theirs entity.Config, sample []call) (routed int) {
	a, b := newMatcher(t, ours), newMatcher(t, theirs)
	require.Len(t, ours.Routes, len(theirs.Routes), "%s", text)
	for _, c := range sample {
		mine, kongs := a.match(c), b.match(c)
		meanings := func(m *matcher, routes []entity.Route) []string {
			made := []string{}
			for _, r := range routes {
				made = append(made, m.meaning(t, r))
			}
			slices.Sort(made)
			return made
		}
		// Routes of the same priority are a choice that both leave to the gateway.
		require.Equal(t, meanings(b, kongs), meanings(a, mine), "%s %q of\n%s", c.method, c.path, text)
		routed += min(1, len(mine))
	}
	return routed
}

func TestConvert_routesLikeTheConverterOfKong(t *testing.T) {
	const files = 200
	options := definition.Options{Server: "https://localhost", Plugins: []string{"oidc", "cors", "rate-limiting", "key-auth"}}
	var questions []question
	var ours []entity.Config
	var samples [][]call
	add := func(text []byte, oidc bool) {
		options := options
		if oidc {
			options.SecurityPlugin, options.Plugins = definition.OpenIDConnectPlugin, append([]string{"openid-connect"}, options.Plugins...)
		}
		d := load(t, string(text))
		config, err := definition.Convert(d, options)
		require.NoError(t, err, "%s", text)
		questions, ours, samples = append(questions, question{text, oidc}), append(ours, config), append(samples, calls(d))
	}
	for seed := range uint64(files) {
		file := newAuthor(seed).file()
		text, err := json.Marshal(file)
		require.NoError(t, err)
		if seed%2 == 1 {
			tree, _, err := document.Parse(text, document.Limits{})
			require.NoError(t, err)
			var yaml bytes.Buffer
			require.NoError(t, tree.Write(&yaml, document.YAML))
			text = yaml.Bytes()
		}
		add(text, file["security"] != nil)
	}
	add([]byte(pathItems), false)
	add([]byte(alike), false)
	add([]byte(everything), false)
	for _, file := range ownDefinitions(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		add(text, false)
	}
	theirs := askKong(t, questions)
	routed := 0
	for i := range questions {
		routed += compare(t, questions[i].Definition, ours[i], theirs[i], samples[i])
	}
	t.Logf("%d definitions, %d requests with a route", len(questions), routed)
	require.Greater(t, routed, 10_000)
}
