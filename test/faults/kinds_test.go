//go:build linux

package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// content returns the bytes of file n: its number in the first line, and then up to some pages
// that follow from it.
func content(n int) []byte {
	random := rand.New(rand.NewPCG(uint64(n), 16))
	made := fmt.Appendf(nil, "%d\n", n)
	for range random.IntN(2000) {
		made = fmt.Appendf(made, "%d\n", random.Uint32())
	}
	return made
}

// foundNumber returns the number of a content, which has to be whole.
func foundNumber(found []byte) (int, error) {
	first, _, _ := bytes.Cut(found, []byte("\n"))
	n, err := strconv.Atoi(string(first))
	if err != nil || !bytes.Equal(found, content(n)) {
		return 0, fmt.Errorf("content that begins with %.20q and has %d bytes is not what was written", found, len(found))
	}
	return n, nil
}

// whole returns an error unless the content at the path is that of file n.
func (c *client) whole(path string, n int) error {
	found, err := c.read(path)
	if err != nil {
		return err
	}
	if got, err := foundNumber(found); err != nil || got != n {
		return fmt.Errorf("GET %s: %d bytes are not file %d: %v", path, len(found), n, err)
	}
	return nil
}

// mapping is that of a channel, with a name that has its number.
func mapping(n int) string {
	text, err := json.Marshal(map[string]string{"name": fmt.Sprintf("mapping-%d", n), "inputFormat": "JSON", "outputFormat": "NTRIPLES",
		"rml": `@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> . @prefix carml: <http://carml.taxonic.com/carml/> .
<http://example.org/m> rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://example.org/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate <http://example.org/p` + strconv.Itoa(n) + `> ; rr:objectMap [ rml:reference "v" ] ] .`})
	if err != nil {
		panic(err) // a map of texts
	}
	return string(text)
}

// channel is one that is stopped, so that it needs no broker, with a password of its own.
func channel(name string, n int) string {
	topic := func(of string) string {
		return fmt.Sprintf(`{"topic": "%s/%s", "brokerType": "MQTT", "mqttSettings": {"protocol": "tcp", "host": "127.0.0.1", "port": 9,
			"clientId": "%[1]s-%s", "user": "user", "password": "password-%[3]d"}}`, name, of, n)
	}
	return fmt.Sprintf(`{"settings": {"channelId": %q, "inputTopicSettings": %s, "outputTopicSettings": %s},
		"status": {"isStopped": true}, "metadata": {"name": "channel-%d", "mapping": %s}}`, name, topic("in"), topic("out"), n, mapping(n))
}

// channels is what the annotator stores.
func channels(c *client) []kind {
	var mu sync.Mutex
	annotations := map[int]string{}
	return []kind{
		{
			name: "channel",
			put: func(n int) error {
				return c.writeJSON(http.MethodPost, "/channels", channel(fmt.Sprintf("c-%d", n), n))
			},
			check: func(n int) error {
				return c.holds(fmt.Sprintf("/channels/c-%d?all=true", n), fmt.Sprintf(`"channel-%d"`, n), fmt.Sprintf(`"c-%d/out"`, n),
					fmt.Sprintf(`"mapping-%d"`, n), fmt.Sprintf(`/p%d`, n))
			},
		},
		{
			name: "mapping", slots: 2,
			put: func(n int) error {
				path := fmt.Sprintf("/channels/slot-%d", n%2)
				err := c.writeJSON(http.MethodPut, path+"/mapping", mapping(n), http.StatusNotFound)
				if err != nil {
					return err
				}
				if _, err := c.read(path); err == nil {
					return nil
				}
				return c.writeJSON(http.MethodPost, "/channels", channel(fmt.Sprintf("slot-%d", n%2), n))
			},
			read: func(slot int) (n int, err error) {
				text, err := c.read(fmt.Sprintf("/channels/slot-%d/mapping", slot))
				if err != nil {
					return 0, err
				}
				var found struct{ Name, RML string }
				if err := json.Unmarshal(text, &found); err != nil {
					return 0, err
				}
				if n, err = strconv.Atoi(strings.TrimPrefix(found.Name, "mapping-")); err != nil {
					return 0, fmt.Errorf("mapping: %s", text)
				}
				if !strings.Contains(found.RML, fmt.Sprintf("/p%d>", n)) {
					return 0, fmt.Errorf("the mapping is not whole: %s", text)
				}
				return n, nil
			},
		},
		{
			name: "annotation",
			put: func(n int) error {
				status, answer, err := c.send(http.MethodPost, "/annotations", "application/json", []byte(mapping(n)))
				if err != nil || status >= 500 {
					return fmt.Errorf("%w: %d %s %v", errNot, status, answer, err)
				}
				if status != http.StatusOK {
					return fmt.Errorf("POST /annotations: %d %s", status, answer)
				}
				mu.Lock()
				defer mu.Unlock()
				annotations[n] = strings.TrimSpace(string(answer))
				return nil
			},
			check: func(n int) error {
				mu.Lock()
				id := annotations[n]
				mu.Unlock()
				if id == "" {
					return nil // a process before this one acknowledged it
				}
				return c.holds("/annotations/"+id+"?all=true", fmt.Sprintf(`mapping-%d"`, n))
			},
		},
	}
}

