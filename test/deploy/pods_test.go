package deploy_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
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
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// patience bounds what the tests wait for; it is not a measurement.
const patience = 2 * time.Minute

// allowsNoDevice is a value of MULTILINK_ALLOW with which multi-link changes nothing of this machine.
// It runs, and is not ready.
const allowsNoDevice = "members"

// buildCommands builds the servers and returns their folder.
func buildCommands(t *testing.T, names ...string) string {
	t.Helper()
	if made := os.Getenv("ENABLERS_PROGRAMS"); made != "" { // of the gate, which has all of them
		return made
	}
	folder := t.TempDir()
	args := []string{"build", "-o", folder + "/"}
	for _, name := range names {
		args = append(args, "./cmd/"+name)
	}
	build := exec.CommandContext(t.Context(), "go", args...)
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoErrorf(t, err, "%s", output)
	return folder
}

// flagVariables returns the environment variables that a command has, out of its help.
func flagVariables(t *testing.T, command string) []string {
	t.Helper()
	help, err := exec.CommandContext(t.Context(), command, "-h").Output()
	require.NoError(t, err)
	var names []string
	for _, match := range regexp.MustCompile(`(?m)^      environment ([A-Z0-9_]+)`).FindAllSubmatch(help, -1) {
		names = append(names, string(match[1]))
	}
	require.NotEmpty(t, names)
	return names
}

// isStandard reports whether a variable is one of Go, OpenTelemetry or S3, which help does not list.
func isStandard(name string) bool {
	return name == "GOMEMLIMIT" || strings.HasPrefix(name, "OTEL_") || strings.HasPrefix(name, "AWS_")
}

// process is a server that runs with the environment of a container.
type process struct {
	command *exec.Cmd
	errors  *bytes.Buffer
	ended   chan error

	mu    sync.Mutex
	lines []string
}

// start runs a command with nothing but the environment that is given.
func start(t *testing.T, path string, args []string, env map[string]string) *process {
	t.Helper()
	p := &process{command: exec.Command(path, args...), errors: &bytes.Buffer{}, ended: make(chan error, 1)}
	p.command.Dir = t.TempDir()
	p.command.Env = []string{}
	for name, value := range env {
		p.command.Env = append(p.command.Env, name+"="+value)
	}
	p.command.Stderr = p.errors
	stdout, err := p.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.command.Start())
	go p.read(stdout)
	t.Cleanup(func() { _ = p.command.Process.Kill() })
	return p
}

// read keeps the lines of standard output, and then waits for the end of the process.
func (p *process) read(stdout io.Reader) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, lines.Text())
		p.mu.Unlock()
	}
	p.ended <- p.command.Wait()
}

// output returns the lines of standard output so far.
func (p *process) output() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

// addresses returns what the process listens on so far, by scheme.
func (p *process) addresses() map[string][]string {
	found := map[string][]string{}
	for _, line := range p.output() {
		if match := regexp.MustCompile(`^listening on ([a-z]+)://([^ /]+)( .*)?$`).FindStringSubmatch(line); match != nil {
			found[match[1]] = append(found[match[1]], match[2])
		}
	}
	return found
}

// await waits until done returns nil, and fails when the process ends before.
func (p *process) await(t *testing.T, done func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := done()
		if err == nil {
			return
		}
		select {
		case ended := <-p.ended:
			require.Failf(t, "the process ended", "%v: %v\n%s", ended, err, p.errors)
		case <-time.After(20 * time.Millisecond):
		}
		require.Truef(t, time.Now().Before(deadline), "%v", err)
	}
}

// stop ends the process as Kubernetes does. It has to end without a fault.
func (p *process) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-p.ended:
		require.NoErrorf(t, err, "%s", p.errors)
	case <-time.After(patience):
		require.Fail(t, "the process does not end")
	}
}

// get returns the body of an answer with status 200.
func get(ctx context.Context, url, token string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s: %s: %.200s", url, response.Status, body)
	}
	return string(body), nil
}

