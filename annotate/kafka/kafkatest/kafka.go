package kafkatest

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

const (
	startLimit = 3 * time.Minute // for Kafka to answer requests
	formatHeap = "-Xmx128m"
	brokerHeap = "-Xmx512m"
)

// Options are what a Kafka has besides its PLAINTEXT listener. The zero value adds nothing.
type Options struct {
	// Users are names with their passwords. There is a SASL_PLAINTEXT listener
	// for them, and with TLS a SASL_SSL one, where they log in by PLAIN,
	// SCRAM-SHA-256 or SCRAM-SHA-512.
	Users map[string]string
	// TLS adds an SSL listener with a certificate of [Kafka.Roots].
	TLS bool
	// Authorize lets users do only what [Kafka.Allow] allows them. Clients of
	// the listeners without users may do everything.
	Authorize bool
	// Cables are names of further listeners without security, each behind a
	// proxy that can be cut: see [Kafka.Cable].
	Cables []string
	// Lines are added to the broker's properties.
	Lines []string
}

// Kafka is a running Apache Kafka: one process in KRaft mode that is broker and
// controller. It keeps its data on disk until the test ends.
type Kafka struct {
	tb        testing.TB
	jars      string // folder
	folder    string
	options   Options
	listeners []listener
	roots     *x509.CertPool

	mu      sync.Mutex
	process *exec.Cmd
	ended   chan struct{}
}

// StartKafka starts Apache Kafka and returns when it answers. It needs Java.
// The program is downloaded with Maven once, when [mqtttest.RequirePeers] requires peers,
// and kept in the user's cache folder. Without Java or the program the test is skipped, or
// fails if peers are required. Nil options are the zero value.
//
// The broker ends with the test; what it logged is shown if the test failed.
func StartKafka(tb testing.TB, options *Options) *Kafka {
	tb.Helper()
	jars, err := program()
	if err != nil {
		if demanded() {
			tb.Fatalf("Kafka is required by %s=1: %v", mqtttest.RequirePeers, err)
		}
		tb.Skipf("there is no Kafka to start: %v", err)
	}
	if options == nil {
		options = &Options{}
	}
	k := &Kafka{tb: tb, jars: jars, folder: tb.TempDir(), options: *options}
	k.listeners = k.listen()
	if err := k.prepare(); err != nil {
		tb.Fatalf("prepare Kafka: %v", err)
	}
	if err := k.start(); err != nil {
		tb.Fatalf("start Kafka: %v", err)
	}
	tb.Cleanup(func() {
		k.Kill()
		if tb.Failed() {
			tb.Logf("end of the log of Kafka at %s:\n%s", k.Address(), k.logged())
		}
	})
	return k
}

// prepare writes all that the broker reads.
func (k *Kafka) prepare() error {
	if k.options.TLS {
		var err error
		if k.roots, err = certify(k.path("server.pem")); err != nil {
			return fmt.Errorf("create a certificate: %w", err)
		}
	}
	if err := os.WriteFile(k.path("log4j.properties"), []byte(logging), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(k.path("server.properties"), k.properties(), 0o600); err != nil {
		return err
	}
	return k.format()
}

// format creates the folder of the data, with the passwords of SCRAM.
func (k *Kafka) format() error {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	args := []string{"format", "--cluster-id=" + base64.RawURLEncoding.EncodeToString(id[:]), "-c", k.path("server.properties")}
	for user, password := range k.options.Users {
		for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
			args = append(args, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, user, password))
		}
	}
	said, err := k.java(formatHeap, "kafka.tools.StorageTool", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("format the data: %w: %s", err, said)
	}
	return nil
}

// java returns the command that runs a class of Kafka.
func (k *Kafka) java(heap, class string, args ...string) *exec.Cmd {
	command := exec.Command("java", append([]string{
		heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dlog4j.configuration=file:" + filepath.ToSlash(k.path("log4j.properties")),
		"-cp", filepath.Join(k.jars, "*"), class,
	}, args...)...)
	command.Dir = k.folder
	dieWithParent(command)
	return command
}

func (k *Kafka) path(name string) string { return filepath.Join(k.folder, name) }

// Start starts the broker again, with the same data on the same ports, after
// Kill or Close.
func (k *Kafka) Start() {
	k.tb.Helper()
	if err := k.start(); err != nil {
		k.tb.Fatalf("start Kafka again: %v", err)
	}
}

func (k *Kafka) start() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.process != nil {
		return errors.New("it runs already")
	}
	log, err := os.OpenFile(k.path("kafka.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	process := k.java(brokerHeap, "kafka.Kafka", k.path("server.properties"))
	process.Stdout, process.Stderr = log, log
	if err := process.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	k.process, k.ended = process, ended
	go func() {
		_ = process.Wait() // what ends the process knows the outcome
		close(ended)
	}()
	if err := k.await(ended); err != nil {
		k.kill()
		return fmt.Errorf("%w: %s", err, k.logged())
	}
	return nil
}

// await waits until the broker answers requests.
func (k *Kafka) await(ended <-chan struct{}) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(k.Address().String()), kgo.DialTimeout(10*time.Second))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if err = answers(ctx, client); err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("it does not answer within %s: %w", startLimit, err)
		}
	}
}

// Kill ends the broker at once (SIGKILL), as a crash would. It does nothing
// when the broker does not run.
func (k *Kafka) Kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kill()
}

func (k *Kafka) kill() {
	if k.process == nil {
		return
	}
	_ = k.process.Process.Kill() // fails only if it has ended by itself
	<-k.ended
	k.process = nil
}

// Close shuts the broker down in good order, or kills it when that takes longer
// than half a minute. It does nothing when the broker does not run.
func (k *Kafka) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.process == nil {
		return
	}
	if k.process.Process.Signal(syscall.SIGTERM) == nil {
		select {
		case <-k.ended:
		case <-time.After(30 * time.Second):
		}
	}
	k.kill()
}

// logged returns the end of the broker's log.
func (k *Kafka) logged() string {
	const most = 16 << 10
	text, err := os.ReadFile(k.path("kafka.log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}