// models is what the model repository stores.
func models(c *client) []kind {
	version := func(n int) string { return fmt.Sprintf("/space-%d/model/1.%d", n%4, n) }
	version4 := func(slot int) string { return fmt.Sprintf("/slots/model/%d.0", slot) }
	// above makes the namespace and the model.
	above := func(path string) error {
		names := strings.Split(path, "/")
		for depth := 2; depth < len(names); depth++ {
			if err := c.writeJSON(http.MethodPost, strings.Join(names[:depth], "/"), `{}`, http.StatusConflict); err != nil {
				return err
			}
		}
		return nil
	}
	put := func(path string, n int) error {
		if err := above(path); err != nil {
			return err
		}
		body := fmt.Sprintf(`{"metadata": {"number": "%d"}}`, n)
		if err := c.writeJSON(http.MethodPost, path, body, http.StatusConflict); err != nil {
			return err
		}
		return c.writeFile(http.MethodPost, path+"/content?format=x&overwrite=1", "content", content(n))
	}
	return []kind{
		{
			name: "namespace",
			put: func(n int) error {
				return c.writeJSON(http.MethodPost, fmt.Sprintf("/n-%d", n), fmt.Sprintf(`{"metadata": {"number": "%d"}}`, n))
			},
			check: func(n int) error { return c.holds(fmt.Sprintf("/n-%d", n), fmt.Sprintf(`"number":"%d"`, n)) },
		},
		{
			name: "version",
			put:  func(n int) error { return put(version(n), n) },
			check: func(n int) error {
				if err := c.holds(version(n), fmt.Sprintf(`"number":"%d"`, n)); err != nil {
					return err
				}
				return c.whole(version(n)+"/content?format=x", n)
			},
		},
		{
			name: "content", slots: 3,
			put: func(n int) error { return put(version4(n%3), n) },
			read: func(slot int) (int, error) {
				found, err := c.read(version4(slot) + "/content?format=x")
				if err != nil {
					return 0, err
				}
				return foundNumber(found)
			},
		},
	}
}

// trainings is what the collector and the FL repository store.
func trainings(c *client) []kind {
	return []kind{
		{
			name: "job", most: 150,
			put: func(n int) error {
				return c.writeJSON(http.MethodPost, fmt.Sprintf("/job/config/job-%d", n), fmt.Sprintf(`{"strategy": "avg",
					"model_name": "model-%d", "model_version": "1.0", "configuration_id": 1, "server_conf": {"num_rounds": 3, "round_timeout": 60},
					"strategy_conf": {"min_fit_clients": 3, "min_evaluate_clients": 3, "min_available_clients": 3},
					"client_conf": [{"epochs": 5}], "privacy-mechanisms": {}}`, n))
			},
			check: func(n int) error {
				return c.holds(fmt.Sprintf("/job/status/job-%d", n), `"WAITING"`, fmt.Sprintf(`"model-%d"`, n))
			},
		},
		{
			name: "FL model",
			put: func(n int) error {
				body := fmt.Sprintf(`{"model_name": "m", "model_version": "%d", "meta": {"description": "n-%[1]d"}}`, n)
				if err := c.writeJSON(http.MethodPost, "/model", body); err != nil {
					return err
				}
				return c.writeFile(http.MethodPut, fmt.Sprintf("/model/m/%d", n), "file", content(n))
			},
			check: func(n int) error {
				if err := c.holds(fmt.Sprintf("/model/meta?model_name=m&model_version=%d", n), fmt.Sprintf(`"n-%d"`, n)); err != nil {
					return err
				}
				return c.whole(fmt.Sprintf("/model/m/%d", n), n)
			},
		},
		{
			name: "strategy", most: 200,
			put: func(n int) error {
				return c.writeJSON(http.MethodPost, "/strategy", fmt.Sprintf(`{"strategy_name": "s-%d",
					"strategy_description": "strategy number %[1]d", "meta": {"class": "FedAdam", "eta": "0.05"}}`, n))
			},
			check: func(n int) error {
				return c.holds("/strategy", fmt.Sprintf(`"s-%d"`, n), fmt.Sprintf(`"strategy number %d"`, n))
			},
		},
	}
}

