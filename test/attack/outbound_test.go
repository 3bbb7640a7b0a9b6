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
)

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
				_ = conn.SetDeadline(time.Now().Add(2 * patience)) // a server that waits fails the test
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

// insideBody is what the service answers, in a text that no other answer has.
const insideBody = "4711 inside"

const webAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nContent-Type: text/plain\r\n\r\n" + insideBody

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
	t.Parallel()
	target, proxy := newInside(t, []byte(webAnswer)), newInside(t, []byte(webAnswer))
	through := fmt.Sprintf("http://127.0.0.1:%d", proxy.port)
	repository := startOpen(t, "modelrepo",
		[]string{"HTTP_PROXY=" + through, "HTTPS_PROXY=" + through, "http_proxy=" + through, "ALL_PROXY=" + through})
	hooks := map[string]string{}
	for _, host := range append(target.spellings(), "inside.attack.invalid") { // which a proxy would resolve
		if id := repository.hook(t, "http://"+host+"/latest/meta-data/"); id != "" {
			hooks[host] = id
		}
	}
	require.Contains(t, hooks, fmt.Sprintf("127.0.0.1:%d", target.port))
	require.Contains(t, hooks, fmt.Sprintf("localhost:%d", target.port), "a name that leads inside")
	a := send(t, "POST "+repository.anyListener()+"/w3c", "", "")
	require.Less(t, a.status, 300, a.body)
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
func (p *process) hook(t *testing.T, callback string) string {
	t.Helper()
	a := sendJSON(t, "POST "+p.anyListener()+"/h", "", map[string]any{"action": "namespace_create", "callback": callback})
	if a.status == http.StatusBadRequest {
		return ""
	}
	require.Equal(t, http.StatusOK, a.status, a.body)
	var made struct{ Handle string }
	require.NoError(t, json.Unmarshal([]byte(a.body), &made))
	require.NotEmpty(t, made.Handle, a.body)
	return made.Handle
}

func TestOutbound_webhooks_followNoRedirect(t *testing.T) {
	t.Parallel()
	target := newInside(t, []byte(webAnswer))
	var called atomic.Int32
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called.Add(1)
		http.Redirect(w, r, fmt.Sprintf("http://127.0.0.1:%d/", target.port), http.StatusTemporaryRedirect)
	}))
	defer redirecting.Close()
	repository := startOpen(t, "modelrepo", nil, "-webhooks-private")
	id := repository.hook(t, redirecting.URL)
	a := send(t, "POST "+repository.anyListener()+"/w3c", "", "")
	require.Less(t, a.status, 300, a.body)
	repository.awaitOutput(t, `a callback failed, it is called again" webhook=`+id)
	require.Contains(t, repository.Output(), "status 307")
	require.Positive(t, called.Load())
	require.Zero(t, target.reached.Load())
}

func TestOutbound_upstreams_areNothingInside(t *testing.T) {
	t.Parallel()
	target, proxy := newInside(t, []byte(webAnswer)), newInside(t, []byte(webAnswer))
	through := fmt.Sprintf("http://127.0.0.1:%d", proxy.port)
	environment := []string{"HTTP_PROXY=" + through, "http_proxy=" + through, "APIMANAGER_DEMO_PASSWORD=password for tests"}
	apis := startOpen(t, "apimanager", environment, "-private-upstreams=false")
	portal, front, admin, idp := apis.at["portal"], apis.at["gateway"], apis.at["admin"], apis.at["idp"]
	a := send(t, "POST "+idp+"/realms/OpenAPI/protocol/openid-connect/token", "",
		"grant_type=password&client_id=public-backend-access&username=demodeveloper&password=password+for+tests", form)
	require.Equal(t, http.StatusOK, a.status, a.body)
	var tokens struct {
		Access string `json:"access_token"`
	}
	require.NoError(t, json.Unmarshal([]byte(a.body), &tokens))

	for i, host := range target.spellings() {
		// Through a definition, which users publish.
		var upload bytes.Buffer
		parts := multipart.NewWriter(&upload)
		file, err := parts.CreateFormFile("upload_file", "api.json")
		require.NoError(t, err)
		fmt.Fprintf(file, `{"openapi": "3.0.3", "info": {"title": "Inside", "version": "1.0"}, "servers": [{"url": "http://%s/"}],
			"paths": {"/x": {"get": {"responses": {"200": {"description": "ok"}}}}}}`, host)
		require.NoError(t, parts.Close())
		address := fmt.Sprintf("%s/OpenAPIDocumentation/?enabler=e%d&description=x", portal, i)
		a := send(t, "POST "+address, tokens.Access, upload.String(), "Content-Type: "+parts.FormDataContentType())
		require.GreaterOrEqual(t, a.status, 400, "%s was published", host)
		require.Less(t, a.status, 500, a.body)

		// Through the gateway's admin API, whose hosts are checked when the gateway connects.
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			name, port = strings.Trim(host, "[]"), "80"
		}
		number, err := strconv.Atoi(port)
		require.NoError(t, err)
		service := fmt.Sprintf("inside-%d", i)
		a = sendJSON(t, "POST "+admin+"/services", "", map[string]any{"name": service, "host": name, "port": number, "retries": 0,
			"connect_timeout": 2000})
		if a.status == http.StatusBadRequest {
			continue
		}
		require.Equal(t, http.StatusCreated, a.status, a.body)
		a = sendJSON(t, "POST "+admin+"/services/"+service+"/routes", "", map[string]any{"paths": []string{"/" + service}})
		require.Equal(t, http.StatusCreated, a.status, a.body)
		a = send(t, "GET "+front+"/"+service, "", "")
		require.GreaterOrEqual(t, a.status, 500, "%s: %s", host, a.body)
		require.NotContains(t, a.body, insideBody)
	}
	require.Zero(t, target.reached.Load())
	require.Zero(t, proxy.reached.Load())
}

