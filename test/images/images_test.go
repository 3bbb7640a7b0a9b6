//go:build linux

package images

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// image is what the tests know about an image.
type image struct {
	command string
	ports   []string
	address string // where it says whether it is ready
	token   string // file of the token in /data
	options []string
	use     func(c *container) // one real call
}

func images() []image {
	const access = "access-token"
	return []image{
		{
			command: "annotator", ports: []string{"8080/tcp"}, address: "http://127.0.0.1:8080", token: access,
			use: func(c *container) {
				text, err := os.ReadFile("../../examples/weather/channel.json")
				require.NoError(c.t, err)
				c.call("POST", "http://127.0.0.1:8080/channels", "application/json", string(text))
				require.Contains(c.t, c.call("GET", "http://127.0.0.1:8080/channels/weather?settings=true", "", ""), "weather")
			},
		},
		{
			command: "apimanager", ports: []string{"8100/tcp", "8101/tcp", "8999/tcp"}, address: "http://127.0.0.1:8101", token: access,
			use: func(c *container) {
				require.Contains(c.t, c.call("GET", "http://127.0.0.1:8999/openapi.json", "", ""), `"openapi"`)
				status, _ := c.status("GET", "http://127.0.0.1:8100/nothing", "", "")
				require.Equal(c.t, http.StatusNotFound, status)
			},
		},
		{
			command: "enablers", address: "http://127.0.0.1:8080", token: access,
			ports: []string{
				"1883/tcp", "3333/tcp", "3334/tcp", "8000/tcp", "8080/tcp", "8081/tcp", "8088/tcp", "8100/tcp", "8101/tcp", "8999/tcp",
			},
			use: useRepository,
		},
		{
			command: "flcollector", ports: []string{"8000/tcp", "8088/tcp"}, address: "http://127.0.0.1:8000", token: access,
			use: func(c *container) {
				text, err := os.ReadFile("../../examples/flcollect/job.json")
				require.NoError(c.t, err)
				c.call("POST", "http://127.0.0.1:8000/job/config/1", "application/json", string(text))
				require.Contains(c.t, c.call("GET", "http://127.0.0.1:8000/job/status/1", "", ""), "WAITING")
			},
		},
		{
			command: "modelrepo", ports: []string{"8081/tcp"}, address: "http://127.0.0.1:8081", token: access, use: useRepository,
		},
		{
			command: "multilink", ports: []string{"3333/tcp"}, address: "http://127.0.0.1:3333", token: "token",
			options: []string{
				"--cap-add", "NET_ADMIN", "--cap-add", "NET_RAW", "--device", "/dev/net/tun",
				"--env", "MULTILINK_ROLE=server", "--env", "MULTILINK_ADDRESS=10.9.0.1/24",
			},
			use: func(c *container) {
				c.call("POST", "http://127.0.0.1:3333/tunnel/client/add", "application/json", `{"name": "gw-1"}`)
				output(c.t, exec.Command("ip", "link", "show", "multilink0")) // the device is really there
			},
		},
	}
}

func useRepository(c *container) {
	const at = "http://127.0.0.1:8081"
	c.call("POST", at+"/w3c", "", "")
	c.call("POST", at+"/w3c/sosa", "application/json", "{}")
	require.Contains(c.t, c.call("GET", at+"/w3c", "", ""), "sosa")
}

func TestImages_serveWithoutRightsOnAReadOnlyRoot(t *testing.T) {
	scratch := needsImages(t)
	for _, one := range images() {
		t.Run(one.command, func(t *testing.T) {
			name := load(t, scratch, one.command)
			c := start(t, scratch, name, one.options...)
			c.awaitReady(one.address)
			c.readToken(one.token)
			one.use(c)

			status, err := os.ReadFile(filepath.Join("/proc", c.pid(), "status"))
			require.NoError(t, err)
			require.Regexp(t, `(?m)^Uid:(\t65532){4}$`, string(status))
			require.Regexp(t, `(?m)^NoNewPrivs:\t1$`, string(status))
			require.Regexp(t, `(?m)^\S+ / \S+ ro[, ]`, mounts(t, c.pid()))

			pid, err := strconv.Atoi(c.pid())
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
			require.Zero(t, c.process.AwaitEnd(), "the status after SIGTERM: %s", c.process.Output())
		})
	}
}

func mounts(t *testing.T, pid string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", pid, "mounts"))
	require.NoError(t, err)
	return string(text)
}

// Docker and Kubernetes give capabilities to root only, so there multi-link runs as root with
// two capabilities, and writes its data as a member of the group.
func TestImages_multilinkRunsAsRootWithTwoCapabilities(t *testing.T) {
	scratch := needsImages(t)
	for _, one := range images() {
		if one.command == "multilink" {
			c := start(t, scratch, load(t, scratch, one.command), append(one.options, "--user", "0:65532")...)
			c.awaitReady(one.address)
			c.readToken(one.token)
			one.use(c)
			status, err := os.ReadFile(filepath.Join("/proc", c.pid(), "status"))
			require.NoError(t, err)
			require.Contains(t, string(status), "CapEff:\t0000000000003000\n", "NET_ADMIN and NET_RAW alone")
		}
	}
}

