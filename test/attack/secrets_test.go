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
	t.Parallel()
	m := startMarked(t, named("annotator"), []string{"ANNOTATOR_ENCRYPTION_AUTH_SECRET=" + encryption()})
	at := m.anyListener()
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
		answers = append(answers, sendJSON(t, "POST "+at+"/channels", "", c).body)
	}
	m.marks = append(m.marks, mark("User"), mark("Password"))
	for _, path := range []string{"/channels", "/settings", "/status", "/metrics"} {
		answers = append(answers, send(t, "GET "+at+path, "", "").body)
	}
	m.knock(t, at)
	m.keepsSecrets(t, answers...)
}

func TestAnnotator_keepsTheSecretsOfSettings(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string][]string{
		"an encryption secret of another length": {"-encryption-auth-secret", mark("Short")},
		"a connection string that is malformed":  {"-db-uri", "mongodb://user:" + mark("URI") + "@host:port/x"},
		"a connection string with a slash":       {"-db-uri", "mongodb://user:pass/" + mark("Slash") + "@127.0.0.1:1/"},
		"a connection string of another scheme":  {"-db-uri", "postgres://user:" + mark("Scheme") + "@127.0.0.1/"},
		"a password without a user":              {"-db-password", mark("NoUser")},
		"an unknown option":                      {"-db-uri", "mongodb://user:" + mark("Option") + "@127.0.0.1:1/?authMechanism=none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runMarked(t, named("annotator"), nil, arguments...).requireRefused(t)
		})
	}
	t.Run("a database that is away", func(t *testing.T) {
		address := "mongodb://" + mark("Name") + ":" + mark("URI") + "@" + away + "/?tls=true"
		m := startMarked(t, named("annotator"), []string{"DB_URI=" + address}, "-db-timeout", "100ms")
		at := m.anyListener()
		answers := []string{send(t, "GET "+at+"/settings", "", "").body, send(t, "GET "+at+"/readyz", "", "").body}
		m.knock(t, at)
		m.keepsSecrets(t, answers...)
	})
}

func TestModelrepo_keepsTheSecretsOfSettings(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string][]string{
		"a connection string that is malformed": {"-store", "mongodb://user:" + mark("URI") + "@host:port/x"},
		"a connection string with a slash":      {"-store", "mongodb://user:pass/" + mark("Slash") + "@127.0.0.1:1/"},
		"another scheme":                        {"-store", "postgres://user:" + mark("Scheme") + "@127.0.0.1/"},
		"a bucket without a name":               {"-store", "mongodb://" + away, "-blobs", "s3://key:" + mark("Key") + "@" + away},
		"a bucket with a bad port":              {"-store", "mongodb://" + away, "-blobs", "s3://key:" + mark("Port") + "@127.0.0.1:x/b"},
		"a bucket of another scheme":            {"-store", "mongodb://" + away, "-blobs", "ftp://key:" + mark("Other") + "@127.0.0.1/b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runMarked(t, named("modelrepo"), nil, arguments...).requireRefused(t)
		})
	}
	t.Run("stores that are away", func(t *testing.T) {
		m := startMarked(t, named("modelrepo"), nil, "-store-timeout", "100ms",
			"-store", "mongodb://user:"+mark("URI")+"@"+away, "-blobs", "s3://key:"+mark("Key")+"@"+away+"/bucket?insecure=true")
		at := m.anyListener()
		ready := send(t, "GET "+at+"/readyz", "", "").body
		m.knock(t, at)
		m.keepsSecrets(t, ready)
	})
}

func TestModelrepo_keepsTheSecretsOfWebhooks(t *testing.T) {
	t.Parallel()
	m := startMarked(t, named("modelrepo"), nil, "-webhooks-private")
	at := m.anyListener()
	hook := func(callback string) answer {
		return sendJSON(t, "POST "+at+"/h", "", map[string]any{
			"action": "model_create", "callback": callback, "context": map[string]any{"namespace": "name"},
		})
	}
	refusal := hook("http://user:" + mark("User") + "@" + away + "/hook")
	require.Equal(t, http.StatusBadRequest, refusal.status)
	a := hook("http://" + away + "/hook?token=" + mark("Callback"))
	require.Equal(t, http.StatusOK, a.status, a.body)
	var created struct{ Secret string }
	require.NoError(t, json.Unmarshal([]byte(a.body), &created))
	require.NotEmpty(t, created.Secret)
	m.marks = append(m.marks, created.Secret, mark("User"), mark("Callback"))
	send(t, "POST "+at+"/name", "", "")
	a = send(t, "POST "+at+"/name/model", "", "")
	require.Equal(t, http.StatusOK, a.status, a.body)
	m.awaitOutput(t, "a callback failed")
	m.knock(t, at)
	metrics := send(t, "GET "+at+"/metrics", "", "").body
	m.keepsSecrets(t, metrics, refusal.body)
}

