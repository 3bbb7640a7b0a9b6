package keycloaktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/iotenablers/enablers/internal/peertest"
)

// version is that of the Keycloak that is started. It runs on Java 17.
const version = "26.7.3"

// fetchLimit bounds the download of 176 MB, and the build, which takes half a
// minute on two cores.
const fetchLimit = 8 * time.Minute

// program returns the folder of a Keycloak that was built for these tests. When
// peers are demanded it is fetched if it is not there.
func program() (string, error) {
	if peertest.Excluded() {
		return "", peertest.ErrExcluded
	}
	for _, needed := range []string{"java", "bash", "curl", "jq"} {
		if _, err := exec.LookPath(needed); err != nil {
			return "", fmt.Errorf("%s is not installed: %w", needed, err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, "enablers-peers", "keycloak-"+version)
	if _, err := os.Stat(home); err == nil {
		return home, nil
	}
	if !peertest.Required() {
		return "", fmt.Errorf("it was not fetched to %s, which happens when %s=1", home, peertest.RequirePeers)
	}
	if err := fetch(home); err != nil {
		return "", fmt.Errorf("fetch Keycloak %s: %w", version, err)
	}
	return home, nil
}

// fetch makes home: in a folder of its own that is then renamed, so that home is
// there as a whole or not at all, however many processes fetch at the same time.
func fetch(home string) error {
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(home), "fetching-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	unpacked := filepath.Join(scratch, "keycloak-"+version)
	for _, step := range [][]string{
		{"mvn", "-B", "-q", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy",
			"-Dartifact=org.keycloak:keycloak-quarkus-dist:" + version + ":tar.gz", "-DoutputDirectory=" + scratch},
		{"tar", "-xzf", "keycloak-quarkus-dist-" + version + ".tar.gz"},
		// Building now, and for a database in memory, halves the time of every start.
		{filepath.Join(unpacked, "bin", "kc.sh"), "build", "--db=dev-mem", "--http-relative-path=/auth"},
	} {
		command := exec.CommandContext(ctx, step[0], step[1:]...)
		command.Dir = scratch
		command.WaitDelay = time.Second // its own processes may hold the pipe
		if said, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", command, errors.Join(err, ctx.Err()), said)
		}
	}
	if err := os.Rename(unpacked, home); err != nil {
		if _, there := os.Stat(home); there == nil {
			return nil // another process was faster
		}
		return err
	}
	return nil
}
