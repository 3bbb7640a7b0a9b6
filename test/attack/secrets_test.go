package attack_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// These tests give each server marked secrets in every setting and request that takes one, have it
// succeed and fail with them, and look for the marks in standard output, standard error, the
// log file at debug level, the metrics, and the answers that are for others.

// away is an address where nothing listens.
const away = "127.0.0.1:1"

const secretMapping = `@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> . @prefix carml: <http://carml.taxonic.com/carml/> . @prefix ex: <http://example.org/> .
<http://example.org/map> a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ;
rml:iterator "$" ] ; rr:subjectMap [ rr:template "http://example.org/{id}" ; rr:class ex:Thing ] .`

// encryption returns a marked secret of 32 bytes.
func encryption() string {
	secret := mark("Encryption")
	return secret + strings.Repeat("x", 32-len(secret))
}

func TestAnnotator_keepsTheSecretsOfBrokers(t *testing.T) {
	m := startMarked(t, "annotator", []string{"ANNOTATOR_ENCRYPTION_AUTH_SECRET=" + encryption()}, "-listen", "127.0.0.1:0")
	at := m.address("listening on ")
	topic := func(kind, name string, more map[string]any) map[string]any {
		settings := map[string]any{"host": "127.0.0.1", "port": 1, "user": mark("User"), "password": mark("Password")}
		for member, value := range more {
			settings[member] = value
		}
		return map[string]any{"topic": name, "brokerType": strings.ToUpper(kind), kind + "Settings": settings}
	}
	channel := func(input, output map[string]any) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"name": "c", "mapping": map[string]any{
				"name": "m", "inputFormat": "JSON", "outputFormat": "TTL", "rml": secretMapping,
			}},
			"settings": map[string]any{"inputTopicSettings": input, "outputTopicSettings": output},
			"status":   map[string]any{"isStopped": false},
		}
	}
	var answers []string
	for _, c := range []map[string]any{
		channel(topic("mqtt", "a", map[string]any{"protocol": "tcp"}), topic("mqtt", "b", map[string]any{"protocol": "tcp"})),
		channel(topic("mqtt", "a", map[string]any{"protocol": "ssl"}), topic("kafka", "b", nil)),
		channel(topic("kafka", "a", map[string]any{"saslMechanism": "SCRAM-SHA-512"}),
			topic("kafka", "b", map[string]any{"saslMechanism": "PLAIN"})),
		channel(topic("kafka", "a", map[string]any{"saslMechanism": "none at all"}), topic("mqtt", "b", nil)),
		channel(topic("mqtt", "a", map[string]any{"port": "x"}), topic("mqtt", "b", map[string]any{"unknown": mark("Member")})),
	} {
		_, answer := m.send(t, http.MethodPost, at+"/channels", c)
		answers = append(answers, answer)
	}
	m.marks = append(m.marks, mark("User"), mark("Password"))
	for _, path := range []string{"/channels", "/settings", "/status", "/metrics"} {
		_, answer := m.send(t, http.MethodGet, at+path, nil)
		answers = append(answers, answer)
	}
	m.knock(t, at)
	m.keepsSecrets(t, answers...)
}

func TestAnnotator_keepsTheSecretsOfSettings(t *testing.T) {
	for name, arguments := range map[string][]string{
		"an encryption secret of another length": {"-encryption-auth-secret", mark("Short")},
		"a connection string that is malformed":  {"-db-uri", "mongodb://user:" + mark("URI") + "@host:port/x"},
		"a connection string with a slash":       {"-db-uri", "mongodb://user:pass/" + mark("Slash") + "@127.0.0.1:1/"},
		"a connection string of another scheme":  {"-db-uri", "postgres://user:" + mark("Scheme") + "@127.0.0.1/"},
		"a password without a user":              {"-db-password", mark("NoUser")},
		"an unknown option":                      {"-db-uri", "mongodb://user:" + mark("Option") + "@127.0.0.1:1/?authMechanism=none"},
	} {
		t.Run(name, func(t *testing.T) {
			m := startMarked(t, "annotator", nil, append(arguments, "-listen", "127.0.0.1:0")...)
			require.Equal(t, 1, m.AwaitEnd())
			m.requireNone(t)
		})
	}
	t.Run("a database that is away", func(t *testing.T) {
		m := startMarked(t, "annotator", []string{"DB_URI=mongodb://" + mark("Name") + ":" + "s3cretMarkURIZq7" + "@" + away + "/?tls=true"},
			"-listen", "127.0.0.1:0", "-db-timeout", "100ms")
		m.marks = append(m.marks, mark("URI"))
		at := m.address("listening on ")
		_, status := m.send(t, http.MethodGet, at+"/settings", nil)
		_, ready := m.send(t, http.MethodGet, at+"/readyz", nil)
		m.knock(t, at)
		m.keepsSecrets(t, status, ready)
	})
}

