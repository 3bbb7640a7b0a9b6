package attack_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
	"github.com/iotenablers/enablers/examples/weather"
	"github.com/iotenablers/enablers/test/interop"
)

// outboundPatience ends a test that hangs.
const outboundPatience = 2 * time.Minute

// outboundPrograms has a function for each command that builds it once.
var outboundPrograms sync.Map

// caller is a server that an attacker has connect to places of their choice.
type caller struct {
	*interop.Process
	lines []string // "listening on" ones
}

// startCaller starts a command and waits until it has written where each of its listeners
// is.
func startCaller(t *testing.T, name string, listeners int, environment []string, arguments ...string) *caller {
	t.Helper()
	build, _ := outboundPrograms.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		folder, err := os.MkdirTemp("", "attack-outbound-") // for all tests of the binary
		if err != nil {
			return "", err
		}
		return interop.BuildIn(folder, name)
	}))
	program, err := build.(func() (string, error))()
	require.NoError(t, err)
	t.Cleanup(func() { // the next test that needs it builds it again
		outboundPrograms.Delete(name)
		_ = os.RemoveAll(filepath.Dir(program))
	})
	dir := t.TempDir()
	command := exec.Command(program, append([]string{"-data", filepath.Join(dir, "data")}, arguments...)...)
	command.Dir, command.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, environment...)
	c := &caller{Process: interop.StartProcess(t, command)}
	address := regexp.MustCompile(`(?m)^listening on (https?://\S+?)/?(?: .*)?$`)
	require.Eventually(t, func() bool {
		c.lines = nil
		for _, line := range address.FindAllStringSubmatch(c.Output(), -1) {
			c.lines = append(c.lines, line[1])
		}
		return len(c.lines) >= listeners
	}, outboundPatience, 10*time.Millisecond, "%s does not listen", name)
	return c
}

func (c *caller) awaitOutput(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(c.Output(), text) }, outboundPatience, 10*time.Millisecond, text)
}