// published is what API management stores: what the publisher has, and the configuration of
// the gateway.
func published(portal, admin *client, data string) []kind {
	publisher := portal.signing(data, func() (string, error) { return signIn(portal, data) })
	document := func(n int) []byte {
		return fmt.Appendf(nil, `{"openapi": "3.0.3", "info": {"title": "API %d", "version": "1.0"}, "servers": [{"url": "http://127.0.0.1:9"}],
			"paths": {"/thing-%[1]d": {"get": {"responses": {"200": {"description": "%s"}}}}}}`, n, strings.Repeat("ok ", 1000))
	}
	return []kind{
		{
			name: "API", most: 400,
			put: func(n int) error {
				return publisher.writeFile(http.MethodPost, fmt.Sprintf("/OpenAPIDocumentation/?enabler=api-%d&description=D&path=/a%[1]d", n),
					"upload_file", document(n))
			},
			check: func(n int) error {
				path := fmt.Sprintf("/OpenAPIDocumentation/api-%d/definition", n)
				if err := publisher.holds(path, fmt.Sprintf(`/thing-%d"`, n), "ok ok \""); err != nil {
					return err
				}
				return publisher.holds(fmt.Sprintf("/OpenAPIDocumentation/api-%d", n), `"published"`, fmt.Sprintf(`"API %d"`, n))
			},
		},
		{
			name: "consumer", most: 3000,
			put: func(n int) error {
				return admin.writeJSON(http.MethodPost, "/consumers", fmt.Sprintf(`{"username": "consumer-%d", "custom_id": "id-%[1]d"}`, n))
			},
			check: func(n int) error {
				return admin.holds(fmt.Sprintf("/consumers/consumer-%d", n), fmt.Sprintf(`"id-%d"`, n))
			},
		},
		{
			name: "service", most: 3000,
			put: func(n int) error {
				return admin.writeJSON(http.MethodPost, "/services", fmt.Sprintf(`{"name": "service-%d", "host": "h%[1]d.example.org"}`, n))
			},
			check: func(n int) error {
				return admin.holds(fmt.Sprintf("/services/service-%d", n), fmt.Sprintf(`"h%d.example.org"`, n))
			},
		},
	}
}

// signIn gets a token for a publisher from the identity provider inside.
func signIn(portal *client, data string) (string, error) {
	text, err := os.ReadFile(filepath.Join(data, "credentials.json"))
	if err != nil {
		return "", err
	}
	var credentials map[string]string
	if err := json.Unmarshal(text, &credentials); err != nil {
		return "", err
	}
	form := url.Values{"grant_type": {"password"}, "client_id": {"public-backend-access"}, "username": {"demodeveloper"},
		"password": {credentials["demo_password"]}}
	status, answer, err := portal.send(http.MethodPost, "/auth/realms/OpenAPI/protocol/openid-connect/token",
		"application/x-www-form-urlencoded", []byte(form.Encode()))
	if err != nil {
		return "", err
	}
	var token struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(answer, &token); err != nil || token.AccessToken == "" {
		return "", fmt.Errorf("sign in: %d %.300s", status, answer)
	}
	return token.AccessToken, nil
}

// attached is what a server of multi-link stores.
func attached(c *client, data string) []kind {
	signed := c.signing(data, func() (string, error) {
		token, err := os.ReadFile(filepath.Join(data, "token"))
		return strings.TrimSpace(string(token)), err
	})
	linked := func() error {
		return signed.writeJSON(http.MethodPost, "/interfaces/add", `{"name": "wlan0", "kind": "wifi", "endpoint": "192.0.2.1:51820"}`,
			http.StatusConflict)
	}
	return []kind{
		{
			name: "client", most: 60,
			put: func(n int) error {
				if err := linked(); err != nil {
					return err
				}
				return signed.writeJSON(http.MethodPost, "/tunnel/client/add", fmt.Sprintf(`{"name": "client-%d"}`, n))
			},
			check: func(n int) error { return signed.holds("/tunnel/client/", fmt.Sprintf(`"client-%d"`, n)) },
		},
		{
			name: "bond", slots: 1,
			put: func(n int) error {
				return signed.writeJSON(http.MethodPut, "/bond", fmt.Sprintf(`{"policy": "adaptive", "wait_to_restore_ms": %d}`, 1+n%60000))
			},
			read: func(int) (int, error) {
				text, err := signed.read("/bond")
				if err != nil {
					return 0, err
				}
				var found struct {
					Wait int `json:"wait_to_restore_ms"`
				}
				err = json.Unmarshal(text, &found)
				return found.Wait - 1, err
			},
		},
	}
}