func TestModelrepo_keepsTheSecretsOfSettings(t *testing.T) {
	for name, arguments := range map[string][]string{
		"a connection string that is malformed": {"-store", "mongodb://user:" + mark("URI") + "@host:port/x"},
		"a connection string with a slash":      {"-store", "mongodb://user:pass/" + mark("Slash") + "@127.0.0.1:1/"},
		"another scheme":                        {"-store", "postgres://user:" + mark("Scheme") + "@127.0.0.1/"},
		"a bucket without a name":               {"-store", "mongodb://" + away, "-blobs", "s3://key:" + mark("Key") + "@" + away},
		"a bucket with a bad port":              {"-store", "mongodb://" + away, "-blobs", "s3://key:" + mark("Port") + "@127.0.0.1:x/b"},
		"a bucket of another scheme":            {"-store", "mongodb://" + away, "-blobs", "ftp://key:" + mark("Other") + "@127.0.0.1/b"},
	} {
		t.Run(name, func(t *testing.T) {
			m := startMarked(t, "modelrepo", nil, append(arguments, "-listen", "127.0.0.1:0")...)
			require.Equal(t, 1, m.AwaitEnd())
			m.requireNone(t)
		})
	}
	t.Run("stores that are away", func(t *testing.T) {
		m := startMarked(t, "modelrepo", nil, "-listen", "127.0.0.1:0", "-store-timeout", "100ms",
			"-store", "mongodb://user:"+mark("URI")+"@"+away, "-blobs", "s3://key:"+mark("Key")+"@"+away+"/bucket?insecure=true")
		at := m.address("listening on ")
		_, ready := m.send(t, http.MethodGet, at+"/readyz", nil)
		m.knock(t, at)
		m.keepsSecrets(t, ready)
	})
}

func TestModelrepo_keepsTheSecretsOfWebhooks(t *testing.T) {
	m := startMarked(t, "modelrepo", nil, "-listen", "127.0.0.1:0", "-webhooks-private")
	at := m.address("listening on ")
	hook := func(callback string) (int, string) {
		return m.send(t, http.MethodPost, at+"/h", map[string]any{
			"action": "model_create", "callback": callback, "context": map[string]any{"namespace": "name"},
		})
	}
	status, refusal := hook("http://user:" + mark("User") + "@" + away + "/hook")
	require.Equal(t, http.StatusBadRequest, status)
	status, answer := hook("http://" + away + "/hook?token=" + mark("Callback"))
	require.Equal(t, http.StatusOK, status, answer)
	var created struct{ Secret string }
	require.NoError(t, json.Unmarshal([]byte(answer), &created))
	require.NotEmpty(t, created.Secret)
	m.marks = append(m.marks, created.Secret, mark("User"), mark("Callback"))
	m.send(t, http.MethodPost, at+"/name", nil)
	status, answer = m.send(t, http.MethodPost, at+"/name/model", nil)
	require.Equal(t, http.StatusOK, status, answer)
	m.awaitOutput(t, "a callback failed")
	m.knock(t, at)
	_, metrics := m.send(t, http.MethodGet, at+"/metrics", nil)
	m.keepsSecrets(t, metrics, refusal)
}

func TestFLCollector_keepsTheSecretsOfSettings(t *testing.T) {
	m := startMarked(t, "flcollector", nil, "-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0",
		"-repository-address", "http://user:"+mark("Repository")+"@"+away,
		"-orchestrator-address", "http://user:"+mark("Orchestrator")+"@"+away)
	at := m.address("listening on http")
	at = "http" + at
	status, answer := m.send(t, http.MethodPost, at+"/job/config/7", m.exampleOf(t, at, "/job/config/{id}", "post"))
	require.Equal(t, http.StatusOK, status, answer)
	answers := []string{answer}
	m.send(t, http.MethodPost, at+"/job/stop", nil)
	for _, path := range []string{"/jobs", "/job/status/7", "/readyz", "/metrics", "/", "/live/7"} {
		_, answer := m.send(t, http.MethodGet, at+path, nil)
		answers = append(answers, answer)
	}
	m.knock(t, at)
	m.keepsSecrets(t, answers...)
	for name, address := range map[string]string{
		"a bad port": "http://user:" + mark("Port") + "@host:x", "another scheme": "ftp://user:" + mark("Scheme") + "@host",
	} {
		t.Run(name, func(t *testing.T) {
			for _, flag := range []string{"-repository-address", "-orchestrator-address"} {
				m := startMarked(t, "flcollector", nil, "-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", flag, address)
				require.Equal(t, 1, m.AwaitEnd())
				m.requireNone(t)
			}
		})
	}
}

