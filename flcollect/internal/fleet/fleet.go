package fleet

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

// Keys of documents.
const (
	serverPrefix = "server/"
	activePrefix = "active/"
	secretKey    = "fleet/secret"
)

// ErrHeld is returned for a job that another server conducts.
var ErrHeld = errors.New("flcollect: another server conducts the job")

// Live is what the server of a job shows of it, beside what is stored.
type Live struct {
	// Round is the last finished round, and Evaluating whether the next one is evaluated.
	Round      int  `json:"round"`
	Evaluating bool `json:"evaluating,omitempty"`
	// Open is whether the job accepts clients. Clients are connected; Least must be, and
	// Needed for a round.
	Open    bool `json:"open"`
	Clients int  `json:"clients"`
	Least   int  `json:"least"`
	Needed  int  `json:"needed"`
	// Suspended are the suspended clients.
	Suspended []report.Suspension `json:"suspended,omitempty"`
	// Error is that of the job, if it differs from the stored one.
	Error string `json:"error,omitempty"`
	// Created is when the job was created.
	Created time.Time `json:"created"`
}

// Entry is a job that has something to do.
type Entry struct {
	// ID is that of the job.
	ID string `json:"-"`
	// Session is that of the server.
	Session string `json:"session"`
	// Token is the run of the job.
	Token string `json:"token"`
	// Stop asks to interrupt the run, Yield asks the server of the session to leave what an
	// ended run has to do to another server. Each is the token of the run that it means.
	Stop  string `json:"stop,omitempty"`
	Yield string `json:"yield,omitempty"`
	// Live is the [Live] that the server shows.
	Live json.RawMessage `json:"live,omitempty"`

	// Address is that of the server; empty if it is over, or has none.
	Address string `json:"-"`
	// Alive is whether the server of the entry is.
	Alive    bool `json:"-"`
	revision storage.Revision
}

// Shown returns what the server shows of the job.
func (e Entry) Shown() (l Live) {
	_ = json.Unmarshal(e.Live, &l)
	return l
}

// Shows reports whether the entry shows that already.
func (e Entry) Shows(live Live) bool {
	text, err := json.Marshal(live)
	return err == nil && string(text) == string(e.Live)
}

// Config configures a [Fleet].
type Config struct {
	// Documents is the store of all servers. Required.
	Documents storage.Documents
	// Name is that of the server, and of no other one that is alive. Required.
	Name string
	// Address is where other servers reach this one's clients; empty for nowhere.
	Address string
	// Lease is how long a server that is not heard of counts as alive. Required.
	Lease time.Duration
	// Failed observes failures of the store that are repeated. Required.
	Failed func(error)
}

// Fleet is one server's view of all servers. It is safe for concurrent use.
type Fleet struct {
	config  Config
	looking sync.Mutex // one look at a time
	watcher *lease.Watcher

	mu     sync.Mutex
	lease  *lease.Lease // nil before the first
	secret string
}

// New returns a fleet that the server has not joined.
func New(config Config) *Fleet {
	return &Fleet{config: config, watcher: lease.NewWatcher(config.Documents, serverPrefix, config.Lease)}
}

// Pause is how long a server waits between two looks at the others.
func (f *Fleet) Pause() time.Duration { return f.config.Lease / 5 }

// Join makes the server one of the fleet. The first time it takes the name from an earlier
// process, which has ended. After the lease was lost it waits while another process has the
// name. The context that it returns ends when the lease is lost.
func (f *Fleet) Join(ctx context.Context) (context.Context, error) {
	value, err := json.Marshal(f.config.Address)
	if err != nil {
		return nil, err
	}
	last := f.Session()
	l, err := lease.Acquire(ctx, lease.Config{
		Documents: f.config.Documents, Key: serverPrefix + f.config.Name, Duration: f.config.Lease, Value: value,
		Succeed: last == "", Last: last, Failed: f.config.Failed,
	})
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lease = l
	return l.Context(), nil
}

// Leave ends the lease, so that others go on with the jobs at once. All work has ended.
func (f *Fleet) Leave(ctx context.Context) error {
	if l := f.held(); l != nil {
		return l.Release(ctx)
	}
	return nil
}

func (f *Fleet) held() *lease.Lease {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lease
}

// Session returns that of this server; empty before it has joined.
func (f *Fleet) Session() string {
	if l := f.held(); l != nil {
		return l.Session()
	}
	return ""
}

