// Package keycloaktest starts a real Keycloak for tests, with the realm of the API
// management as deploy/keycloak/setup.sh makes it.
package keycloaktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iotenablers/enablers/apimgmt/oidc/oidctest"
	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

const (
	startLimit = 5 * time.Minute // for Keycloak to answer, and to log in
	admin      = "admin"
	password   = "correct horse battery"
	portal     = "http://portal.example:8999"
)

// Keycloak is a running Keycloak, one process of Java with about 600 MB, that
// keeps everything in memory.
type Keycloak struct {
	// URL is its base address, which ends in /auth.
	URL string
	// Realm is the realm OpenAPI, with the secrets and the password that it was
	// given.
	Realm oidctest.Realm
	// Started is how long it took until it answered, without fetching.
	Started time.Duration

	tb testing.TB
}

// Start starts Keycloak on a free port of the loopback interface, sets the realm
// up, and returns when that is done, after half a minute or so. It needs Java 17,
// curl and jq, and Maven once. The program is fetched once and kept in the user's
// cache folder, but fetched only when [peertest.RequirePeers] demands that peers are
// demanded. Without it the test is skipped, or fails when peers are demanded. The
// process ends with the test.
func Start(tb testing.TB) *Keycloak {
	tb.Helper()
	home, err := program()
	if err != nil {
		if peertest.Required() {
			tb.Fatalf("Keycloak is demanded by %s=1: %v", peertest.RequirePeers, err)
		}
		tb.Skipf("Keycloak cannot be started: %v", err)
	}
	for range 3 { // another process may take the port before Keycloak does
		k := &Keycloak{tb: tb}
		if k.start(home) {
			k.Realm = k.SetUp("OpenAPI", portal, "http://gateway.example:8100")
			return k
		}
	}
	tb.Fatal("Keycloak does not start")
	return nil
}

// start reports whether it answers. One that ended at once may have lost its
// port.
func (k *Keycloak) start(home string) bool {
	k.tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		k.tb.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close()
	k.URL = "http://127.0.0.1:" + port + "/auth"

	// A home of its own, since a Keycloak writes below it.
	own := k.tb.TempDir()
	for _, name := range []string{"conf", "lib", "providers", "themes"} {
		if err := os.Symlink(filepath.Join(home, name), filepath.Join(own, name)); err != nil {
			k.tb.Fatal(err)
		}
	}
	command := exec.Command("java", "-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Djava.util.concurrent.ForkJoinPool.common.threadFactory=io.quarkus.bootstrap.forkjoin.QuarkusForkJoinWorkerThreadFactory",
		"-Djava.util.logging.manager=org.jboss.logmanager.LogManager", "-Djava.security.egd=file:/dev/urandom",
		"--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
		"--add-opens=java.base/java.security=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED",
		"-Dkc.home.dir="+own, "-Djboss.server.config.dir="+filepath.Join(own, "conf"),
		"-cp", filepath.Join(own, "lib", "quarkus-run.jar"), "io.quarkus.bootstrap.runner.QuarkusEntryPoint",
		"start", "--optimized", "--http-enabled=true", "--hostname-strict=false", "--http-host=127.0.0.1",
		"--http-port="+port, "--cache=local")
	command.Dir = own
	command.Env = append(os.Environ(), "KC_BOOTSTRAP_ADMIN_USERNAME="+admin, "KC_BOOTSTRAP_ADMIN_PASSWORD="+password)
	begun := time.Now()
	process := interop.StartProcess(k.tb, command)
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(startLimit)
	for {
		if k.answers() {
			k.Started = time.Since(begun)
			return true
		}
		select {
		case <-ticker.C:
		case <-process.Ended():
			k.tb.Logf("Keycloak ended:\n%s", process.Output())
			return false
		case <-timeout:
			k.tb.Fatalf("Keycloak does not answer within %s:\n%s", startLimit, process.Output())
		}
	}
}

func (k *Keycloak) answers() bool {
	client := &http.Client{Timeout: 30 * time.Second}
	response, err := client.Get(k.URL + "/realms/master/.well-known/openid-configuration")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// SetUp makes a realm with the script that people use, for a portal and a gateway at
// their base addresses.
func (k *Keycloak) SetUp(name, portal, gateway string) oidctest.Realm {
	k.tb.Helper()
	realm := oidctest.Realm{Issuer: k.URL + "/realms/" + name, Secret: "secret of private-backend",
		GatewaySecret: "secret of kong", Password: "correct horse", Portal: portal}
	script, err := Find("deploy/keycloak/setup.sh")
	if err != nil {
		k.tb.Fatal(err)
	}
	command := exec.CommandContext(k.tb.Context(), "bash", script)
	command.Env = append(os.Environ(), "KEYCLOAK_URL="+k.URL, "KEYCLOAK_ADMIN="+admin,
		"KEYCLOAK_ADMIN_PASSWORD="+password, "REALM="+name, "PORTAL_URL="+portal,
		"GATEWAY_URL="+gateway, "CLIENT_SECRET="+realm.Secret, "GATEWAY_CLIENT_SECRET="+realm.GatewaySecret,
		"DEMO_PASSWORD="+realm.Password, "CREDENTIALS="+filepath.Join(k.tb.TempDir(), "keycloak.env"))
	if said, err := command.CombinedOutput(); err != nil {
		k.tb.Fatalf("set the realm %s up: %v: %s", name, err, said)
	}
	return realm
}

// Find looks for a file or folder of the project in the working folder and those
// above, since tests run in the folder of their package. name has slashes.
func Find(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", fmt.Errorf("find %s: %w", name, os.ErrNotExist)
		}
		dir = above
	}
}

// RotateKeys has a new key sign the tokens of the realm; the old one goes on to
// verify.
func (k *Keycloak) RotateKeys() {
	k.tb.Helper()
	k.Admin(http.MethodPost, "/realms/OpenAPI/components", map[string]any{
		"name": "rotated", "providerId": "rsa-generated", "providerType": "org.keycloak.keys.KeyProvider",
		"config": map[string][]string{"priority": {fmt.Sprint(1000 + time.Now().Unix()%1_000_000)},
			"enabled": {"true"}, "active": {"true"}, "algorithm": {"RS256"}},
	})
}

// Admin makes a request to the admin interface, with the path below /admin.
// Another status than a success fails the test.
func (k *Keycloak) Admin(method, path string, body any) []byte {
	k.tb.Helper()
	answer, err := http.PostForm(k.URL+"/realms/master/protocol/openid-connect/token", url.Values{
		"grant_type": {"password"}, "client_id": {"admin-cli"}, "username": {admin}, "password": {password},
	})
	if err != nil {
		k.tb.Fatal(err)
	}
	defer answer.Body.Close()
	var token struct {
		Access string `json:"access_token"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&token); err != nil {
		k.tb.Fatal(err)
	}
	text, err := json.Marshal(body)
	if err != nil {
		k.tb.Fatal(err)
	}
	request, err := http.NewRequestWithContext(k.tb.Context(), method, k.URL+"/admin"+path, bytes.NewReader(text))
	if err != nil {
		k.tb.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token.Access)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		k.tb.Fatal(err)
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		k.tb.Fatalf("%s %s: status %d: %s (%v)", method, path, response.StatusCode, strings.TrimSpace(string(said)), err)
	}
	return said
}
