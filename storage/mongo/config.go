package mongo

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// Config configures a [Store]. URI and Database are required; the zero value of
// every other field is its default.
type Config struct {
	// URI is a connection string as MongoDB documents it, with mongodb:// or
	// mongodb+srv://. It may name several hosts, TLS options and credentials. Its
	// write concern, read concern and read preference are ignored: the contracts
	// of package storage fix them.
	URI string
	// Database is the name of the database. It is created by the first write.
	Database string
	// User and Password are the credentials, in place of those of the URI. An
	// empty User leaves the URI's.
	User, Password string
	// AuthSource is the database of the user. Empty means "admin". It is used only
	// with User.
	AuthSource string
	// SelectTimeout is how long a call waits for a server that can answer it,
	// after which it fails with [storage.ErrUnavailable]. Zero means 5 seconds.
	SelectTimeout time.Duration
	// Timeout is how long one call may take as a whole, if its context does not
	// end earlier. For a blob writer or reader it applies to each call. Zero means
	// 30 seconds.
	Timeout time.Duration
	// Logger gets a warning when the clean-up of blobs fails. Nil is silent.
	Logger *slog.Logger
}

// clientOptions checks the configuration and returns it in the driver's form.
// No error shows the URI, because it may contain a password.
func (c *Config) clientOptions() (*options.ClientOptions, error) {
	switch {
	case !strings.HasPrefix(c.URI, "mongodb://") && !strings.HasPrefix(c.URI, "mongodb+srv://"):
		return nil, errors.New("mongo: Config.URI: it must begin with mongodb:// or mongodb+srv://")
	case c.Database == "":
		return nil, errors.New("mongo: Config.Database: must be set")
	case len(c.Database) > 63 || strings.ContainsAny(c.Database, "/\\. \"$*<>:|?\x00"):
		return nil, fmt.Errorf("mongo: Config.Database: %.100q is no name for a database", c.Database)
	case c.User == "" && c.Password != "":
		return nil, errors.New("mongo: Config.Password: it is set, but User is not")
	}
	for field, value := range map[string]time.Duration{"SelectTimeout": c.SelectTimeout, "Timeout": c.Timeout} {
		if value < 0 {
			return nil, fmt.Errorf("mongo: Config.%s: must not be negative, got %v", field, value)
		}
	}
	opts := options.Client().ApplyURI(c.URI)
	if opts.Validate() != nil {
		// The error of the driver may quote any part of it.
		return nil, errors.New("mongo: Config.URI: it is not a valid connection string, or its host is not known to " +
			"DNS (not shown, for it may hold credentials)")
	}
	journaled := true
	opts.SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.Majority().W, Journal: &journaled}).
		SetReadConcern(readconcern.Majority()).
		SetReadPreference(readpref.Primary()).
		SetServerSelectionTimeout(cmp.Or(c.SelectTimeout, 5*time.Second)).
		SetConnectTimeout(max(c.SelectTimeout, 5*time.Second)).
		SetAppName("enablers")
	if c.User != "" {
		opts.SetAuth(options.Credential{
			Username: c.User, Password: c.Password, PasswordSet: true,
			AuthSource: cmp.Or(c.AuthSource, "admin"),
		})
	}
	if err := opts.Validate(); err != nil {
		return nil, errors.New("mongo: Config.URI, User and Password do not go together (not shown, for they are " +
			"credentials)")
	}
	return opts, nil
}
