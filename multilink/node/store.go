package node

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

// store keeps settings: one document for each client and one for the rest. A change is
// one of a single document, so that it holds wholly or not at all.
type store struct {
	docs      storage.Documents
	revisions map[string]storage.Revision
}

// load reads the settings, and makes those of a new instance where there are none.
func (s *store) load(ctx context.Context, role Role, replay bool) (*desired, error) {
	made := &desired{}
	s.revisions = map[string]storage.Revision{}
	doc, err := s.docs.Get(ctx, headKey)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return s.begin(ctx, role, replay)
	case err != nil:
		return nil, fmt.Errorf("load configuration: %w", err)
	}
	s.revisions[headKey] = doc.Revision
	if made.head.unknown, err = keep.Unmarshal(doc.Data, &made.head); err != nil {
		return nil, fmt.Errorf("load configuration: document %q: %w (its content is not shown)", headKey, ErrData)
	}
	if made.head.Version != version {
		return nil, fmt.Errorf("load configuration: document %q: version %d, this program reads %d: %w", headKey,
			made.head.Version, version, ErrData)
	}
	if made.head.Role != role {
		return nil, fmt.Errorf("load configuration: it is that of a %s, and this is to be a %s: %w", made.head.Role, role, ErrData)
	}
	if made.head.key, err = multilink.ParseKey(made.head.PrivateKey); err != nil {
		return nil, fmt.Errorf("load configuration: private key: %w", ErrData)
	}
	for i := range made.head.Links {
		link := &made.head.Links[i]
		if !made.head.ChosenProbes && link.Probe.Interval == defaultInterval {
			link.Probe.Interval = 0
		}
		link.complete(nil)
	}
	made.head.ChosenProbes = true
	made.head.Bond.complete()
	for doc, err := range storage.All(ctx, s.docs, clientPrefix) {
		if err != nil {
			return nil, fmt.Errorf("load configuration: %w", err)
		}
		c := &client{}
		if c.unknown, err = keep.Unmarshal(doc.Data, c); err != nil || c.Version != version {
			return nil, fmt.Errorf("load configuration: document %q: %w (its content is not shown)", doc.Key, ErrData)
		}
		if c.key, err = multilink.ParseKey(c.PublicKey); err != nil {
			return nil, fmt.Errorf("load configuration: document %q: public key: %w", doc.Key, ErrData)
		}
		s.revisions[doc.Key] = doc.Revision
		made.clients = append(made.clients, c)
	}
	made.sortLinks()
	made.sortClients()
	return made, nil
}

// begin stores the settings of a new instance: its private key.
func (s *store) begin(ctx context.Context, role Role, replay bool) (*desired, error) {
	made := &desired{head: head{Version: version, Role: role, key: newPrivateKey(), ChosenProbes: true,
		Links: []linkForm{}, Classes: []classForm{}}}
	made.head.PrivateKey = made.head.key.Base64()
	made.head.Bond.Replay = &replay
	made.head.Bond.complete()
	if err := s.save(ctx, headKey, made); err != nil {
		return nil, fmt.Errorf("store configuration of a new instance: %w", err)
	}
	return made, nil
}

// save writes one document of the settings, or removes that of a client that they no
// longer have. An error means that it is not stored: where a failure leaves that open,
// save reads the document.
func (s *store) save(ctx context.Context, key string, next *desired) error {
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

func (s *store) remember(key string, data []byte, revision storage.Revision) {
	if data == nil {
		delete(s.revisions, key)
		return
	}
	s.revisions[key] = revision
}

// look reads whether a write that failed with cause was made. It returns nil if the
// write was made after all.
func (s *store) look(ctx context.Context, key string, data []byte, cause error) error {
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
		return errors.Join(cause, fmt.Errorf("look what is stored: %w", errUncertain))
	}
	s.revisions[key] = doc.Revision
	if data != nil && bytes.Equal(doc.Data, data) {
		return nil
	}
	return cause
}

// errUncertain reports that it is not known what is stored.
var errUncertain = errors.New("node: it is not known whether the change was stored")

// document is one document of the settings; nil if they have no such client. It forgets
// the unknown members of what the settings no longer have.
func (s *desired) document(key string) (data []byte, err error) {
	if key == headKey {
		data, s.head.unknown, err = s.head.unknown.MarshalKept(s.head)
		return data, err
	}
	for _, c := range s.clients {
		if clientKey(c.key) == key {
			return c.unknown.Marshal(c)
		}
	}
	return nil, nil
}
