package relational

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/annotate/rml"
)

// Options tunes [New].
type Options struct {
	// URL is the database of all tables, whatever the mapping names: its scheme is one
	// of a driver, as in postgres://user:password@host:5432/name. Empty means that of
	// each source.
	URL string
}

// Databases opens the databases of a mapping, each once. It is safe for
// concurrent use.
type Databases struct {
	drivers map[string]Driver
	url     string

	mu   sync.Mutex
	open map[rml.Database]*database
}

// database is one that is open.
type database struct {
	*sql.DB
	driver Driver
	clean  func(error) error // takes the password out of an error
	closed context.Context   // ends the queries
	end    func()
}

// New returns databases of the kinds of the drivers. It opens nothing.
func New(drivers []Driver, opts *Options) *Databases {
	d := &Databases{drivers: make(map[string]Driver), open: make(map[rml.Database]*database)}
	if opts != nil {
		d.url = opts.URL
	}
	for _, driver := range drivers {
		for _, scheme := range driver.Schemes {
			d.drivers[scheme] = driver
		}
	}
	return d
}

// Close closes what is open. Rows that are being read end with an error.
func (d *Databases) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for key, db := range d.open {
		db.end()
		errs = append(errs, db.clean(db.Close()))
		delete(d.open, key)
	}
	return errors.Join(errs...)
}

// Query implements the function Query of [rml.Files].
func (d *Databases) Query(ctx context.Context, q rml.Query) (rml.Rows, error) {
	named := q.Source.Database
	if d.url != "" {
		named = rml.Database{URL: d.url}
	}
	db, err := d.database(named)
	if err != nil {
		return nil, err
	}
	rows, err := db.query(ctx, q)
	if err != nil {
		return nil, db.clean(err)
	}
	return rows, nil
}

// database returns a database, which it opens the first time.
func (d *Databases) database(named rml.Database) (*database, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if db := d.open[named]; db != nil {
		return db, nil
	}
	u, err := d.parse(named)
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	db := &database{driver: d.drivers[u.Scheme], clean: func(err error) error { return redact(err, password) }}
	if db.DB, err = db.driver.Open(u); err != nil {
		return nil, fmt.Errorf("open the database %s: %w", rml.Database{URL: u.Redacted()}, db.clean(err))
	}
	db.closed, db.end = context.WithCancel(context.Background())
	d.open[named] = db
	return db, nil
}

// parse resolves the URL of a database, with its user and password.
func (d *Databases) parse(named rml.Database) (*url.URL, error) {
	if named.URL == "" {
		return nil, errors.New("the mapping names no database for the table: name one by its URL (rml map -database)")
	}
	u, err := url.Parse(strings.TrimPrefix(named.URL, "jdbc:"))
	if err != nil {
		return nil, errors.New("the database URL cannot be read: expected one such as postgres://user@host:5432/name")
	}
	if _, known := d.drivers[u.Scheme]; !known {
		return nil, fmt.Errorf("the database %q is of no known kind: expected a URL such as postgres://, mysql:// or "+
			"sqlite:///path; rml map -database names one in its place", rml.Database{URL: named.URL})
	}
	params := u.Query()
	user, password := named.Username, string(named.Password)
	for name, to := range map[string]*string{"user": &user, "password": &password} {
		if params.Has(name) {
			*to = params.Get(name)
			params.Del(name)
			u.RawQuery = params.Encode()
		}
	}
	if u.User == nil && user != "" {
		u.User = url.UserPassword(user, password)
	}
	return u, nil
}

// redacted is an error whose text had a password.
type redacted struct{ text string }

func (e redacted) Error() string { return e.text }

// redact takes a password out of the text of an error.
func redact(err error, password string) error {
	if err == nil || password == "" {
		return err
	}
	text := err.Error()
	for _, form := range []string{password, url.QueryEscape(password), url.PathEscape(password)} {
		text = strings.ReplaceAll(text, form, "(hidden)")
	}
	if text == err.Error() {
		return err
	}
	return redacted{text}
}