// onThisMachine changes the environment of a container so that its command runs as a process beside
// others: files below folder, and listeners of loopback with any port. Each listener has to be a
// port of the container, and each port a listener.
func onThisMachine(t *testing.T, r release, w workload, folder string) map[string]string {
	t.Helper()
	env, elsewhere := r.environment(t, w)
	require.Empty(t, elsewhere)
	ports := map[string]bool{}
	for _, port := range w.pod.Spec.Containers[0].Ports {
		if port.Protocol == corev1.ProtocolTCP {
			ports[fmt.Sprintf(":%d", port.ContainerPort)] = true
		}
	}
	tokens := filepath.Join(folder, "access-tokens")
	require.NoError(t, os.WriteFile(tokens, named[*corev1.Secret](t, r, w.object.GetName()).Data["access-tokens"], 0o600))
	for name, value := range env {
		switch {
		case strings.HasSuffix(name, "_DATA"):
			require.Equal(t, "/data", value)
			env[name] = filepath.Join(folder, "data")
		case strings.HasSuffix(name, "_ACCESS_TOKENS"):
			require.Equal(t, "/etc/enablers/access-tokens", value)
			env[name] = tokens
		case strings.HasSuffix(name, "_LISTEN"):
			require.Truef(t, ports[value], "%s=%s is not a port of the container", name, value)
			delete(ports, value)
			env[name] = "127.0.0.1:0"
		case strings.HasSuffix(name, "_DRAIN_DELAY"):
			env[name] = "10ms"
		}
	}
	require.Empty(t, ports, "ports that no listener has")
	return env
}

// awaitAddress waits until the process listens, and returns the URL of one of its listeners, by the
// order in which it names them.
func (p *process) awaitAddress(t *testing.T, at int) string {
	t.Helper()
	var found []string
	p.await(t, func() error {
		if found = p.addresses()["http"]; len(found) <= at {
			return errors.New("it does not listen")
		}
		return nil
	})
	return "http://" + found[at]
}

func (p *process) awaitProbes(t *testing.T, base string, probes ...*corev1.Probe) {
	t.Helper()
	for _, probe := range probes {
		p.await(t, func() error {
			_, err := get(t.Context(), base+probe.HTTPGet.Path, "")
			return err
		})
	}
}

// runGateways runs an API manager and gateways with the environment of their pods: the gateways
// follow it with the token of its Secret, and are ready without it.
func runGateways(t *testing.T, folder string) {
	t.Helper()
	command := filepath.Join(folder, "apimanager")
	r := mustRender(t, "gateways-that-follow-the-manager")
	pods := r.workloads()
	manager := start(t, command, nil, onThisMachine(t, r, pods["apimanager"], t.TempDir()))
	manager.awaitAddress(t, 2)
	admin := ""
	for _, line := range manager.output() {
		if address, is := strings.CutSuffix(line, " (admin)"); is {
			admin = strings.TrimPrefix(address, "listening on ")
		}
	}
	require.NotEmpty(t, admin)
	var gateways []*process
	for range 2 {
		env := onThisMachine(t, r, pods["gateway"], t.TempDir())
		require.Equal(t, "http://"+named[*corev1.Service](t, r, "edge-enablers-apimanager-admin").Name+"."+namespace+".svc:8101",
			env["APIMANAGER_CONTROL_PLANE"])
		env["APIMANAGER_CONTROL_PLANE"] = admin
		p := start(t, command, nil, env)
		base := p.awaitAddress(t, 1)
		container := pods["gateway"].pod.Spec.Containers[0]
		p.awaitProbes(t, base, container.StartupProbe, container.LivenessProbe, container.ReadinessProbe)
		text, err := get(t.Context(), base+"/metrics", string(named[*corev1.Secret](t, r, "edge-enablers-gateway").Data["reader-token"]))
		require.NoError(t, err)
		require.Contains(t, text, "gateway_control_plane_up 1")
		gateways = append(gateways, p)
	}
	manager.stop(t)
	for _, p := range gateways {
		_, err := get(t.Context(), p.awaitAddress(t, 1)+"/readyz", "")
		require.NoError(t, err, "it serves on")
		p.stop(t)
	}
}