// Secret reads, or creates, the secret that servers of the fleet know each other by.
func (f *Fleet) Secret(ctx context.Context) error {
	stored, err := storage.Change(ctx, f.config.Documents, secretKey, func(found storage.Document) ([]byte, error) {
		if found.Revision != 0 {
			return nil, nil
		}
		return json.Marshal(rand.Text())
	})
	if err != nil {
		return fmt.Errorf("read the secret of the servers: %w", err)
	}
	var secret string
	if err := json.Unmarshal(stored.Data, &secret); err != nil {
		return fmt.Errorf("read the secret of the servers: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.secret = secret
	return nil
}

// Token returns the secret; empty before it is known.
func (f *Fleet) Token() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.secret
}

// Trusts returns nil for the token of a server of the fleet.
func (f *Fleet) Trusts(token string) error {
	secret := f.Token()
	if secret == "" || subtle.ConstantTimeCompare([]byte(secret), []byte(token)) != 1 {
		return errors.New("the caller is no server of this fleet: do they use one store?")
	}
	return nil
}

// Look returns the entries of all jobs. It declares those servers dead whose leases have
// run out.
func (f *Fleet) Look(ctx context.Context) ([]Entry, error) {
	f.looking.Lock()
	defer f.looking.Unlock()
	var entries []Entry
	// The entries come first: a session that is named in one and is not found after that
	// is over.
	for stored, err := range storage.All(ctx, f.config.Documents, activePrefix) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, newEntry(stored))
	}
	holders, err := f.watcher.Look(ctx)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		entries[i].place(holders)
	}
	return entries, nil
}

func newEntry(stored storage.Document) Entry {
	e := Entry{}
	_ = json.Unmarshal(stored.Data, &e) // one that cannot be read is of no server
	e.ID, e.revision = stored.Key[len(activePrefix):], stored.Revision
	return e
}

func (e *Entry) place(holders []lease.Holder) {
	for _, h := range holders {
		if h.Session == e.Session && e.Session != "" {
			e.Alive = true
			_ = json.Unmarshal(h.Value, &e.Address)
		}
	}
}

// Get returns the entry of a job, or storage.ErrNotFound.
func (f *Fleet) Get(ctx context.Context, id string) (Entry, error) {
	stored, err := f.config.Documents.Get(ctx, activePrefix+id)
	if err != nil {
		return Entry{}, err
	}
	return f.place(ctx, stored)
}

// place returns a stored entry with what is known of its server.
func (f *Fleet) place(ctx context.Context, stored storage.Document) (Entry, error) {
	e := newEntry(stored)
	f.looking.Lock()
	defer f.looking.Unlock()
	holders, err := f.watcher.Look(ctx)
	e.place(holders)
	return e, err
}

// Take makes this server that of a job, for a run. A request to stop stays with the run, one
// to yield was for the last server. The error is [ErrHeld] while another server that lives
// has the job.
func (f *Fleet) Take(ctx context.Context, id, token string) (Entry, error) {
	var e Entry
	stored, err := storage.Change(ctx, f.config.Documents, activePrefix+id, func(found storage.Document) ([]byte, error) {
		e = Entry{}
		mine := f.Session()
		if found.Revision != 0 {
			var err error
			if e, err = f.place(ctx, found); err != nil {
				return nil, err
			}
			if e.Alive && e.Session != mine {
				return nil, ErrHeld
			}
		}
		e.ID, e.Session, e.Token, e.Yield = id, mine, token, ""
		return json.Marshal(e)
	})
	e.revision, e.Alive = stored.Revision, err == nil || e.Alive
	return e, err
}

// Change changes the entry of a job, unless the function returns false. A job without an
// entry stays so.
func (f *Fleet) Change(ctx context.Context, id string, change func(*Entry) bool) error {
	_, err := storage.Change(ctx, f.config.Documents, activePrefix+id, func(found storage.Document) ([]byte, error) {
		e := newEntry(found)
		if found.Revision == 0 || !change(&e) {
			return nil, nil
		}
		return json.Marshal(e)
	})
	return err
}

// Show stores what this server shows of a job of its own.
func (f *Fleet) Show(ctx context.Context, id string, live Live) error {
	text, err := json.Marshal(live)
	if err != nil {
		return err
	}
	return f.Change(ctx, id, func(e *Entry) bool {
		if e.Session != f.Session() || string(e.Live) == string(text) {
			return false
		}
		e.Live = text
		return true
	})
}

// Drop deletes the entry of a job that has nothing to do any more, if it is that of this
// server, or of one that is over.
func (f *Fleet) Drop(ctx context.Context, id string) error {
	err := storage.Remove(ctx, f.config.Documents, activePrefix+id, func(found storage.Document) (remove bool, err error) {
		e, err := f.place(ctx, found)
		return !e.Alive || e.Session == f.Session(), err
	})
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}
