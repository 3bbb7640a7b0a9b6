package main

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/stores"
)

// database is the settings of MongoDB. Their environment variables have no
// prefix, by section 8 of the specification.
type database struct {
	uri            string
	host           string
	port           int
	name           string
	user, password string
	authSource     string
	patience       time.Duration

	given []string // the flags of them that any source has set
}

func (d *database) declare(f *host.Flags) {
	f.StringVar(&d.uri, "db-uri", "", "`connection string` of MongoDB, for replica sets and TLS; in place of -db-host and -db-port")
	f.StringVar(&d.host, "db-host", "127.0.0.1", "`host` of MongoDB, which is used instead of -data as soon as any -db setting is given")
	f.IntVar(&d.port, "db-port", 27017, "`port` of MongoDB")
	f.StringVar(&d.name, "db-database", "annotator", "`name` of the database")
	f.StringVar(&d.user, "db-user", "", "`user` of the database")
	f.StringVar(&d.password, "db-password", "", "`password` of -db-user; better given by the environment, since others can see flags")
	f.StringVar(&d.authSource, "db-auth-source", "admin", "`database` that knows -db-user")
	f.DurationVar(&d.patience, "db-timeout", 5*time.Second, "how long a call waits for a database server that is away")
	for _, name := range databaseFlags() {
		f.SetVariable(name, strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
	}
}

func databaseFlags() []string {
	return []string{"db-uri", "db-host", "db-port", "db-database", "db-user", "db-password", "db-auth-source", "db-timeout"}
}

// check notes what cannot work, and what was given. An empty value counts as not given, as
// compose files leave it.
func (d *database) check(f *host.Flags) {
	named := func(name string) string { return fmt.Sprintf("-%s (%s)", name, f.Variable(name)) }
	d.given = nil
	given := map[string]bool{}
	for _, name := range databaseFlags() {
		if f.Given(name) && f.Lookup(name).Value.String() != "" {
			d.given = append(d.given, named(name))
			given[name] = true
		}
	}
	for _, name := range []string{"db-host", "db-port"} {
		if given["db-uri"] && given[name] {
			f.Wrong(name, "cannot be given together with %s", named("db-uri"))
		}
	}
	f.Between("db-port", int64(d.port), 1, 65535)
	f.Positive("db-timeout", d.patience)
	if d.user == "" && d.password != "" {
		f.Wrong("db-password", "is set, but %s is not", named("db-user"))
	}
	if f.Stores.Store() != "" {
		d.agree(f, given)
	}
}

// agree notes a flag that is given and names another place than -store.
func (d *database) agree(f *host.Flags, given map[string]bool) {
	other := func(name, reason string) {
		f.Wrong(name, "%s -store (%s); give one of the two", reason, f.Variable("store"))
	}
	const place = "is another place than"
	where := f.Stores
	if !where.IsDatabase() {
		for _, name := range databaseFlags() {
			if given[name] && name != "db-timeout" {
				other(name, place)
				return
			}
		}
		return
	}
	hosts, hasUser := parseHosts(where.Store())
	name, err := stores.DatabaseName(where.Store(), d.name)
	address := net.JoinHostPort(d.host, strconv.Itoa(d.port))
	switch {
	case err != nil:
		f.Wrong("store", "%w", err)
	case given["db-uri"] && d.uri != where.Store():
		other("db-uri", "is another text than") // its options may differ in any way
	case given["db-host"] && address != hosts:
		other("db-host", place)
	case given["db-port"] && address != hosts:
		other("db-port", place)
	case given["db-database"] && d.name != name:
		other("db-database", "is another database than that of")
	case given["db-user"] && hasUser:
		other("db-user", "names another user than")
	}
}

// parseHosts returns the hosts of a connection string, the port of a single one included, and
// whether it has a user.
func parseHosts(uri string) (hosts string, hasUser bool) {
	_, rest, _ := strings.Cut(uri, "://")
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "/")
	at := strings.LastIndex(rest, "@")
	hosts = rest[at+1:]
	if _, _, err := net.SplitHostPort(hosts); err != nil && !strings.Contains(hosts, ",") {
		hosts = net.JoinHostPort(strings.Trim(hosts, "[]"), "27017")
	}
	return hosts, at >= 0
}

// names returns the flags and variables that say which database is used.
func (d *database) names(where *stores.Settings) string {
	names := d.given
	if where.Store() != "" {
		names = append([]string{"-store"}, names...)
	}
	return strings.Join(names, ", ")
}

// used reports whether a flag says that MongoDB keeps the channels.
func (d *database) used() bool { return len(d.given) > 0 }

// config is what the driver needs.
func (d *database) config(where *stores.Settings) (stores.Database, error) {
	config := stores.Database{
		URI:  cmp.Or(where.Store(), d.uri, "mongodb://"+net.JoinHostPort(d.host, strconv.Itoa(d.port))),
		Name: cmp.Or(d.name, datafolder.Annotator),
		User: d.user, Password: d.password, AuthSource: d.authSource,
		SelectTimeout: d.patience,
	}
	var err error
	if where.Store() != "" {
		config.Name, err = stores.DatabaseName(where.Store(), config.Name)
	}
	return config, err
}