func TestAPIManager_keepsItsSecrets(t *testing.T) {
	m := startMarked(t, "apimanager", nil, "-listen", "127.0.0.1:0", "-gateway-listen", "127.0.0.1:0", "-admin-listen", "127.0.0.1:0",
		"-admin-token", mark("Admin"), "-client-secret", mark("Client"), "-demo-password", mark("Demo"))
	portal, admin, gateway := m.listener("(portal)"), m.listener("(admin)"), m.listener("(gateway)")
	token := []string{"Kong-Admin-Token", mark("Admin"), "Authorization", "Bearer " + mark("Admin")}
	post := func(path string, body map[string]any) {
		status, answer := m.send(t, http.MethodPost, admin+path, body, token...)
		require.Equal(t, http.StatusCreated, status, answer)
	}
	post("/services", map[string]any{"name": "s", "url": "http://" + away + "/base"})
	post("/services/s/routes", map[string]any{"name": "r", "paths": []string{"/s"}})
	post("/services/s/plugins", map[string]any{"name": "key-auth"})
	post("/services/s/plugins", map[string]any{"name": "request-transformer", "config": map[string]any{
		"add": map[string]any{"headers": []string{"Authorization:Bearer " + mark("Upstream")}},
	}})
	post("/consumers", map[string]any{"username": "c"})
	post("/consumers/c/key-auth", map[string]any{"key": mark("Consumer")})
	m.marks = append(m.marks, mark("Upstream"), mark("Consumer"))
	var answers []string
	for _, key := range []string{mark("Consumer"), mark("Guess")} {
		for _, call := range [][]string{{"/s?apikey=" + key}, {"/s", "Apikey", key}} {
			_, answer := m.send(t, http.MethodGet, gateway+call[0], nil, call[1:]...)
			answers = append(answers, answer)
		}
	}
	m.marks = append(m.marks, mark("Guess"))
	m.send(t, http.MethodPost, admin+"/services/s/plugins", map[string]any{
		"name": "key-auth", "config": map[string]any{"unknown": mark("Config")},
	}, token...)
	_, metrics := m.send(t, http.MethodGet, admin+"/metrics", nil, token...)
	answers = append(answers, metrics)
	for _, at := range []string{portal, gateway, admin} {
		m.knock(t, at)
	}
	m.marks = append(m.marks, mark("Config"))
	m.keepsSecrets(t, answers...)
}

func TestAPIManager_keepsTheSecretsOfOtherServices(t *testing.T) {
	m := startMarked(t, "apimanager", nil, "-listen", "127.0.0.1:0", "-kong", "http://"+away, "-gateway-url", "http://"+away,
		"-kong-token", mark("Token"))
	portal := m.listener("(portal)")
	_, ready := m.send(t, http.MethodGet, portal+"/readyz", nil)
	m.knock(t, portal)
	m.keepsSecrets(t, ready)
	for name, arguments := range map[string][]string{
		"a malformed Kong":       {"-kong", "http://user:" + mark("Kong") + "@host:x"},
		"a malformed provider":   {"-idp", "http://user:" + mark("Provider") + "@host:x"},
		"a provider with a user": {"-idp", "http://user:" + mark("Provider") + "@" + away},
		"a short admin token":    {"-admin-token", mark("")[:7]},
	} {
		t.Run(name, func(t *testing.T) {
			m := startMarked(t, "apimanager", nil, append(arguments, "-listen", "127.0.0.1:0", "-gateway-listen", "127.0.0.1:0",
				"-admin-listen", "127.0.0.1:0")...)
			m.marks = append(m.marks, mark("Kong"), mark("Provider"), mark("Short")[3:])
			m.Stop()
			m.requireNone(t)
		})
	}
}

func TestMultilink_keepsItsSecrets(t *testing.T) {
	m := startMarked(t, "multilink", []string{"MULTILINK_TOKEN=" + mark("Token")}, "-listen", "127.0.0.1:0",
		"-role", "server", "-allow", "nothing", "-tap", "tsecrets0")
	at := m.address("listening on ")
	bearer := []string{"Authorization", "Bearer " + mark("Token")}
	m.marks = append(m.marks, mark("Token"))
	var answers []string
	for _, path := range []string{"/metrics", "/readyz", "/status", "/clients", "/"} {
		_, answer := m.send(t, http.MethodGet, at+path, nil, bearer...)
		answers = append(answers, answer)
	}
	m.knock(t, at)
	m.keepsSecrets(t, answers...)
}

func TestEnablers_keepsItsSecrets(t *testing.T) {
	m := startMarked(t, "enablers", []string{"ENABLERS_ENCRYPTION_AUTH_SECRET=" + encryption()},
		"-listen", "127.0.0.1:0", "-mqtt", "127.0.0.1:0", "-modelrepo", "127.0.0.1:0", "-flcollector", "127.0.0.1:0",
		"-flcollector-grpc", "127.0.0.1:0", "-apimanager", "127.0.0.1:0", "-gateway", "127.0.0.1:0", "-gateway-admin", "127.0.0.1:0",
		"-multilink", "127.0.0.1:0", "-multilink-client", "127.0.0.1:0")
	at := m.address("listening on ")
	_, answer := m.send(t, http.MethodGet, at+"/settings", nil)
	m.knock(t, at)
	m.keepsSecrets(t, answer)
	short := startMarked(t, "enablers", nil, "-encryption-auth-secret", mark("Short"))
	require.Equal(t, 1, short.AwaitEnd())
	short.requireNone(t)
}
