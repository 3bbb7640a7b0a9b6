package stores

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// Config configures [Settings.Open]. Owner and Logger are required.
type Config struct {
	// Owner is the block, one of those in package datafolder.
	Owner string
	// Database is a database in place of -store, and DatabaseFlags names the flags that it
	// comes from, for errors. Nil means that -store decides.
	Database      *Database
	DatabaseFlags string
	// Logger logs which servers do not answer.
	Logger *slog.Logger
}

// Database is a database of MongoDB. URI and Name are required.
type Database struct {
	// URI is the connection string.
	URI string
	// Name is the name of the database.
	Name string
	// User and Password are the credentials, in place of those of the URI. An empty User leaves
	// the URI's.
	User, Password string
	// AuthSource is the database of the user. Empty means "admin".
	AuthSource string
	// SelectTimeout is how long a call waits for a server that can answer it. Zero means 5
	// seconds.
	SelectTimeout time.Duration
}

// Stores are the open stores of a command. [Settings.Open] returns them.
type Stores struct {
	// Documents and Blobs are the stores.
	Documents storage.Documents
	Blobs     storage.Blobs
	// Shared says that other instances may have the same documents.
	Shared bool
	// Dir is the folder of the command's files that belong to its records, such as generated
	// secrets: the folder of documents, or that of -data if they are in a database. It is
	// empty if they are in memory. A folder of -data need not exist.
	Dir string
	// Flag is the flag that names the store of documents, for errors.
	Flag string
	// Work is the folder of files that each start creates again: that of -data, unless -store alone
	// is set and names a folder. It need not exist.
	Work string

	config  Config
	drivers []Driver
	closers []func() error
	servers servers
	folders map[string]*disk.Store // the stores that are folders
	folder  string                 // that of the documents, empty if they are elsewhere
	hosts   string                 // of the database of documents
	timeout time.Duration
	log     *slog.Logger
}

// Open opens what -store and -blobs name. It does not wait for servers. The caller closes the
// stores.
func (s *Settings) Open(ctx context.Context, config Config) (*Stores, error) {
	all := &Stores{folders: map[string]*disk.Store{}, config: config, drivers: s.drivers, timeout: s.patience, log: config.Logger}
	where, flag := s.where()
	var err error
	if config.Database != nil {
		where, flag = "", config.DatabaseFlags
		all.Documents, all.Blobs, err = all.openDatabase(*config.Database)
	} else {
		all.Documents, all.Blobs, err = all.open(ctx, where)
	}
	if err == nil && all.Documents == nil {
		err = cli.Usage(errors.New("s3: keeps content alone: it is for -blobs, beside a -store for the rest"))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", flag, err), all.Close())
	}
	all.Shared, all.Work, all.Flag = len(all.servers.databases) > 0, s.data, flag
	if dir, onDisk := strings.CutPrefix(where, "disk:"); onDisk {
		all.folder, all.Dir = dir, dir
		if s.store != "" && !s.flags.Given("data") {
			all.Work = dir
		}
	} else if all.Shared {
		all.hosts, all.Dir = all.servers.databases[0].hosts, s.data
	}
	all.warnOfUnused(s.data)
	if s.blobs != "" && s.blobs != where {
		_, all.Blobs, err = all.open(ctx, s.blobs)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("-blobs: %w", err), all.Close())
		}
	}
	return all, nil
}

// openDatabase opens a database that flags of its own describe.
func (s *Stores) openDatabase(d Database) (storage.Documents, storage.Blobs, error) {
	for _, driver := range s.drivers {
		if driver.Database != nil {
			return driver.Database(s, d)
		}
	}
	return nil, nil, cli.Usage(errors.New("this program has no driver of databases"))
}

// Owner returns the block of the stores, for a [Driver].
func (s *Stores) Owner() string { return s.config.Owner }

// Timeout returns how long a call waits for a server, for a [Driver].
func (s *Stores) Timeout() time.Duration { return s.timeout }

// Logger returns the log, for a [Driver].
func (s *Stores) Logger() *slog.Logger { return s.log }

// Closing has Close call a function, before those of earlier calls.
func (s *Stores) Closing(f func() error) { s.closers = append(s.closers, f) }

// Pinging has [Stores.Wait] wait until the function returns nil.
func (s *Stores) Pinging(f func(ctx context.Context) error) {
	s.servers.pings = append(s.servers.pings, f)
}

// InDatabase notes that documents are in a database, whose hosts are HOST:PORT, separated by commas.
func (s *Stores) InDatabase(documents storage.Documents, hosts string) {
	s.servers.databases = append(s.servers.databases, database{documents, hosts})
}

// warnOfUnused logs that the folder of -data has records of a time without -store: a backup of
// it would be one of them.
func (s *Stores) warnOfUnused(data string) {
	if s.folder == "" && backup.Exists(filepath.Join(data, backup.DatabaseName)) {
		s.log.Warn("the folder of -data has records that this server does not use, since they are kept elsewhere: "+
			"a backup of the folder does not contain the current ones", "folder", data)
	}
}

// Close closes the stores in the opposite order of their opening.
func (s *Stores) Close() error {
	var errs []error
	for len(s.closers) > 0 {
		last := len(s.closers) - 1
		errs = append(errs, s.closers[last]())
		s.closers = s.closers[:last]
	}
	return errors.Join(errs...)
}

// Access returns the documents of door.Config. In a database each block has its own: who is
// let in at one block is not thereby let in at another.
func (s *Stores) Access() storage.Documents {
	prefix := door.SessionsPrefix
	if s.Shared {
		prefix += s.config.Owner + "/"
	}
	return storage.Prefixed(s.Documents, prefix)
}

// Hosts returns the HOST:PORT of every host of the database, separated by commas; empty if
// documents are not in one.
func (s *Stores) Hosts() string { return s.hosts }

// Folder returns the folder with the documents; nil if they are elsewhere.
func (s *Stores) Folder() *disk.Store { return s.folders[s.folder] }

// Backups returns the parts that serve backups of the folders.
func (s *Stores) Backups() []server.Part {
	var parts []server.Part
	for _, dir := range slices.Sorted(maps.Keys(s.folders)) {
		parts = append(parts, s.source(dir).Part())
	}
	return parts
}

// Source is a backup of the folder of documents. If they are in none, it fails with the reason.
func (s *Stores) Source() *backup.Source { return s.source(s.folder) }

func (s *Stores) source(dir string) *backup.Source {
	return backup.Of(dir, s.config.Owner, s.folders[dir], s.log)
}
