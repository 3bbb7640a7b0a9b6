package stores

import (
	"fmt"
	"strings"
	"time"

	"github.com/iotenablers/enablers/internal/server"
)

// Texts are what the flags of a command say about it.
type Texts struct {
	// Data is the default of -data.
	Data string
	// Note ends the help of -store. Empty means nothing.
	Note string
	// NoBlobs leaves out -blobs, for a block that has none.
	NoBlobs bool
	// NoTimeout leaves out -store-timeout, for a command with a flag of its own; see
	// Config.Database.
	NoTimeout bool
}

// Settings are the values of the flags data, store, blobs and store-timeout.
type Settings struct {
	data, store, blobs string
	patience           time.Duration

	flags   *server.Flags
	drivers []Driver
}

// Declare declares the flags. The drivers are those besides folders and memory.
func Declare(f *server.Flags, t Texts, drivers ...Driver) *Settings {
	s := &Settings{flags: f, patience: 5 * time.Second, drivers: append(local(), drivers...)}
	f.StringVar(&s.data, "data", t.Data,
		"`folder` of this server: everything is stored there unless -store says otherwise, and the server's own files in any case")
	f.StringVar(&s.store, "store", "", "`URL` where everything is stored: "+storeForms(s.drivers)+"; empty means the folder of -data."+t.Note+
		" Give a URL with a password by the environment, since others can see flags")
	if !t.NoBlobs {
		f.StringVar(&s.blobs, "blobs", "", "`URL` where content is stored, if not with the rest: "+forms(s.drivers)+
			". Content that the rest does not know is removed, so a bucket or prefix belongs to one -store; key "+
			"and secret are read from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or are written as s3://KEY:SECRET@HOST")
	}
	if !t.NoTimeout {
		f.DurationVar(&s.patience, "store-timeout", s.patience, "how long a call waits for a database server that is away")
	}
	return s
}

// In returns the settings of a server without the flags, which keeps everything in a folder.
func In(folder string) *Settings { return &Settings{data: folder, drivers: local()} }

// Check returns an error for settings that cannot work. What -store and -blobs name is
// checked by [Settings.Open].
func (s *Settings) Check() error {
	if s.patience <= 0 {
		return fmt.Errorf("-store-timeout (%s): expected more than nothing, got %v", s.flags.Variable("store-timeout"), s.patience)
	}
	return nil
}

// Data is the folder of -data.
func (s *Settings) Data() string { return s.data }

// Store is the value of -store, empty if it is not set. It may hold a password.
func (s *Settings) Store() string { return s.store }

// IsDatabase reports whether -store is the connection string of a database.
func (s *Settings) IsDatabase() bool {
	scheme, _, _ := strings.Cut(s.store, ":")
	return scheme == "mongodb" || scheme == "mongodb+srv"
}

// Flag is the flag that names the store, for errors.
func (s *Settings) Flag() string {
	_, flag := s.where()
	return flag
}

// where returns the store, and the flag that names it.
func (s *Settings) where() (store, flag string) {
	if s.store == "" {
		return "disk:" + s.data, "-data"
	}
	return s.store, "-store"
}
