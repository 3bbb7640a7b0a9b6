package apimgmt_test

import (
	"context"
	"errors"
	"sync"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/storage"
)

var errFault = errors.New("the test breaks it")

// faults counts the steps of a publisher outside of itself, and breaks one of them,
// or everything from one on, as a process that dies there would.
type faultSchedule struct {
	mu    sync.Mutex
	steps int
	at    int  // which one breaks; zero means none
	late  bool // it breaks after it was done
	dead  bool // nothing works any more after it
}

// step returns what a step comes to: whether it is done, and its error.
func (f *faultSchedule) step() (done bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps++
	switch {
	case f.at == 0 || f.steps < f.at || (f.steps > f.at && !f.dead):
		return true, nil
	case f.steps == f.at:
		return f.late, errFault
	}
	return false, errFault
}

// do runs a step.
func do[T any](f *faultSchedule, act func() (T, error)) (T, error) {
	var made T
	done, fault := f.step()
	if done {
		var err error
		if made, err = act(); err != nil {
			return made, err
		}
	}
	return made, fault
}

type faultyDocuments struct {
	storage.Documents
	schedule *faultSchedule
}

func (d faultyDocuments) Get(ctx context.Context, key string) (storage.Document, error) {
	return do(d.schedule, func() (storage.Document, error) { return d.Documents.Get(ctx, key) })
}

func (d faultyDocuments) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	return do(d.schedule, func() (storage.Revision, error) { return d.Documents.Create(ctx, key, data) })
}

func (d faultyDocuments) Update(ctx context.Context, key string, at storage.Revision, data []byte) (storage.Revision, error) {
	return do(d.schedule, func() (storage.Revision, error) { return d.Documents.Update(ctx, key, at, data) })
}

func (d faultyDocuments) Delete(ctx context.Context, key string, at storage.Revision) error {
	_, err := do(d.schedule, func() (struct{}, error) { return struct{}{}, d.Documents.Delete(ctx, key, at) })
	return err
}

func (d faultyDocuments) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	return do(d.schedule, func() ([]storage.Document, error) { return d.Documents.List(ctx, prefix, after, limit) })
}

type faultyBlobs struct {
	storage.Blobs
	schedule *faultSchedule
}

func (b faultyBlobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	w, err := do(b.schedule, func() (storage.BlobWriter, error) { return b.Blobs.Create(ctx, key) })
	return faultyWriter{w, b.schedule}, err
}

func (b faultyBlobs) Open(ctx context.Context, key string) (storage.BlobReader, error) {
	return do(b.schedule, func() (storage.BlobReader, error) { return b.Blobs.Open(ctx, key) })
}

func (b faultyBlobs) Delete(ctx context.Context, key string) error {
	_, err := do(b.schedule, func() (struct{}, error) { return struct{}{}, b.Blobs.Delete(ctx, key) })
	return err
}

type faultyWriter struct {
	storage.BlobWriter
	schedule *faultSchedule
}

func (w faultyWriter) Commit(ctx context.Context) (storage.BlobInfo, error) {
	return do(w.schedule, func() (storage.BlobInfo, error) { return w.BlobWriter.Commit(ctx) })
}

type faultyGateway struct {
	apimgmt.Gateway
	schedule *faultSchedule
}

func (g faultyGateway) Publish(ctx context.Context, owner string, config entity.Config) error {
	_, err := do(g.schedule, func() (struct{}, error) { return struct{}{}, g.Gateway.Publish(ctx, owner, config) })
	return err
}

func (g faultyGateway) Config(ctx context.Context) (entity.Config, error) {
	return do(g.schedule, func() (entity.Config, error) { return g.Gateway.Config(ctx) })
}

func (g faultyGateway) Kinds(ctx context.Context) ([]string, error) {
	return do(g.schedule, func() ([]string, error) { return g.Gateway.Kinds(ctx) })
}
