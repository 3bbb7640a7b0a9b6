package deploy_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
)

const (
	readerToken = "reader-0123456789abcdef"
	adminToken  = "admin-0123456789abcdef"
)

// checkMetrics has each metric of dashboards and alerts be one that a server has: the demonstration
// has those of all blocks, and each command those of its requests and its version.
func checkMetrics(t *testing.T, folder string) {
	t.Helper()
	want := map[string]string{} // what names it
	for name, d := range loadDashboards(t) {
		for _, query := range panelQueries(t, d) {
			for _, metric := range queryMetrics(t, query) {
				want[metric] = "dashboard " + name
			}
		}
	}
	text, err := os.ReadFile(alertsFile)
	require.NoError(t, err)
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}), promslog.NewNopLogger())
	require.Empty(t, errs)
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			for _, metric := range queryMetrics(t, rule.Expr) {
				want[metric] = "alert " + rule.Alert
			}
		}
	}
	delete(want, "up") // Prometheus' own
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("reader reader "+readerToken+"\nadmin admin "+adminToken+"\n"), 0o600))

	for _, command := range []string{"annotator", "modelrepo", "flcollector", "apimanager", "multilink"} {
		has := metricsOfCommand(t, folder, command, tokens)
		for metric, by := range want {
			if isCommon(metric) || metric == command+"_build_info" {
				require.Truef(t, has[metric], "%s: %s has no metric %s", by, command, metric)
			}
		}
	}
	for metric := range want { // each command has its own, and the demonstration that of enablers
		if strings.HasSuffix(metric, "_build_info") {
			delete(want, metric)
		}
	}
	demonstration(t, folder, tokens, want)
}

// isCommon reports whether all servers have a metric.
func isCommon(metric string) bool {
	return strings.HasPrefix(metric, "http_") || strings.HasPrefix(metric, "go_") || strings.HasPrefix(metric, "process_")
}

// metricsOfCommand returns the names of a command's metrics.
func metricsOfCommand(t *testing.T, folder, command, tokens string) map[string]bool {
	t.Helper()
	prefix := strings.ToUpper(command)
	p := start(t, filepath.Join(folder, command), nil, map[string]string{
		prefix + "_DATA": t.TempDir(), prefix + "_ACCESS": "token", prefix + "_ACCESS_TOKENS": tokens, prefix + "_LISTEN": "127.0.0.1:0",
		"FLCOLLECTOR_GRPC_LISTEN": "127.0.0.1:0", "FLCOLLECTOR_FLEET": "127.0.0.1:0",
		"APIMANAGER_GATEWAY_LISTEN": "127.0.0.1:0", "APIMANAGER_ADMIN_LISTEN": "127.0.0.1:0",
		"MULTILINK_ROLE": "server", "MULTILINK_ALLOW": allowsNoDevice,
	})
	has := map[string]bool{}
	p.await(t, func() error {
		found := p.addresses()["http"]
		if len(found) == 0 {
			return errors.New("it does not listen")
		}
		_, err := get(t.Context(), "http://"+found[0]+"/healthz", "")
		return errors.Join(err, addMetrics(t, "http://"+found[0], has))
	})
	require.NoError(t, addMetrics(t, "http://"+p.addresses()["http"][0], has), "with the requests before")
	p.stop(t)
	return has
}

// addMetrics adds the names of the metrics that a server has.
func addMetrics(t *testing.T, base string, to map[string]bool) error {
	t.Helper()
	text, err := get(t.Context(), base+"/metrics", readerToken)
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)`).FindAllStringSubmatch(text, -1) {
		to[match[1]] = true
	}
	return err
}

// demonstration runs all blocks with enablers -demo, and a channel of Kafka, until there is each
// metric that is wanted.
func demonstration(t *testing.T, folder, tokens string, want map[string]string) {
	t.Helper()
	args := []string{"-demo", "-access", "token", "-access-tokens", tokens, "-data", t.TempDir()}
	for _, listener := range []string{"listen", "mqtt", "modelrepo", "flcollector", "flcollector-grpc", "flcollector-fleet", "apimanager",
		"gateway", "gateway-admin", "multilink", "multilink-client"} {
		args = append(args, "-"+listener, "127.0.0.1:0")
	}
	p := start(t, filepath.Join(folder, "enablers"), args, nil)
	p.await(t, func() error {
		if len(p.addresses()["http"]) < 8 {
			return errors.New("it does not listen")
		}
		return nil
	})
	kafkaChannel(t, "http://"+p.addresses()["http"][0])
	has := map[string]bool{}
	p.await(t, func() error {
		for _, address := range p.addresses()["http"] {
			_ = addMetrics(t, "http://"+address, has) // the gateway has no metrics at its own address
		}
		for metric, by := range want {
			if !has[metric] {
				return fmt.Errorf("%s: no block has a metric %s", by, metric)
			}
		}
		return nil
	})
	p.stop(t)
}

// kafkaChannel creates a channel whose input is a topic of Kafka.
func kafkaChannel(t *testing.T, base string) {
	t.Helper()
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "in", "out"))
	require.NoError(t, err)
	t.Cleanup(broker.Close)
	host, port, found := strings.Cut(broker.ListenAddrs()[0], ":")
	require.True(t, found)
	topic := func(name string) string {
		return fmt.Sprintf(`{"topic": %q, "brokerType": "KAFKA", "kafkaSettings": {"host": %q, "port": %s}}`, name, host, port)
	}
	body := fmt.Sprintf(`{"metadata": {"mapping": {"inputFormat": "JSON", "outputFormat": "TTL", "rml": %q}},
		"settings": {"channelId": "kafka", "inputTopicSettings": %s, "outputTopicSettings": %s}}`,
		`@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
<#m> a rr:TriplesMap ;
	rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
	rr:subjectMap [ rr:template "http://example.com/{key}" ] ;
	rr:predicateObjectMap [ rr:predicate <http://example.com/p> ; rr:objectMap [ rml:reference "key" ] ] .
`, topic("in"), topic("out"))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/channels", strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+adminToken)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}
