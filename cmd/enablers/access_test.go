package main

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/door/doortest"
	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestRun_hasTheDoor(t *testing.T) {
	doortest.Command{
		Run: run,
		Args: func(host, folder string) []string {
			args := []string{"-data", folder, "-mqtt", "127.0.0.1:0"}
			for _, name := range []string{"listen", "modelrepo", "flcollector", "flcollector-grpc", "flcollector-fleet", "apimanager",
				"gateway", "gateway-admin", "multilink", "multilink-client"} {
				args = append(args, "-"+name, host+":0")
			}
			return args
		},
		Listener: "console and annotator", Read: "GET /ui/state", Change: "POST /channels",
		Others: []doortest.Requests{{Read: "GET /channels", Change: "DELETE /channels/none"}},
	}.Check(t)
}

func TestRun_putsOneDoorBeforeEveryListener(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("anna reader anna-and-16-characters\nchloe admin chloe-and-16-characters\n"), 0o600))
	authority := servertest.NewAuthority(t)
	own := authority.Issue("enablers")
	p := start(t, "-access-tokens", file, "-tls-cert", own.Cert, "-tls-key", own.Key)
	p.Await("Or start with -demo") // what comes last
	client := authority.Client()
	get := func(url, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := client.Do(r)
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }() // it was only read
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	for _, url := range []string{
		p.web + "/", p.web + "/ui/state", p.web + "/channels", p.web + "/metrics", p.models + "/", p.models + "/metrics",
		p.collector + "/jobs", p.collector + "/model", p.collector + "/repository/model", p.collector + "/metrics",
		p.portal + "/OpenAPIDocumentation/", p.portal + "/metrics", p.admin + "/metrics",
		p.bonding + "/status", p.attached + "/status", p.bonding + "/metrics", p.bonding + "/",
	} {
		require.True(t, strings.HasPrefix(url, "https://"), url)
		status, text := get(url, "")
		require.Equal(t, http.StatusUnauthorized, status, "%s: %s", url, text)
		status, text = get(url, "anna-and-16-characters")
		require.Equal(t, http.StatusOK, status, "%s: %s", url, text)
	}
	status, text := get(p.admin+"/services", "anna-and-16-characters")
	require.Equal(t, http.StatusForbidden, status, text)
	status, text = get(p.admin+"/services", "chloe-and-16-characters")
	require.Equal(t, http.StatusOK, status, text)

	const patience = time.Minute
	require.Eventually(t, func() bool {
		_, text := get(p.bonding+"/status", "anna-and-16-characters")
		return strings.Contains(text, `"connected":true`)
	}, patience, 20*time.Millisecond, "the demonstration of multi-link is configured behind the door")
	require.Eventually(t, func() bool {
		_, text := get(p.portal+"/OpenAPIDocumentation/", "anna-and-16-characters")
		return strings.Count(text, `"state":"published"`) >= 12 // each is there as the enabler's, and in its list
	}, patience, 20*time.Millisecond, "the library has the definitions of the process")

	parties, err := tumours.Parties()
	require.NoError(t, err)
	flowerClient, err := flower.NewClient(flower.ClientConfig{Target: p.clients[strings.LastIndex(p.clients, "/")+1:],
		TLS: authority.ClientTLS(), Trainer: tumours.NewTrainer(parties[0])})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(p.clients, "grpcs://"), p.clients)
	require.ErrorContains(t, flowerClient.Run(t.Context()), "A token is required")
	require.NoError(t, p.Stop())
	require.NotContains(t, p.Log.String(), "is not in the library")
	require.NotContains(t, p.Log.String(), "is not attached")
	require.NotContains(t, p.Log.String(), "-16-characters")
}

// visitor is a person at a browser without scripts.
type visitor struct {
	t *testing.T
	*http.Client
}

func newVisitor(t *testing.T) visitor {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return visitor{t, &http.Client{Jar: jar}}
}

// open opens a page, or sends a form to it, and returns where that ends.
func (v visitor) open(address string, form url.Values) (status int, at *url.URL, text string) {
	v.t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(v.t.Context(), method, address, strings.NewReader(form.Encode()))
	require.NoError(v.t, err)
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := v.Do(r)
	require.NoError(v.t, err)
	defer func() { _ = answer.Body.Close() }() // it was only read
	body, err := io.ReadAll(answer.Body)
	require.NoError(v.t, err)
	return answer.StatusCode, answer.Request.URL, string(body)
}