func TestFLCollector_keepsTheSecretsOfSettings(t *testing.T) {
	t.Parallel()
	m := startMarked(t, named("flcollector"), nil,
		"-repository-address", "http://user:"+mark("Repository")+"@"+away,
		"-orchestrator-address", "http://user:"+mark("Orchestrator")+"@"+away)
	at := m.anyListener()
	a := sendJSON(t, "POST "+at+"/job/config/7", "", readExample(t, at, "/job/config/{id}", "post"))
	require.Equal(t, http.StatusOK, a.status, a.body)
	answers := []string{a.body}
	send(t, "POST "+at+"/job/stop", "", "")
	for _, path := range []string{"/jobs", "/job/status/7", "/readyz", "/metrics", "/", "/live/7"} {
		answers = append(answers, send(t, "GET "+at+path, "", "").body)
	}
	m.knock(t, at)
	m.keepsSecrets(t, answers...)
	for name, address := range map[string]string{
		"a bad port": "http://user:" + mark("Port") + "@host:x", "another scheme": "ftp://user:" + mark("Scheme") + "@host",
	} {
		t.Run(name, func(t *testing.T) {
			for _, flag := range []string{"-repository-address", "-orchestrator-address"} {
				runMarked(t, named("flcollector"), nil, flag, address).requireRefused(t)
			}
		})
	}
}

func TestAPIManager_keepsItsSecrets(t *testing.T) {
	t.Parallel()
	m := startMarked(t, named("apimanager"), nil,
		"-admin-token", mark("Admin"), "-client-secret", mark("Client"), "-demo-password", mark("Demo"))
	portal, admin, gateway := m.at["portal"], m.at["admin"], m.at["gateway"]
	token := "Kong-Admin-Token: " + mark("Admin")
	post := func(path string, body map[string]any) {
		a := sendJSON(t, "POST "+admin+path, mark("Admin"), body, token)
		require.Equal(t, http.StatusCreated, a.status, a.body)
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
		for _, call := range [][]string{{"/s?apikey=" + key}, {"/s", "Apikey: " + key}} {
			answers = append(answers, send(t, "GET "+gateway+call[0], "", "", call[1:]...).body)
		}
	}
	m.marks = append(m.marks, mark("Guess"))
	sendJSON(t, "POST "+admin+"/services/s/plugins", mark("Admin"), map[string]any{
		"name": "key-auth", "config": map[string]any{"unknown": mark("Config")},
	}, token)
	metrics := send(t, "GET "+admin+"/metrics", mark("Admin"), "", token).body
	answers = append(answers, metrics)
	for _, at := range []string{portal, gateway, admin} {
		m.knock(t, at)
	}
	m.marks = append(m.marks, mark("Config"))
	m.keepsSecrets(t, answers...)
}

func TestAPIManager_keepsTheSecretsOfOtherServices(t *testing.T) {
	t.Parallel()
	c := named("apimanager")
	c.listeners = []string{"portal"} // for the gateway is another service
	m := startMarked(t, c, nil, "-kong", "http://"+away, "-gateway-url", "http://"+away, "-kong-token", mark("Token"))
	portal := m.at["portal"]
	ready := send(t, "GET "+portal+"/readyz", "", "").body
	m.knock(t, portal)
	m.keepsSecrets(t, ready)
	for name, arguments := range map[string][]string{
		"a malformed Kong":       {"-kong", "http://user:" + mark("Kong") + "@host:x"},
		"a malformed provider":   {"-idp", "http://user:" + mark("Provider") + "@host:x"},
		"a provider with a user": {"-idp", "http://user:" + mark("Provider") + "@" + away},
		"a short admin token":    {"-admin-token", mark("")[:7]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runMarked(t, named("apimanager"), nil, arguments...).requireRefused(t)
		})
	}
}

func TestMultilink_keepsItsSecrets(t *testing.T) {
	t.Parallel()
	m := startMarked(t, named("multilink"), []string{"MULTILINK_TOKEN=" + mark("Token")})
	at := m.anyListener()
	m.marks = append(m.marks, mark("Token"))
	var answers []string
	for _, path := range []string{"/metrics", "/readyz", "/status", "/clients", "/"} {
		answers = append(answers, send(t, "GET "+at+path, mark("Token"), "").body)
	}
	m.knock(t, at)
	m.keepsSecrets(t, answers...)
}

func TestEnablers_keepsItsSecrets(t *testing.T) {
	t.Parallel()
	m := startMarked(t, named("enablers"), []string{"ENABLERS_ENCRYPTION_AUTH_SECRET=" + encryption()})
	at := m.anyListener()
	answer := send(t, "GET "+at+"/settings", "", "").body
	m.knock(t, at)
	m.keepsSecrets(t, answer)
	runMarked(t, named("enablers"), nil, "-encryption-auth-secret", mark("Short")).requireRefused(t)
}