func TestImages_rmlRuns(t *testing.T) {
	scratch := needsImages(t)
	name := load(t, scratch, "rml")
	printed := output(t, podman(scratch, "run", "--rm", "--network", "host", "--cgroups=disabled", "--read-only",
		"--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", name, "-version"))
	require.Contains(t, printed, "rml ")
}

func TestImages_haveWhatIsPromised(t *testing.T) {
	scratch := needsImages(t)
	all := append(images(), image{command: "rml"})
	for _, one := range all {
		t.Run(one.command, func(t *testing.T) {
			file := filepath.Join(scratch, "images", one.command)
			archive := "oci-archive:" + file + ".tar"
			var config struct {
				Config struct {
					User         string
					Entrypoint   []string
					Cmd          []string
					ExposedPorts map[string]any
					Volumes      map[string]any
					Labels       map[string]string
				}
			}
			decode(t, output(t, exec.Command("skopeo", "inspect", "--config", archive)), &config)
			got := config.Config
			require.Equal(t, "65532:65532", got.User)
			require.Len(t, got.Entrypoint, 1)
			require.Equal(t, one.command, filepath.Base(got.Entrypoint[0]))
			require.Empty(t, got.Cmd)
			require.Len(t, got.ExposedPorts, len(one.ports))
			for _, port := range one.ports {
				require.Contains(t, got.ExposedPorts, port)
			}
			require.Contains(t, got.Volumes, "/data")
			for _, label := range []string{"title", "description", "version", "revision", "created", "source", "licenses"} {
				require.NotEmpty(t, got.Labels["org.opencontainers.image."+label], label)
			}

			var manifest struct{ Manifests []struct{ MediaType string } }
			raw := output(t, exec.Command("skopeo", "inspect", "--raw", archive))
			decode(t, raw, &manifest)
			require.Len(t, manifest.Manifests, 1, "one platform was built")
			var layout struct {
				Manifests []struct{ Annotations map[string]string }
			}
			decode(t, output(t, exec.Command("tar", "xOf", file+".tar", "index.json")), &layout)
			require.Len(t, layout.Manifests, 1, "one entry")
			require.Equal(t, "iotenablers/"+one.command+":"+version, layout.Manifests[0].Annotations["org.opencontainers.image.ref.name"])
			digest := strings.TrimSpace(output(t, manifestDigest(t, raw)))

			var bill struct {
				BomFormat  string
				Metadata   struct{ Component struct{ Purl string } }
				Components []struct{ Name, Version, Purl string }
			}
			decode(t, read(t, file+".cdx.json"), &bill)
			require.Equal(t, "CycloneDX", bill.BomFormat)
			require.Contains(t, bill.Metadata.Component.Purl, strings.Replace(digest, ":", "%3A", 1))
			names := map[string]bool{}
			for _, component := range bill.Components {
				names[component.Name] = true
			}
			require.Contains(t, names, "std")
			require.Greater(t, len(names), 4, "modules of others")

			var provenance struct {
				PredicateType string
				Subject       []struct{ Digest map[string]string }
				Predicate     struct {
					BuildDefinition struct {
						ResolvedDependencies []struct{ Digest map[string]string }
					}
				}
			}
			decode(t, read(t, file+".provenance.json"), &provenance)
			require.Equal(t, "https://slsa.dev/provenance/v1", provenance.PredicateType)
			require.Equal(t, digest, "sha256:"+provenance.Subject[0].Digest["sha256"])
			require.Len(t, provenance.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"], 40)

			info, err := os.Stat(file + ".tar")
			require.NoError(t, err)
			t.Logf("%s: %.1f MB", one.command, float64(info.Size())/1e6)
			require.Less(t, info.Size(), int64(25e6), "the aim")
		})
	}
}

// manifestDigest has skopeo digest a manifest.
func manifestDigest(t *testing.T, raw string) *exec.Cmd {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest")
	require.NoError(t, os.WriteFile(file, []byte(raw), 0o600))
	return exec.Command("skopeo", "manifest-digest", file)
}

// The second build is of another clone, in another folder, with other settings, and
// with nothing of the first one in the cache. It is of a server, with most of our dependencies.
func TestBuild_givesTheSameBytesTwice(t *testing.T) {
	scratch := needsImages(t)
	var sums [2]string
	for i := range sums {
		clone := filepath.Join(scratch, fmt.Sprintf("clone-%d%s", i, strings.Repeat("/deeper", i)))
		output(t, exec.Command("git", "clone", "-q", "--shared", "../..", clone))
		out := filepath.Join(t.TempDir(), "out")
		build := exec.Command(filepath.Join(clone, "deploy/images/build.sh"), out, "linux/amd64")
		build.Env = append(os.Environ(), "COMMANDS=multilink")
		if i == 1 {
			build.Env = append(build.Env, "TZ=Asia/Tokyo", "GOAMD64=v3", "GOFLAGS=-gcflags=all=-N",
				"LC_ALL=C", "GOCACHE="+filepath.Join(scratch, "cache"))
		}
		output(t, build)
		sums[i] = output(t, exec.Command("sh", "-c", "cd \"$1\" && sha256sum *", "sh", out))
	}
	require.Equal(t, sums[0], sums[1])
	require.Len(t, strings.Fields(sums[0]), 6, "an archive, a bill of materials and a provenance")
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), into), text)
}