// signOn signs a user of the demonstration in at the provider of the program.
func (v visitor) signOn(p process, user, password string) {
	v.t.Helper()
	_, _, text := v.open(p.web+"/.enablers/sign-on?to=/ui/", nil)
	field := func(pattern string) string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		require.NotNil(v.t, found, text)
		return html.UnescapeString(found[1])
	}
	status, _, text := v.open(field(`<form method="post" action="([^"]+)"`), url.Values{
		"username": {user}, "password": {password}, "request": {field(`name="request" value="([^"]+)"`)},
	})
	require.Equal(v.t, http.StatusOK, status, text)
}

// awaitFile returns the content of a file that a line of the output names.
func (p process) awaitFile(t *testing.T, line, before string) []byte {
	t.Helper()
	_, name, found := strings.Cut(p.Await(line), before)
	require.True(t, found)
	content, err := os.ReadFile(strings.TrimSuffix(name, "."))
	require.NoError(t, err)
	return content
}

func TestRun_asksWhoOperatesTheLinks(t *testing.T) {
	p := start(t)
	var secrets struct {
		Password string `json:"demo_password"`
	}
	require.NoError(t, json.Unmarshal(p.awaitFile(t, "new password of demouser", ": demo_password in "), &secrets))
	token := strings.TrimSpace(string(p.awaitFile(t, "The token is in ", "The token is in ")))
	require.Eventually(t, func() bool { return strings.Contains(p.get(t, "/ui/links/"), "wifi0") }, time.Minute, 50*time.Millisecond)
	disable := p.web + "/ui/links/links/wifi0/disable"

	anonymous := newVisitor(t)
	for _, address := range []string{disable, p.bonding + "/links/wifi0/disable", p.web + "/ui/links/client/links/wifi0/disable",
		p.web + "/ui/links/api/interfaces/add", p.bonding + "/interfaces/add", p.web + "/ui/links/detach"} {
		status, _, text := anonymous.open(address, url.Values{})
		require.Equal(t, http.StatusUnauthorized, status, "%s: %s", address, text)
	}
	_, _, page := anonymous.open(p.web+"/ui/links/", nil)
	require.NotContains(t, page, "Disable link", "a page offers what the door allows")
	require.Contains(t, page, "/.enablers/sign-in?to=")
	require.NotContains(t, page, "open to this machine")
	_, _, page = anonymous.open(p.web+"/ui/models/", nil)
	require.Contains(t, page, "open to this machine")

	reader := newVisitor(t)
	reader.signOn(p, "demoopencaller", secrets.Password)
	_, _, page = reader.open(p.web+"/ui/models/", nil)
	require.Contains(t, page, `<strong>demoopencaller</strong><span class="role">reader</span><span class="role">open to this machine</span>`)
	_, _, page = reader.open(p.web+"/ui/links/", nil)
	require.Contains(t, page, `<strong>demoopencaller</strong><span class="role">reader</span></span>`)
	require.NotContains(t, page, "Disable link")
	status, _, text := reader.open(disable, url.Values{})
	require.Equal(t, http.StatusForbidden, status, text)

	developer := newVisitor(t)
	developer.signOn(p, "demodeveloper", secrets.Password)
	_, _, page = developer.open(p.bonding+"/", nil)
	require.Contains(t, page, "Disable link wifi0", "one sign-in is good for all pages")
	status, _, text = developer.open(disable, url.Values{})
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, "The link wifi0 is disabled")

	holder := newVisitor(t)
	_, at, text := holder.open(p.web+"/ui/links/clients/new", nil)
	require.Equal(t, "/.enablers/sign-in", at.Path, "a page that is not for everyone leads there")
	require.Contains(t, text, "multilink-demo/token")
	_, _, text = holder.open(p.models+"/.enablers/sign-in", nil)
	require.Contains(t, text, "multilink-demo/token", "listeners whose blocks opened earlier say it, too")
	form := url.Values{"to": {"/ui/links/clients/new"}, "token": {"a wrong token of many characters"}}
	status, _, text = holder.open(p.web+"/.enablers/sign-in", form)
	require.Equal(t, http.StatusForbidden, status, text)
	form.Set("token", token)
	status, at, text = holder.open(p.web+"/.enablers/sign-in", form)
	require.Equal(t, http.StatusOK, status, text)
	require.Equal(t, "/ui/links/clients/new", at.Path)
	status, _, text = holder.open(p.web+"/ui/links/links/wifi0/enable", url.Values{})
	require.Equal(t, http.StatusOK, status, text)
	require.NoError(t, p.Stop())
}

func TestRun_saysThatEveryMachineMayDoEverything(t *testing.T) {
	p := start(t, "-access", "none", "-modelrepo", "0.0.0.0:0")
	_, _, page := newVisitor(t).open(p.web+"/ui/links/", nil)
	require.Contains(t, page, "open to every machine")
	require.NotContains(t, page, "open to this machine")
	require.NoError(t, p.Stop())
}
