package ha_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/client"
	"github.com/iotenablers/enablers/test/interop"
	"github.com/iotenablers/enablers/test/interop/load"
)

const (
	publishers = 2  // users that publish, one file after the other, with pauses
	enablers   = 10 // of each user, at most; after these, only new versions come
	callers    = 2  // clients that call an API that stays as it is
	password   = "a password for tests"
	bound      = 30 * time.Second // of one request
)

// managers are two on one database and one bucket, behind one address for publishing and one
// for calls.
type managers struct {
	fleet
	portal, gateway *load.Balancer
	gateways        []string // HOST:PORT of each
	admins          []string // URL of each
	upstream        *httptest.Server
	library         *client.Client
	http            *http.Client

	tokens  sync.Mutex
	token   string
	renewed time.Time

	mu        sync.Mutex
	published map[string]*upload
	wishes    int // publishes that were tried, and how many of these were confirmed
	confirmed int
	calls     int // that were answered, and those that broke
	broken    int

	publishing, calling successes
	publishGaps         load.Gaps // until a publish that began after the kill was confirmed
	callGaps            load.Gaps // and a call was answered
}

// upload is what is known of an enabler.
type upload struct {
	revision int          // that was tried last
	possible map[int]bool // revisions of which one is the published one; 0 is none
}

// successes lets a test wait for something that succeeds again and again.
type successes struct {
	mu      sync.Mutex
	waiting map[chan time.Time]time.Time // since when
}

func (s *successes) add(began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for news, since := range s.waiting {
		if began.After(since) {
			news <- time.Now()
			delete(s.waiting, news)
		}
	}
}

// next returns a channel with the time at which something has succeeded that begins from now on.
func (s *successes) next() <-chan time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := make(chan time.Time, 1)
	if s.waiting == nil {
		s.waiting = map[chan time.Time]time.Time{}
	}
	s.waiting[news] = time.Now()
	return news
}

func newManagers(p *platform) *managers {
	m := &managers{
		fleet: fleet{
			platform: p, program: interop.Build(p.t, "apimanager"), servers: make([]*interop.Server, 2),
		},
		portal: load.NewBalancer(p.t, 2), gateway: load.NewBalancer(p.t, 2),
		gateways: make([]string, 2), admins: make([]string, 2),
		http:      &http.Client{Timeout: bound, Transport: &http.Transport{DisableKeepAlives: true}},
		published: map[string]*upload{},
	}
	m.arguments = append(p.arguments(p.place()),
		"-listen", "127.0.0.1:0", "-gateway-listen", "127.0.0.1:0", "-admin-listen", "127.0.0.1:0",
		"-private-upstreams", "-demo-password", password,
		"-portal-url", "http://"+m.portal.Address(), "-gateway-url", "http://"+m.gateway.Address())
	folders := []string{p.t.TempDir(), p.t.TempDir()}
	m.own = func(at int) []string { return []string{"-data", folders[at]} }
	m.ready = func(at int, server *interop.Server) {
		server.AwaitLine("Sign in at ")
		found := regexp.MustCompile(`listening on http://(\S+) \(gateway\)\nlistening on (\S+) \(admin\)`).FindStringSubmatch(server.Output())
		require.NotNil(p.t, found, server.Output())
		m.gateways[at], m.admins[at] = found[1], found[2]
		m.gateway.Set(at, found[1])
		m.portal.Set(at, strings.TrimPrefix(server.URL, "http://"))
	}
	m.upstream = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	p.t.Cleanup(m.upstream.Close)
	for at := range m.servers {
		m.start(at)
	}
	m.library = m.at("http://" + m.portal.Address())
	return m
}

// at returns a client of the publisher at an address.
func (m *managers) at(address string) *client.Client {
	client, err := client.New(address, &client.Options{Token: m.access, HTTP: m.http})
	require.NoError(m.platform.t, err)
	return client
}

