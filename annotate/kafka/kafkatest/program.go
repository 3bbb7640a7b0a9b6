package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// version is the version of Apache Kafka that is started.
const version = "3.9.1"

// fetchLimit bounds the download of 46 MB, and of Maven's own plug-ins.
const fetchLimit = 8 * time.Minute

// project is the Maven project with the dependencies of Kafka, and an implementation of its
// logging interface, without which Kafka logs nothing.
const project = `<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>enablers.peers</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>` + version + `</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-reload4j</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
`

// demanded reports whether a missing peer fails the test.
func demanded() bool { return os.Getenv(mqtttest.RequirePeers) == "1" }

// program returns the folder with the jars of Kafka. When peers are demanded it
// fetches them if they are not there.
func program() (string, error) {
	if os.Getenv(mqtttest.RequirePeers) == "0" {
		return "", fmt.Errorf("%s=0 excludes it", mqtttest.RequirePeers)
	}
	if _, err := exec.LookPath("java"); err != nil {
		return "", fmt.Errorf("no Java is installed: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, "enablers-peers", "kafka-"+version)
	if _, err := os.Stat(home); err == nil {
		return home, nil
	}
	if !demanded() {
		return "", fmt.Errorf("it was not fetched to %s, which happens when %s=1", home, mqtttest.RequirePeers)
	}
	if err := fetch(home); err != nil {
		return "", fmt.Errorf("fetch Kafka %s: %w", version, err)
	}
	return home, nil
}

// fetch copies the jars to home. They are collected in a folder of their own
// that is then renamed, so that home is there with all of them or not at all,
// however many processes fetch at the same time.
func fetch(home string) error {
	if _, err := exec.LookPath("mvn"); err != nil {
		return fmt.Errorf("no Maven is installed: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(home), "fetching-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	pom := filepath.Join(scratch, "pom.xml")
	if err := os.WriteFile(pom, []byte(project), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	jars := filepath.Join(scratch, "jars")
	command := exec.CommandContext(ctx, "mvn", "-B", "-q", "-f", pom,
		"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+jars)
	dieWithParent(command)
	command.WaitDelay = time.Second // its own processes may hold the pipe
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, errors.Join(err, ctx.Err()), said)
	}
	if err := os.Rename(jars, home); err != nil {
		if _, there := os.Stat(home); there == nil {
			return nil // another process was faster
		}
		return err
	}
	return nil
}
