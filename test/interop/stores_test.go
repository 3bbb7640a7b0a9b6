package interop_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/sparql"
	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// store is a SPARQL store as a process, which can be killed and started again with its data.
type store struct {
	t                     *testing.T
	base                  string
	query, update, graphs string // addresses of the endpoints
	command               func() *exec.Cmd
	process               *interop.Process
}

// startOxigraph starts Oxigraph, of the package of PyPI, over an empty folder.
func startOxigraph(t *testing.T) *store {
	python := peertest.Python(t, "oxigraph==0.5.13")
	address, folder := peertest.ReservedAddress(t).String(), t.TempDir()
	s := &store{t: t, base: "http://" + address, command: func() *exec.Cmd {
		return exec.Command(filepath.Join(filepath.Dir(python), "oxigraph"), "serve", "--location", folder, "--bind", address)
	}}
	s.query, s.update, s.graphs = s.base+"/query", s.base+"/update", s.base+"/store"
	s.start()
	return s
}

// startFuseki starts Apache Jena Fuseki, of Maven Central, with a dataset in memory.
func startFuseki(t *testing.T) *store {
	jars := peertest.Jars(t, "org.apache.jena:jena-fuseki-main:5.2.0", "org.slf4j:slf4j-nop:2.0.16")
	address := peertest.ReservedAddress(t)
	s := &store{t: t, base: "http://" + address.String(), command: func() *exec.Cmd {
		return exec.Command("java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-Dlog4j.configurationFile=none", "-cp", jars,
			"org.apache.jena.fuseki.main.cmds.FusekiMainCmd", fmt.Sprint("--port=", address.Port()), "--localhost", "--mem", "/ds")
	}}
	s.query, s.update, s.graphs = s.base+"/ds/query", s.base+"/ds/update", s.base+"/ds/data"
	s.start()
	return s
}

// endpoint returns the address for a protocol of sparql.Settings.
func (s *store) endpoint(protocol string) string {
	if protocol == sparql.GraphStore {
		return s.graphs
	}
	return s.update
}

func (s *store) start() {
	s.process = interop.StartProcess(s.t, s.command())
	require.Eventually(s.t, func() bool {
		request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.base+"/", http.NoBody)
		require.NoError(s.t, err)
		answer, err := http.DefaultClient.Do(request)
		return err == nil && answer.Body.Close() == nil
	}, patience, 10*time.Millisecond, "the store answers")
}

// restart kills the store and starts it again.
func (s *store) restart() {
	s.process.Kill()
	s.start()
}

// ask returns the answer to a query in a media type.
func (s *store) ask(query, accept string) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.query+"?query="+url.QueryEscape(query), http.NoBody)
	require.NoError(s.t, err)
	request.Header.Set("Accept", accept)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, answer.StatusCode, "%s", text)
	return string(text)
}

// count returns the number that a query selects as ?n.
func (s *store) count(query string) int {
	s.t.Helper()
	lines := strings.Fields(s.ask(query, "text/csv"))
	require.Len(s.t, lines, 2)
	n, err := strconv.Atoi(lines[1])
	require.NoError(s.t, err)
	return n
}