// brokerLists are the commands that run channels, with the variable of their list of brokers.
var brokerLists = map[string]string{"annotator": "ANNOTATOR_BROKER_HOSTS", "enablers": "ENABLERS_BROKER_HOSTS"}

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
	t.Parallel()
	for name, variable := range brokerLists {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := newInside(t, []byte(webAnswer))
			closed := closedPort(t)
			server := startOpen(t, name, []string{variable + "=mqtt.example.org,kafka.example.org:9092"})
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
							a := sendJSON(t, "POST "+server.anyListener()+"/channels", "", channel)
							require.Equal(t, http.StatusBadRequest, a.status, "%s at %s: %s", role, host, a.body)
							require.Contains(t, a.body, "-broker-hosts ("+variable+")")
							if role == "input" && host == "127.0.0.1" {
								answers = append(answers, strings.ReplaceAll(a.body, strconv.Itoa(port), "PORT"))
							}
						}
					}
				}
			}
			require.Equal(t, answers[0], answers[1], "the answer tells nothing of what listens")
			require.Equal(t, answers[2], answers[3])
			require.Zero(t, open.reached.Load())
			require.JSONEq(t, "{}", send(t, "GET "+server.anyListener()+"/channels", "", "").body)
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
	t.Parallel()
	cluster := kafkatest.Embedded(t, kfake.SeedTopics(1, "attack"))
	server := startOpen(t, "annotator", nil, "-broker-hosts", fmt.Sprintf("localhost:%d", cluster.Port))
	topic := outboundTopic("KAFKA", "localhost", cluster.Port)
	a := sendJSON(t, "POST "+server.anyListener()+"/channels", "", outboundChannel("a", topic, topic, "", nil))
	require.Equal(t, http.StatusOK, a.status, a.body)
	body := send(t, "GET "+server.anyListener()+"/channels/a?status=true", "", "").body
	require.Contains(t, body, fmt.Sprintf(`\"127.0.0.1:%d\" is not a broker that channels may use`, cluster.Port))
	require.Contains(t, body, `"isStopped":true`)
}

// Services that pose as brokers: what they send costs neither memory nor time.
func TestOutbound_channels_allocateNothingForWhatIsNoBroker(t *testing.T) {
	t.Parallel()
	flood := append([]byte{0x20, 3, 0, 0, 0}, 0x30, 0xff, 0xff, 0xff, 0x7f) // CONNACK, and a PUBLISH of 256 MiB
	server := startOpen(t, "annotator", nil)
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
			a := sendJSON(t, "POST "+server.anyListener()+"/channels", "", outboundChannel("", topic, topic, "", nil))
			require.Equal(t, http.StatusOK, a.status, a.body)
			said := send(t, "GET "+server.anyListener()+"/channels/"+a.body+"?status=true", "", "").body
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
func (p *process) allocated(t *testing.T) float64 {
	t.Helper()
	body := send(t, "GET "+p.anyListener()+"/metrics", "", "").body
	found := regexp.MustCompile(`(?m)^go_memstats_alloc_bytes_total (\S+)$`).FindStringSubmatch(body)
	require.Len(t, found, 2)
	bytes, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return bytes
}
