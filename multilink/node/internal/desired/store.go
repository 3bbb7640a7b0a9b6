package desired

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/storage"
)

// The keys of the documents, and the version of their form.
const (
	headKey      = "node"
	clientPrefix = "client/"
	version      = 1
)

// ErrData reports that the stored configuration cannot be read: it is damaged, of another role or
// of a later version.
var ErrData = errors.New("node: stored configuration is unusable")

// Store keeps settings: one document for each client and one for the rest. A change is
// one of a single document, so that it holds wholly or not at all.
type Store struct {
	docs      storage.Documents
	revisions map[string]storage.Revision
}

// NewStore returns the store of an instance.
func NewStore(docs storage.Documents) *Store { return &Store{docs: docs} }

// Load reads the settings, and creates those of a new instance where there are none.
func (s *Store) Load(ctx context.Context, role Role, replay bool) (*Settings, error) {
	made := &Settings{}
	s.revisions = map[string]storage.Revision{}
	doc, err := s.docs.Get(ctx, headKey)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return s.begin(ctx, role, replay)
	case err != nil:
		return nil, fmt.Errorf("load configuration: %w", err)
	}
	s.revisions[headKey] = doc.Revision
	if made.Head.unknown, err = keep.Unmarshal(doc.Data, &made.Head); err != nil {
		return nil, fmt.Errorf("load configuration: document %q: %w (its content is not shown)", headKey, ErrData)
	}
	if made.Head.Version != version {
		return nil, fmt.Errorf("load configuration: document %q: version %d, this program reads %d: %w", headKey,
			made.Head.Version, version, ErrData)
	}
	if made.Head.Role != role {
		return nil, fmt.Errorf("load configuration: it is that of a %s, and this is to be a %s: %w", made.Head.Role, role, ErrData)
	}
	if made.Head.key, err = multilink.ParseKey(made.Head.PrivateKey); err != nil {
		return nil, fmt.Errorf("load configuration: private key: %w", ErrData)
	}
	for i := range made.Head.Links {
		link := &made.Head.Links[i]
		if !made.Head.ChosenProbes && link.Probe.Interval == defaultInterval {
			link.Probe.Interval = 0
		}
		link.complete(nil)
	}
	made.Head.ChosenProbes = true
	made.Head.Bond.complete()
	for doc, err := range storage.All(ctx, s.docs, clientPrefix) {
		if err != nil {
			return nil, fmt.Errorf("load configuration: %w", err)
		}
		c := &Client{}
		if c.unknown, err = keep.Unmarshal(doc.Data, c); err != nil || c.Version != version {
			return nil, fmt.Errorf("load configuration: document %q: %w (its content is not shown)", doc.Key, ErrData)
		}
		if c.key, err = multilink.ParseKey(c.PublicKey); err != nil {
			return nil, fmt.Errorf("load configuration: document %q: public key: %w", doc.Key, ErrData)
		}
		s.revisions[doc.Key] = doc.Revision
		made.Clients = append(made.Clients, c)
	}
	made.sortLinks()
	made.sortClients()
	return made, nil
}

// begin stores the settings of a new instance: its private key.
func (s *Store) begin(ctx context.Context, role Role, replay bool) (*Settings, error) {
	made := &Settings{Head: Head{Version: version, Role: role, key: newPrivateKey(), ChosenProbes: true,
		Links: []Link{}, Classes: []Class{}}}
	made.Head.PrivateKey = made.Head.key.Base64()
	made.Head.Bond.Replay = &replay
	made.Head.Bond.complete()
	if err := s.Save(ctx, headKey, made); err != nil {
		return nil, fmt.Errorf("store configuration of a new instance: %w", err)
	}
	return made, nil
}

// Save writes one document of the settings, or removes that of a client that they no
// longer have. An error means that it is not stored: where a failure leaves that open,
// Save reads the document.
func (s *Store) Save(ctx context.Context, key string, next *Settings) error {
	data, err := next.document(key)
	if err != nil {
		return err
	}
	revision, known := s.revisions[key]
	switch {
	case data == nil:
		err = s.docs.Delete(ctx, key, revision)
	case known:
		revision, err = s.docs.Update(ctx, key, revision, data)
	default:
		revision, err = s.docs.Create(ctx, key, data)
	}
	if err != nil {
		return s.look(ctx, key, data, fmt.Errorf("store document %q: %w", key, err))
	}
	s.remember(key, data, revision)
	return nil
}

func (s *Store) remember(key string, data []byte, revision storage.Revision) {
	if data == nil {
		delete(s.revisions, key)
		return
	}
	s.revisions[key] = revision
}

// look reads whether a write that failed with cause was stored. It returns nil if it
// was stored after all.
func (s *Store) look(ctx context.Context, key string, data []byte, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	doc, err := s.docs.Get(ctx, key)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		delete(s.revisions, key)
		if data == nil {
			return nil
		}
		return cause
	case err != nil:
		return errors.Join(cause, fmt.Errorf("look what is stored: %w", ErrUncertain))
	}
	s.revisions[key] = doc.Revision
	if data != nil && bytes.Equal(doc.Data, data) {
		return nil
	}
	return cause
}

// ErrUncertain reports that it is not known what is stored.
var ErrUncertain = errors.New("node: it is not known whether the change was stored")

// document returns one document of the settings; nil if they have no such client. It forgets
// the unknown members of what the settings no longer have.
func (s *Settings) document(key string) (data []byte, err error) {
	if key == headKey {
		data, s.Head.unknown, err = s.Head.unknown.MarshalKept(s.Head)
		return data, err
	}
	for _, c := range s.Clients {
		if clientKey(c.key) == key {
			return c.unknown.Marshal(c)
		}
	}
	return nil, nil
}