// access returns a token of the user that publishes, from either manager.
func (m *managers) access(ctx context.Context) (string, error) {
	m.tokens.Lock()
	defer m.tokens.Unlock()
	if time.Since(m.renewed) < time.Minute {
		return m.token, nil
	}
	form := url.Values{"grant_type": {"password"}, "client_id": {"public-backend-access"},
		"username": {"demodeveloper"}, "password": {password}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+m.portal.Address()+"/auth/realms/OpenAPI/protocol/openid-connect/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := m.http.Do(request)
	if err != nil {
		return "", fmt.Errorf("%w: %w", client.ErrUnavailable, err)
	}
	defer answer.Body.Close()
	var tokens struct {
		Access string `json:"access_token"`
	}
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode == http.StatusOK {
		err = json.Unmarshal(text, &tokens)
	}
	if err != nil || tokens.Access == "" {
		return "", fmt.Errorf("%w: a token: %d %s: %w", client.ErrUnavailable, answer.StatusCode, text, err)
	}
	m.token, m.renewed = tokens.Access, time.Now()
	return m.token, nil
}

// definition is that of a revision of an enabler: the service that it names is another one each time.
func (m *managers) definition(enabler string, revision int) []byte {
	return fmt.Appendf(nil, `{"openapi": "3.0.3", "info": {"title": %q, "version": %q}, "servers": [{"url": "%s/%s/%d"}],
		"paths": {"/echo": {"get": {"responses": {"200": {"description": "where the service was called"}}}}}}`,
		enabler, version(revision), m.upstream.URL, enabler, revision)
}

// versions is how many an enabler has: a revision is a new version, or later replaces an old one.
const versions = 3

func version(revision int) string { return fmt.Sprintf("1.%d", revision%versions) }

const stays = "stays"

func (m *managers) work(ctx context.Context) {
	t := m.platform.t
	m.published[stays] = &upload{possible: map[int]bool{0: true}}
	require.NoError(t, m.publish(ctx, stays, 1, m.published[stays]))
	await(t, "both gateways serve what was published at one", func() bool {
		first, _, err := m.call(m.gateways[0], stays)
		second, _, also := m.call(m.gateways[1], stays)
		return err == nil && also == nil && first == http.StatusOK && second == http.StatusOK
	})
	for user := range publishers {
		m.platform.work.Go(func() { m.publishAll(ctx, user) })
	}
	for range callers {
		m.platform.work.Go(func() { m.callAll(ctx) })
	}
}

// publishAll publishes until the context ends: new enablers, and new revisions of old ones. What
// fails is tried again, or left as it is.
func (m *managers) publishAll(ctx context.Context, user int) {
	var names []string
	for ctx.Err() == nil {
		var name string
		if (len(names) < enablers && rand.N(3) == 0) || len(names) == 0 {
			name = fmt.Sprintf("user-%d-%d", user, len(names))
			names = append(names, name)
			m.mu.Lock()
			m.published[name] = &upload{possible: map[int]bool{0: true}}
			m.mu.Unlock()
		} else {
			name = names[rand.N(len(names))]
		}
		m.mu.Lock()
		to := m.published[name]
		m.mu.Unlock()
		select {
		case <-time.After(rand.N(500 * time.Millisecond)):
		case <-ctx.Done():
			return
		}
		to.revision++
		for again := true; again && ctx.Err() == nil; {
			err := m.publish(m.platform.t.Context(), name, to.revision, to)
			again = err != nil && rand.N(2) == 0
			passing := errors.Is(err, client.ErrUnavailable) || errors.Is(err, apimgmt.ErrUnknown) || errors.Is(err, apimgmt.ErrGateway)
			if err != nil && !passing {
				m.platform.t.Errorf("publish revision %d of %s: %v", to.revision, name, err)
				return
			}
		}
	}
}

// publish tries to publish a revision, and keeps what is known of the enabler then.
func (m *managers) publish(ctx context.Context, enabler string, revision int, of *upload) error {
	began := time.Now()
	_, err := m.library.Publish(ctx, apimgmt.Upload{
		Enabler: enabler, Description: fmt.Sprint("revision ", revision), Path: "/" + enabler,
		Definition: m.definition(enabler, revision),
	})
	m.mu.Lock()
	m.wishes++
	if err == nil {
		m.confirmed++
		clear(of.possible)
	}
	of.possible[revision] = true
	m.mu.Unlock()
	if err == nil {
		m.publishing.add(began)
	}
	return err
}

// callAll calls the API that stays as it is until the context ends: through whichever gateway
// answers, it is served.
func (m *managers) callAll(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		status, text, err := m.call(m.gateway.Address(), stays)
		m.mu.Lock()
		if err == nil {
			m.calls++
		} else {
			m.broken++ // its gateway was killed
		}
		m.mu.Unlock()
		switch {
		case err != nil:
		case status != http.StatusOK || text != served(stays, 1):
			m.platform.t.Errorf("call of an API that stays as it is: %d %s", status, text)
			return
		default:
			m.calling.add(began)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// served is what the service of a revision answers.
func served(enabler string, revision int) string {
	return fmt.Sprintf("/%s/%d/echo", enabler, revision)
}

// call calls an API through the gateway at an address.
func (m *managers) call(gateway, enabler string) (status int, text string, err error) {
	answer, err := m.http.Get("http://" + gateway + "/" + enabler + "/echo")
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(data), err
}

func (m *managers) strike(random *rand.Rand) {
	t := m.platform.t
	victim := random.IntN(len(m.servers))
	m.servers[victim].Kill()
	began := time.Now()
	published, called := m.publishing.next(), m.calling.next()
	late := time.After(load.Patience)
	for published != nil || called != nil {
		select {
		case at := <-published:
			m.publishGaps = append(m.publishGaps, at.Sub(began))
			published = nil
		case at := <-called:
			m.callGaps = append(m.callGaps, at.Sub(began))
			called = nil
		case <-late:
			t.Fatalf("no publish or no call succeeds within %v of a kill", load.Patience)
		}
	}
	m.portal.Set(victim, "")
	m.gateway.Set(victim, "")
	m.start(victim)
}
