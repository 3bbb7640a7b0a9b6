package relationaltest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/iotenablers/enablers/annotate/rml/relational"
)

// RequirePeers is the environment variable that decides about servers: with 1 a
// test without one fails, with 0 it is skipped even if the server is there.
const RequirePeers = "ENABLERS_REQUIRE_PEERS"

// patience is how long a server may take to start.
const patience = 2 * time.Minute

// StartPostgres starts PostgreSQL in a folder of its own, on a socket, until
// the test ends, and returns the URL of a database. Without PostgreSQL the test is
// skipped, or fails when [RequirePeers] says so.
func StartPostgres(tb testing.TB, driver relational.Driver) string {
	tb.Helper()
	initdb := program(tb, "initdb", "/usr/lib/postgresql/*/bin")
	server := program(tb, "postgres", "/usr/lib/postgresql/*/bin")
	folder := home(tb)
	data := filepath.Join(folder, "data")
	run(tb, folder, initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")
	start(tb, folder, syscall.SIGINT, server, "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off")
	address := url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/postgres", RawQuery: url.Values{"host": {folder}}.Encode(),
	}
	wait(tb, driver, address.String())
	return address.String()
}

// StartMariaDB is [StartPostgres] for MariaDB. The database is empty.
func StartMariaDB(tb testing.TB, driver relational.Driver) string {
	tb.Helper()
	install := program(tb, "mariadb-install-db", "/usr/bin")
	server := program(tb, "mariadbd", "/usr/sbin")
	folder := home(tb)
	data, socket := filepath.Join(folder, "data"), filepath.Join(folder, "s")
	run(tb, folder, install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db")
	start(tb, folder, syscall.SIGTERM, server, "--no-defaults", "--datadir="+data, "--socket="+socket, "--skip-networking",
		"--pid-file="+filepath.Join(folder, "pid"), "--innodb-flush-log-at-trx-commit=0")
	address := url.URL{
		Scheme: "mysql", User: url.User("root"), Host: "localhost", Path: "/", RawQuery: url.Values{"socket": {socket}}.Encode(),
	}
	wait(tb, driver, address.String())
	return address.String()
}

// program finds a program in the PATH or in folders.
func program(tb testing.TB, name, folders string) string {
	tb.Helper()
	if os.Getenv(RequirePeers) == "0" {
		tb.Skipf("%s=0 excludes %s", RequirePeers, name)
	}
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob(filepath.Join(folders, name)) // the pattern is valid
	if len(found) == 0 {
		if os.Getenv(RequirePeers) == "1" {
			tb.Fatalf("%s is not installed and %s=1 demands it", name, RequirePeers)
		}
		tb.Skipf("%s is not installed: neither in the PATH nor in %s", name, folders)
	}
	return slices.Max(found)
}

// home creates a folder with a short name, since that of a socket is limited, which the
// user of the servers owns.
func home(tb testing.TB) string {
	tb.Helper()
	folder, err := os.MkdirTemp("", "db")
	if err == nil {
		err = own(folder)
	}
	if err != nil {
		tb.Fatalf("create a folder for a server: %v", err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

func command(folder, name string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	output := &bytes.Buffer{}
	c := exec.Command(name, args...)
	c.Dir = folder
	c.Stdout = output
	c.Stderr = output
	c.Env = append(os.Environ(), "HOME="+folder, "LC_ALL=C")
	unprivileged(c)
	return c, output
}

func run(tb testing.TB, folder, name string, args ...string) {
	tb.Helper()
	c, output := command(folder, name, args...)
	if err := c.Run(); err != nil {
		tb.Fatalf("%s: %v: %s", name, err, output)
	}
}

// start starts a server, which the end of the test ends.
func start(tb testing.TB, folder string, end syscall.Signal, name string, args ...string) {
	tb.Helper()
	c, output := command(folder, name, args...)
	if err := c.Start(); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	tb.Cleanup(func() {
		_ = c.Process.Signal(end)
		hung := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
		defer hung.Stop()
		if err := c.Wait(); err != nil || tb.Failed() {
			tb.Logf("%s ended with %v: %s", name, err, output)
		}
	})
}

// wait waits until a server answers.
func wait(tb testing.TB, driver relational.Driver, address string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	db := Open(tb, driver, address)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			tb.Fatalf("the server does not answer: %v", err)
		case <-tick.C:
		}
	}
}

// Open opens a database until the test ends, as a driver does.
func Open(tb testing.TB, driver relational.Driver, address string) *sql.DB {
	tb.Helper()
	u, err := url.Parse(address)
	var db *sql.DB
	if err == nil {
		db, err = driver.Open(u)
	}
	if err != nil {
		tb.Fatalf("open %s: %v", address, err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// Execute runs the statements of a text, one a semicolon at the end of a line.
func Execute(tb testing.TB, db *sql.DB, text string) {
	tb.Helper()
	ctx := context.Background()
	connection, err := db.Conn(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	defer connection.Close()
	for _, statement := range split(text) {
		if _, err := connection.ExecContext(ctx, statement); err != nil {
			tb.Fatal(fmt.Errorf("%s: %w", statement, err))
		}
	}
}

// split splits statements at the semicolons outside of quotes.
func split(text string) []string {
	var statements []string
	start, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == ';':
			statements = append(statements, text[start:i])
			start = i + 1
		}
	}
	statements = append(statements, text[start:])
	return slices.DeleteFunc(statements, func(s string) bool { return len(bytes.TrimSpace([]byte(s))) == 0 })
}