// The servers are built once for all tests that run them.
func TestCommands(t *testing.T) {
	t.Parallel()
	folder := buildCommands(t, "annotator", "modelrepo", "flcollector", "apimanager", "multilink", "enablers")
	t.Run("variables of the chart", func(t *testing.T) { t.Parallel(); checkVariables(t, folder) })
	t.Run("pods", func(t *testing.T) { t.Parallel(); runPods(t, folder) })
	t.Run("gateways", func(t *testing.T) { t.Parallel(); runGateways(t, folder) })
	t.Run("compose", func(t *testing.T) { t.Parallel(); runServices(t, folder) })
	t.Run("metrics", func(t *testing.T) { t.Parallel(); checkMetrics(t, folder) })
}

// checkVariables has every variable of every set of values be one that the command has: others have
// no effect.
func checkVariables(t *testing.T, folder string) {
	t.Helper()
	known := map[string][]string{}
	for block := range blocks() {
		known[block] = flagVariables(t, filepath.Join(folder, blockCommand(block)))
	}
	files, err := filepath.Glob("testdata/values/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		r := mustRender(t, strings.TrimSuffix(filepath.Base(file), ".yaml"))
		for block, w := range r.workloads() {
			env, elsewhere := r.environment(t, w)
			for name := range elsewhere {
				env[name] = ""
			}
			for name := range env {
				require.Truef(t, isStandard(name) || slices.Contains(known[block], name), "%s: %s has no variable %s", file, block, name)
			}
		}
	}
}

// runPods runs the commands with the arguments and the environment of the rendered pods. They answer
// the probes, and give their metrics to the token of the Secret. What needs a database is not run
// here, and multi-link without its device.
func runPods(t *testing.T, folder string) {
	t.Helper()
	for _, file := range []string{"defaults", "only-collector-with-neighbours", "collector-inside-the-cluster",
		"annotator-brokers-and-secret", "traces-and-own-images", "scheduling-and-names", "ingress-with-tls",
		"multilink-server-on-the-host"} {
		r := mustRender(t, file)
		for block, w := range r.workloads() {
			t.Run(file+"/"+block, func(t *testing.T) {
				t.Parallel()
				runPod(t, r, w, filepath.Join(folder, block))
			})
		}
	}
}

func runPod(t *testing.T, r release, w workload, command string) {
	t.Helper()
	container := w.pod.Spec.Containers[0]
	env := onThisMachine(t, r, w, t.TempDir())
	probes := []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe}
	if w.block == "multilink" {
		env["MULTILINK_ALLOW"], probes = allowsNoDevice, probes[:2]
	}
	p := start(t, command, container.Args, env)
	base := p.awaitAddress(t, 0)
	p.awaitProbes(t, base, probes...)
	_, err := get(t.Context(), base+"/metrics", "")
	require.ErrorContains(t, err, "401")
	text, err := get(t.Context(), base+"/metrics", string(named[*corev1.Secret](t, r, w.object.GetName()).Data["reader-token"]))
	require.NoError(t, err)
	require.Contains(t, text, "process_start_time_seconds")
	lines := strings.Join(p.output(), "\n")
	for key, value := range named[*corev1.Secret](t, r, w.object.GetName()).Data {
		require.NotContainsf(t, lines, string(value), "%s in the output", key)
	}
	if w.block == "flcollector" {
		grpc := p.addresses()["grpc"]
		require.NotEmpty(t, grpc)
		connection, err := net.Dial("tcp", grpc[0])
		require.NoError(t, err)
		require.NoError(t, connection.Close())
	}
	p.stop(t)
}
