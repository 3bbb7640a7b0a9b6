package devidp

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/storage"
)

const (
	sessionPrefix = "session/"
	maxGrants     = 32 // of one session, the oldest are removed
)

// errNoSession is returned for a session that has ended.
var errNoSession = errors.New("devidp: no such session")

// session is one login session of a user, in a browser or by a password.
type session struct {
	ID      string    `json:"-"`
	User    string    `json:"user"`
	Cookie  string    `json:"cookie,omitempty"` // digest of the browser's cookie
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"` // last, by a grant of a token
	Grants  []grant   `json:"grants"`

	revision storage.Revision
	unknown  keep.Members
}

// grant is what one client got in a session. It is a chain of refresh tokens, of
// which the last one is good.
type grant struct {
	ID      string `json:"id" keep:"key"`
	Client  string `json:"client"`
	Scope   string `json:"scope"`
	Nonce   string `json:"nonce,omitempty"`
	Refresh string `json:"refresh"` // jti of the good one
}

func (s *session) grant(id string) *grant {
	i := slices.IndexFunc(s.Grants, func(g grant) bool { return g.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Grants[i]
}

// recount is the interval at which the sessions of other instances are counted.
const recount = 10 * time.Minute

// book keeps the sessions, a bounded number, and is safe for concurrent use, also by several
// processes. Each counts its own, and those of others every ten minutes, so between counts
// there may be more by what others have begun.
type book struct {
	docs storage.Documents
	most int

	mu      sync.Mutex
	known   map[string]*list.Element
	order   list.List // of string, the newest in front
	counted time.Time
}

// openBook counts the sessions that are kept, and deletes those that are over.
func openBook(ctx context.Context, docs storage.Documents, c Config) (*book, error) {
	b := &book{docs: docs, most: c.Sessions, known: make(map[string]*list.Element)}
	return b, b.count(ctx)
}

// count counts the sessions that are kept, and deletes those that are over.
func (b *book) count(ctx context.Context) error {
	b.mu.Lock()
	b.counted = time.Now()
	before := maps.Clone(b.known)
	b.mu.Unlock()
	var kept []*session
	for document, err := range storage.All(ctx, b.docs, sessionPrefix) {
		if err != nil {
			return err
		}
		s, err := readSession(document)
		if err != nil || b.over(s, time.Now()) {
			// What another instance has used or deleted meanwhile is not ours to delete.
			if err := b.docs.Delete(ctx, document.Key, document.Revision); err != nil && !storage.Overtaken(err) {
				return err
			}
			continue
		}
		kept = append(kept, s)
	}
	slices.SortFunc(kept, func(x, y *session) int { return y.Created.Compare(x.Created) }) // newest first
	b.mu.Lock()
	defer b.mu.Unlock()
	newer := map[string]*list.Element{} // begun here since; they stay in front
	for id, element := range b.known {
		if before[id] == nil {
			newer[id] = element
		} else {
			b.order.Remove(element)
		}
	}
	b.known = newer
	for _, s := range kept {
		if b.known[s.ID] == nil {
			b.known[s.ID] = b.order.PushBack(s.ID)
		}
	}
	return nil
}

// stale reports whether it is time to count.
func (b *book) stale() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Since(b.counted) >= recount
}

var sessionType = keep.TypeFor[session]()

func readSession(document storage.Document) (*session, error) {
	var s session
	var err error
	if s.unknown, err = sessionType.Unmarshal(document.Data, &s); err != nil {
		return nil, fmt.Errorf("read %q: %w", document.Key, err)
	}
	s.ID, s.revision = strings.TrimPrefix(document.Key, sessionPrefix), document.Revision
	return &s, nil
}

func (b *book) over(s *session, now time.Time) bool {
	return now.Sub(s.Used) >= sessionIdle || now.Sub(s.Created) >= sessionMax
}

// ends is the time at which a session ends unless it is used again.
func (b *book) ends(s *session) time.Time {
	idle, last := s.Used.Add(sessionIdle), s.Created.Add(sessionMax)
	if idle.Before(last) {
		return idle
	}
	return last
}

// create stores a new session. If there are too many the oldest is ended.
func (b *book) create(ctx context.Context, s *session) error {
	s.ID = uuid.NewString()
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write session: %w", err)
	}
	if b.stale() {
		if err := b.count(ctx); err != nil {
			return err
		}
	}
	for b.full() {
		if err := b.endOldest(ctx); err != nil {
			return err
		}
	}
	if s.revision, err = b.docs.Create(ctx, sessionPrefix+s.ID, data); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[s.ID] = b.order.PushFront(s.ID)
	return nil
}

func (b *book) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.order.Len() >= b.most
}

func (b *book) endOldest(ctx context.Context) error {
	b.mu.Lock()
	element := b.order.Back()
	b.mu.Unlock()
	if element == nil {
		return nil
	}
	return b.end(ctx, element.Value.(string))
}

// get returns a session that is not over, or errNoSession.
func (b *book) get(ctx context.Context, id string) (*session, error) {
	if uuid.Validate(id) != nil {
		return nil, errNoSession
	}
	document, err := b.docs.Get(ctx, sessionPrefix+id)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return nil, err
	}
	return b.current(document)
}

// current reads the document of a session, or returns errNoSession if there is none or it is over.
func (b *book) current(document storage.Document) (*session, error) {
	if document.Revision == 0 {
		return nil, errNoSession
	}
	s, err := readSession(document)
	if err != nil {
		return nil, err
	}
	if b.over(s, time.Now()) {
		return nil, errNoSession
	}
	return s, nil
}

// change changes a session, beginning again if another request has changed it
// meanwhile. An error of the change is returned, and nothing is stored.
func (b *book) change(ctx context.Context, id string, change func(*session) error) (s *session, err error) {
	if uuid.Validate(id) != nil {
		return nil, errNoSession
	}
	document, err := storage.Change(ctx, b.docs, sessionPrefix+id, func(found storage.Document) (data []byte, err error) {
		if s, err = b.current(found); err != nil {
			return nil, err
		}
		if err := change(s); err != nil {
			return nil, err
		}
		if data, err = s.unknown.Marshal(s); err != nil {
			return nil, fmt.Errorf("write session: %w", err)
		}
		return data, nil
	})
	if err == nil {
		s.revision = document.Revision
	}
	return s, err
}

// end deletes a session, also one that is over or not there.
func (b *book) end(ctx context.Context, id string) error {
	if err := storage.Remove(ctx, b.docs, sessionPrefix+id, nil); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if element, ok := b.known[id]; ok {
		b.order.Remove(element)
		delete(b.known, id)
	}
	return nil
}