// exchange sends a JSON document, if there is one, and returns the answer.
func exchange(t *testing.T, method, address string, document any, fields ...string) (int, string) {
	t.Helper()
	var body io.Reader
	switch given := document.(type) {
	case nil:
	case *bytes.Buffer:
		body = given
	default:
		data, err := json.Marshal(document)
		require.NoError(t, err)
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, address, body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(fields); i += 2 {
		request.Header.Set(fields[i], fields[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// inside is a service of the network that an attacker must not reach. It counts
// connections and answers each with the same bytes, until the other side hangs up.
type inside struct {
	host    string
	port    int
	reached atomic.Int32
}

func newInside(t *testing.T, answer []byte) *inside {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &inside{host: "127.0.0.1", port: listener.Addr().(*net.TCPAddr).Port}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.reached.Add(1)
			work.Go(func() {
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(outboundPatience)) // a server that waits fails the test
				reader := bufio.NewReader(conn)
				if _, err := reader.Peek(1); err != nil {
					return
				}
				_, _ = conn.Write(answer)
				_, _ = io.Copy(io.Discard, reader)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		work.Wait()
	})
	return s
}

const webAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Type: text/plain\r\n\r\ninside"

// spellings are ways to write the address of a service on this machine, and others that
// no caller may reach.
func (s *inside) spellings() []string {
	return []string{
		fmt.Sprintf("127.0.0.1:%d", s.port), fmt.Sprintf("localhost:%d", s.port), fmt.Sprintf("[::ffff:127.0.0.1]:%d", s.port),
		fmt.Sprintf("[::1]:%d", s.port), fmt.Sprintf("0.0.0.0:%d", s.port), fmt.Sprintf("2130706433:%d", s.port),
		fmt.Sprintf("0x7f.1:%d", s.port), fmt.Sprintf("127.1:%d", s.port), fmt.Sprintf("localhost.:%d", s.port),
		"169.254.169.254", "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16",
	}
}

func TestOutbound_webhooks_callNothingInside(t *testing.T) {
	target, proxy := newInside(t, []byte(webAnswer)), newInside(t, []byte(webAnswer))
	through := fmt.Sprintf("http://127.0.0.1:%d", proxy.port)
	repository := startCaller(t, "modelrepo", 1,
		[]string{"HTTP_PROXY=" + through, "HTTPS_PROXY=" + through, "http_proxy=" + through, "ALL_PROXY=" + through}, "-listen", "127.0.0.1:0")
	hooks := map[string]string{}
	for _, host := range append(target.spellings(), "inside.attack.invalid") { // which a proxy would resolve
		if id := repository.hook(t, "http://"+host+"/latest/meta-data/"); id != "" {
			hooks[host] = id
		}
	}
	require.Contains(t, hooks, fmt.Sprintf("127.0.0.1:%d", target.port))
	require.Contains(t, hooks, fmt.Sprintf("localhost:%d", target.port), "a name that leads inside")
	status, body := exchange(t, "POST", repository.lines[0]+"/w3c", nil)
	require.Less(t, status, 300, body)
	for _, id := range hooks {
		repository.awaitOutput(t, `a callback failed, it is called again" webhook=`+id)
	}
	for _, address := range []string{"127.0.0.1", "169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"} {
		require.Contains(t, repository.Output(), "address refused: "+address+" is not public")
	}
	require.Zero(t, target.reached.Load())
	require.Zero(t, proxy.reached.Load(), "a proxy of the environment would connect in place of the guard")
}

// hook has the repository call a URL when a namespace is made. It returns the identifier, or
// nothing if the URL is refused.
func (c *caller) hook(t *testing.T, callback string) string {
	t.Helper()
	status, body := exchange(t, "POST", c.lines[0]+"/h", map[string]any{"action": "namespace_create", "callback": callback})
	if status == http.StatusBadRequest {
		return ""
	}
	require.Equal(t, http.StatusOK, status, body)
	var made struct{ Handle string }
	require.NoError(t, json.Unmarshal([]byte(body), &made))
	require.NotEmpty(t, made.Handle, body)
	return made.Handle
}

func TestOutbound_webhooks_followNoRedirect(t *testing.T) {
	target := newInside(t, []byte(webAnswer))
	var called atomic.Int32
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called.Add(1)
		http.Redirect(w, r, fmt.Sprintf("http://127.0.0.1:%d/", target.port), http.StatusTemporaryRedirect)
	}))
	defer redirecting.Close()
	repository := startCaller(t, "modelrepo", 1, nil, "-listen", "127.0.0.1:0", "-webhooks-private")
	id := repository.hook(t, redirecting.URL)
	status, body := exchange(t, "POST", repository.lines[0]+"/w3c", nil)
	require.Less(t, status, 300, body)
	repository.awaitOutput(t, `a callback failed, it is called again" webhook=`+id)
	require.Contains(t, repository.Output(), "status 307")
	require.Positive(t, called.Load())
	require.Zero(t, target.reached.Load())
}

func TestOutbound_upstreams_areNothingInside(t *testing.T) {
	target, proxy := newInside(t, []byte(webAnswer)), newInside(t, []byte(webAnswer))
	through := fmt.Sprintf("http://127.0.0.1:%d", proxy.port)
	environment := []string{"HTTP_PROXY=" + through, "http_proxy=" + through, "APIMANAGER_DEMO_PASSWORD=password for tests"}
	apis := startCaller(t, "apimanager", 4, environment,
		"-listen", "127.0.0.1:0", "-gateway-listen", "127.0.0.1:0", "-admin-listen", "127.0.0.1:0", "-private-upstreams=false")
	portal, front, admin, idp := apis.lines[0], apis.lines[1], apis.lines[2], apis.lines[3]
	status, body := exchange(t, "POST", idp+"/realms/OpenAPI/protocol/openid-connect/token",
		bytes.NewBufferString("grant_type=password&client_id=public-backend-access&username=demodeveloper&password=password+for+tests"),
		"Content-Type", "application/x-www-form-urlencoded")
	require.Equal(t, http.StatusOK, status, body)
	var tokens struct {
		Access string `json:"access_token"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &tokens))

	for i, host := range target.spellings() {
		// Through a definition, which users publish.
		var form bytes.Buffer
		parts := multipart.NewWriter(&form)
		file, err := parts.CreateFormFile("upload_file", "api.json")
		require.NoError(t, err)
		fmt.Fprintf(file, `{"openapi": "3.0.3", "info": {"title": "Inside", "version": "1.0"}, "servers": [{"url": "http://%s/"}],
			"paths": {"/x": {"get": {"responses": {"200": {"description": "ok"}}}}}}`, host)
		require.NoError(t, parts.Close())
		address := fmt.Sprintf("%s/OpenAPIDocumentation/?enabler=e%d&description=x", portal, i)
		status, body = exchange(t, "POST", address, &form, "Content-Type", parts.FormDataContentType(), "Authorization", "Bearer "+tokens.Access)
		require.GreaterOrEqual(t, status, 400, "%s was published", host)
		require.Less(t, status, 500, body)

		// Through the gateway's admin API, whose hosts are checked when the gateway connects.
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			name, port = strings.Trim(host, "[]"), "80"
		}
		number, err := strconv.Atoi(port)
		require.NoError(t, err)
		service := fmt.Sprintf("inside-%d", i)
		status, body = exchange(t, "POST", admin+"/services", map[string]any{"name": service, "host": name, "port": number, "retries": 0,
			"connect_timeout": 2000})
		if status == http.StatusBadRequest {
			continue
		}
		require.Equal(t, http.StatusCreated, status, body)
		status, body = exchange(t, "POST", admin+"/services/"+service+"/routes", map[string]any{"paths": []string{"/" + service}})
		require.Equal(t, http.StatusCreated, status, body)
		status, body = exchange(t, "GET", front+"/"+service, nil)
		require.GreaterOrEqual(t, status, 500, "%s: %s", host, body)
		require.NotContains(t, body, "inside\n")
	}
	require.Zero(t, target.reached.Load())
	require.Zero(t, proxy.reached.Load())
}

// brokerCallers are the commands that run channels, with the variable of the list.
var brokerCallers = map[string]struct {
	variable  string
	arguments []string
}{
	"annotator": {"ANNOTATOR_BROKER_HOSTS", []string{"-listen", "127.0.0.1:0"}},
	"enablers": {"ENABLERS_BROKER_HOSTS", []string{"-listen", "127.0.0.1:0", "-mqtt", "127.0.0.1:0", "-modelrepo", "127.0.0.1:0",
		"-flcollector", "127.0.0.1:0", "-flcollector-grpc", "127.0.0.1:0", "-apimanager", "127.0.0.1:0", "-gateway", "127.0.0.1:0",
		"-gateway-admin", "127.0.0.1:0", "-multilink", "127.0.0.1:0", "-multilink-client", "127.0.0.1:0"}},
}

// outboundTopic is a topic at a broker, in the form of the REST interface.
func outboundTopic(kind, host string, port int) map[string]any {
	topic := map[string]any{"topic": "attack", "brokerType": kind}
	switch kind {
	case "MQTT":
		topic["mqttSettings"] = map[string]any{"protocol": "tcp", "host": host, "port": port}
	case "KAFKA":
		topic["kafkaSettings"] = map[string]any{"host": host, "port": port}
	}
	return topic
}

// outboundChannel is a channel with an input and an output, and one further topic.
func outboundChannel(id string, input, output map[string]any, role string, further map[string]any) map[string]any {
	settings := map[string]any{"channelId": id, "inputTopicSettings": input, "outputTopicSettings": output}
	if role != "" {
		settings[role] = further
	}
	return map[string]any{"settings": settings, "metadata": map[string]any{"mapping": map[string]any{
		"inputFormat": "JSON", "outputFormat": "TTL", "rml": weather.JSONMapping(),
	}}}
}

func TestOutbound_channels_useNoBrokerOffTheList(t *testing.T) {
	for name, c := range brokerCallers {
		t.Run(name, func(t *testing.T) {
			open := newInside(t, []byte(webAnswer))
			closed := closedPort(t)
			server := startCaller(t, name, 1, []string{c.variable + "=mqtt.example.org,kafka.example.org:9092"}, c.arguments...)
			allowed := outboundTopic("MQTT", "mqtt.example.org", 1883)
			var answers []string
			for _, kind := range []string{"MQTT", "KAFKA"} {
				for _, host := range []string{"127.0.0.1", "localhost", "::1", "2130706433", "0x7f.1", "169.254.169.254", "absent.attack.invalid"} {
					for _, port := range []int{open.port, closed} {
						off := outboundTopic(kind, host, port)
						for role, channel := range map[string]map[string]any{
							"input": outboundChannel("a", off, allowed, "", nil), "output": outboundChannel("a", allowed, off, "", nil),
							"error":          outboundChannel("a", allowed, allowed, "errorTopicSettings", off),
							"monitor input":  outboundChannel("a", allowed, allowed, "monitorInputTopicSettings", off),
							"monitor output": outboundChannel("a", allowed, allowed, "monitorOutputTopicSettings", off),
						} {
							status, body := exchange(t, "POST", server.lines[0]+"/channels", channel)
							require.Equal(t, http.StatusBadRequest, status, "%s at %s: %s", role, host, body)
							require.Contains(t, body, "-broker-hosts ("+c.variable+")")
							if role == "input" && host == "127.0.0.1" {
								answers = append(answers, strings.ReplaceAll(body, strconv.Itoa(port), "PORT"))
							}
						}
					}
				}
			}
			require.Equal(t, answers[0], answers[1], "the answer tells nothing of what listens")
			require.Equal(t, answers[2], answers[3])
			require.Zero(t, open.reached.Load())
			_, body := exchange(t, "GET", server.lines[0]+"/channels", nil)
			require.JSONEq(t, "{}", body)
		})
	}
}

// closedPort returns a port at which nothing listens.
func closedPort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().(*net.TCPAddr).Port
}

// A cluster on the list names a broker that is not.
func TestOutbound_channels_followNoClusterOffTheList(t *testing.T) {
	cluster := kafkatest.Embedded(t, kfake.SeedTopics(1, "attack"))
	server := startCaller(t, "annotator", 1, nil, "-listen", "127.0.0.1:0", "-broker-hosts", fmt.Sprintf("localhost:%d", cluster.Port))
	topic := outboundTopic("KAFKA", "localhost", cluster.Port)
	status, body := exchange(t, "POST", server.lines[0]+"/channels", outboundChannel("a", topic, topic, "", nil))
	require.Equal(t, http.StatusOK, status, body)
	_, body = exchange(t, "GET", server.lines[0]+"/channels/a?status=true", nil)
	require.Contains(t, body, fmt.Sprintf(`\"127.0.0.1:%d\" is not a broker that channels may use`, cluster.Port))
	require.Contains(t, body, `"isStopped":true`)
}

// Services that pose as brokers: what they send costs neither memory nor time.
func TestOutbound_channels_allocateNothingForWhatIsNoBroker(t *testing.T) {
	flood := append([]byte{0x20, 3, 0, 0, 0}, 0x30, 0xff, 0xff, 0xff, 0x7f) // CONNACK, and a PUBLISH of 256 MiB
	server := startCaller(t, "annotator", 1, nil, "-listen", "127.0.0.1:0")
	for _, c := range []struct {
		name, kind string
		answer     []byte
		says       string
	}{
		{"a web server as Kafka", "KAFKA", []byte(webAnswer), "it is the port of a web server"},
		{"no length as Kafka", "KAFKA", make([]byte, 8), "a response of 0 bytes"},
		{"4 GiB as Kafka", "KAFKA", bytes.Repeat([]byte{0xff}, 8), "a response of 4294967295 bytes"},
		{"a web server as MQTT", "MQTT", []byte(webAnswer), ""},
		{"a huge packet as MQTT", "MQTT", append(flood, make([]byte, 1<<20)...), "a packet of 268435460 bytes, the limit is 67108864"},
		{"a huge answer as MQTT", "MQTT", []byte{0x20, 0xff, 0xff, 0xff, 0x7f}, "a packet of 268435460 bytes, the limit is 67108864"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pretender := newInside(t, c.answer)
			before := server.allocated(t)
			topic := outboundTopic(c.kind, pretender.host, pretender.port)
			status, id := exchange(t, "POST", server.lines[0]+"/channels", outboundChannel("", topic, topic, "", nil))
			require.Equal(t, http.StatusOK, status, id)
			_, said := exchange(t, "GET", server.lines[0]+"/channels/"+id+"?status=true", nil)
			require.Contains(t, said, `"isStopped":true`)
			for line := range strings.Lines(server.Output()) {
				if strings.Contains(line, strconv.Itoa(pretender.port)) {
					said += line
				}
			}
			require.Contains(t, said, c.says)
			require.Positive(t, pretender.reached.Load())
			const most = 64 << 20
			require.Less(t, server.allocated(t)-before, float64(most))
		})
	}
}

// allocated returns the bytes that the server has allocated since it started.
func (c *caller) allocated(t *testing.T) float64 {
	t.Helper()
	_, body := exchange(t, "GET", c.lines[0]+"/metrics", nil)
	found := regexp.MustCompile(`(?m)^go_memstats_alloc_bytes_total (\S+)$`).FindStringSubmatch(body)
	require.Len(t, found, 2)
	bytes, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return bytes
}
